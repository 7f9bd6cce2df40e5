"""One check: run it, read its output and its reports, make a finding."""

import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from aigon.checks import finding, hidden_reports, placed_reports
from aigon.checks.evidence import Evidence, of_hidden_reports, of_own_report, of_placed_reports
from aigon.checks.finding import error, shown, skipped
from aigon.checks.remembered import cache_key, cached, forget, remember
from aigon.checks.report_file import content
from aigon.checks.result import Result
from aigon.config.loading import build_tool_path
from aigon.isolation.enclosure import shell
from aigon.job.world import World
from aigon.model.checks import Check
from aigon.model.turns import ProgramExit
from aigon.process import run as process
from aigon.secrets.values import cleaned

__all__ = ["CRITERION", "cache_key", "cached", "error", "forget", "log_of", "remember", "run", "shown", "skipped"]

CRITERION = "spec"
"""The source of a criterion's own command: what it prints on standard error is in the log, but is no measurement."""


def run(world: World, check: Check, folder: Path) -> Result:
    """Run `check` where the world's checks run; its whole output goes to `<folder>/<name>.log`."""
    if check.missing:
        return Result(error(check, f"{check.missing} is not installed. {check.hint}".strip()))
    log = log_of(check, folder)
    with tempfile.TemporaryDirectory(prefix="aigon-check-") as scratch:
        way = _way(check)
        exited, evidence = way(world, check, Path(scratch), log)
    said = replace(exited, stdout=exited.stdout + exited.stderr)
    found = cleaned(
        finding.found(check, said, evidence, str(log)), world.redact
    )  # reports spell texts in their own way
    return Result(found, exited.stdout, evidence.tests, evidence.reported)


def log_of(check: Check, folder: Path) -> Path:
    """Where its whole output goes."""
    return folder / f"{re.sub(r'[^A-Za-z0-9._-]', '_', check.name)}.log"


def _way(check: Check) -> Callable[[World, Check, Path, Path], tuple[ProgramExit, Evidence]]:
    if any("{report}" in part for part in (*check.argv, *check.env.values())):
        return _reporting
    return _placing if check.reports else _watched


def _reporting(world: World, check: Check, scratch: Path, log: Path) -> tuple[ProgramExit, Evidence]:
    """A check that is told where its report goes."""
    report = scratch / "report"
    env = {name: _with_places(value, scratch, report) for name, value in check.env.items()}
    told = replace(check, argv=tuple(_filled(check, scratch, report)), env=env)
    exited = process.run(_command(world, told, told.argv, log), world.stop)
    said = _less_place(world, check, exited.stdout + exited.stderr)
    return exited, of_own_report(
        check, said, content(report), lambda text: world.redact(_less_place(world, check, text))
    )


def _placing(world: World, check: Check, scratch: Path, log: Path) -> tuple[ProgramExit, Evidence]:
    """A check that places its reports itself, somewhere in its folder."""
    place = world.checks_run_in
    folder = (place.lies_at or place.root) / check.cwd
    with placed_reports.set_aside(folder, check.reports, scratch):
        exited = process.run(_command(world, check, _filled(check, scratch, scratch / "report"), log), world.stop)
        reports = list(placed_reports.found(folder, check.reports))
    said, green = _less_place(world, check, exited.stdout + exited.stderr), exited.exit_code == 0
    return exited, of_placed_reports(
        check, said, reports, lambda text: world.redact(_less_place(world, check, text)), green=green
    )


def _watched(world: World, check: Check, scratch: Path, log: Path) -> tuple[ProgramExit, Evidence]:
    """A check that may start pytest somewhere inside."""
    where = hidden_reports.spot(scratch)
    argv = _filled(check, scratch, scratch / "report")
    with hidden_reports.moved_away(where):
        exited = process.run(_command(world, check, argv, log, where), world.stop)
    if hidden_reports.refused(where, exited.stdout + exited.stderr):
        exited = process.run(_command(world, check, argv, log), world.stop)
    out, err = (hidden_reports.without_notice(where, text) for text in (exited.stdout, exited.stderr))
    said, reports, green = _less_place(world, check, out + err), hidden_reports.left(where), exited.exit_code == 0
    evidence = of_hidden_reports(
        check, said, reports, lambda t: world.redact(_less_place(world, check, t)), green=green
    )
    return replace(exited, stdout=out, stderr=err), evidence


def _started(argv: Sequence[str]) -> list[str]:
    """A command line in words of a shell is read by the system's own: one that an agent put on PATH says yes to all."""
    first = shell(argv[0]) if argv and argv[0] in ("bash", "sh") else None
    return [first, *argv[1:]] if first else list(argv)


def _filled(check: Check, scratch: Path, report: Path) -> list[str]:
    return [_with_places(part, scratch, report) for part in check.argv]


def _with_places(text: str, scratch: Path, report: Path) -> str:
    return text.replace("{report}", str(report)).replace("{scratch}", str(scratch))


def _command(
    world: World, check: Check, argv: Sequence[str], log: Path, where: hidden_reports.Spot | None = None
) -> process.Command:
    place = world.checks_run_in
    folder = place.root / check.cwd
    env = {**place.env, **check.env}
    if check.cwd != ".":  # a project in a folder has tools of its own; where they are lent, they lie at the same path
        env["PATH"] = build_tool_path(folder, env.get("PATH", ""))
    return process.Command(
        place.enclosed(_started(argv), folder),
        cwd=place.outside or folder,
        env=where.env(env) if where else env,
        deadline=check.timeout,
        log=log,
        merge=check.source != CRITERION,
        redact=world.redact,
        started=world.guardian.begun,
    )


def _less_place(world: World, check: Check, text: bytes) -> bytes:
    """`text` with paths as seen from the check's folder, under whichever of its names the tool saw the project."""
    root, folder = world.checks_run_in.root, "" if check.cwd == "." else f"{check.cwd}/"
    up = "../" * folder.count("/")
    for name in {f"{root}/", f"{root.resolve()}/"}:
        if folder:
            text = text.replace(f"{name}{folder}".encode(), b"")
        text = text.replace(name.encode(), up.encode())
    return text
