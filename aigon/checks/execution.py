"""Run one check: its command line, its reports, its finding."""

import posixpath
import re
import shlex
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import dropwhile
from pathlib import Path

from aigon.checks.endpoints.plan import BROKEN
from aigon.checks.evidence import Evidence, has_run, weigh_hidden_reports, weigh_own_report, weigh_placed_reports
from aigon.checks.reports import (
    HiddenReports,
    choose_spot,
    collect_reports,
    is_refused,
    read_collected,
    read_placed,
    read_report,
    set_reports_aside,
    strip_notice,
)
from aigon.config.loading import build_tool_path
from aigon.isolation.enclosure import find_system_shell
from aigon.job.results import Result
from aigon.job.world import World
from aigon.model.checks import Check, CheckStatus, Finding, Problem
from aigon.model.turns import ProgramExit
from aigon.process import run as process
from aigon.secrets.redaction import redact_value
from aigon.text import fingerprints
from aigon.text.amounts import spell_duration

CRITERION = "spec"
"""The source of a criterion's own command: what it prints on standard error is in the log, but is no measurement."""


def run_check(world: World, check: Check, folder: Path) -> Result:
    """Run `check` where the world's checks run; its whole output goes to `<folder>/<name>.log`."""
    if check.missing:
        return Result(make_error(check, f"{check.missing} is not installed. {check.hint}".strip()))
    log = locate_log(check, folder)
    with tempfile.TemporaryDirectory(prefix="aigon-check-") as scratch:
        way = _choose_runner(check)
        exited, evidence = way(world, check, Path(scratch), log)
    said = replace(exited, stdout=exited.stdout + exited.stderr)
    found = redact_value(
        make_finding(check, said, evidence, str(log)), world.redact
    )  # reports spell texts in their own way
    return Result(found, exited.stdout, evidence.tests, evidence.reported)


def locate_log(check: Check, folder: Path) -> Path:
    """Where its whole output goes."""
    return folder / f"{re.sub(r'[^A-Za-z0-9._-]', '_', check.name)}.log"


def _choose_runner(check: Check) -> Callable[[World, Check, Path, Path], tuple[ProgramExit, Evidence]]:
    if any("{report}" in part for part in (*check.argv, *check.env.values())):
        return _run_reporting
    return _run_placing if check.reports else _run_watched


def _run_reporting(world: World, check: Check, scratch: Path, log: Path) -> tuple[ProgramExit, Evidence]:
    """A check that is told where its report goes."""
    report = scratch / "report"
    env = {name: _fill_places(value, scratch, report) for name, value in check.env.items()}
    told = replace(check, argv=tuple(_fill_argv(check, scratch, report)), env=env)
    exited = process.run(_build_command(world, told, told.argv, log), world.stop)
    said = _relativize_paths(world, check, exited.stdout + exited.stderr)
    return exited, weigh_own_report(
        check, said, read_report(report), lambda text: world.redact(_relativize_paths(world, check, text))
    )


def _run_placing(world: World, check: Check, scratch: Path, log: Path) -> tuple[ProgramExit, Evidence]:
    """A check that places its reports itself, somewhere in its folder."""
    place = world.checks_run_in
    folder = (place.lies_at or place.root) / check.cwd
    with set_reports_aside(folder, check.reports, scratch):
        exited = process.run(
            _build_command(world, check, _fill_argv(check, scratch, scratch / "report"), log), world.stop
        )
        reports = list(read_placed(folder, check.reports))
    said, green = _relativize_paths(world, check, exited.stdout + exited.stderr), exited.exit_code == 0
    return exited, weigh_placed_reports(
        check, said, reports, lambda text: world.redact(_relativize_paths(world, check, text)), green=green
    )


def _run_watched(world: World, check: Check, scratch: Path, log: Path) -> tuple[ProgramExit, Evidence]:
    """A check that may start pytest somewhere inside."""
    where = choose_spot(scratch)
    argv = _fill_argv(check, scratch, scratch / "report")
    with collect_reports(where):
        exited = process.run(_build_command(world, check, argv, log, where), world.stop)
    if is_refused(where, exited.stdout + exited.stderr):
        exited = process.run(_build_command(world, check, argv, log), world.stop)
    out, err = (strip_notice(where, text) for text in (exited.stdout, exited.stderr))
    said, reports, green = _relativize_paths(world, check, out + err), read_collected(where), exited.exit_code == 0
    evidence = weigh_hidden_reports(
        check, said, reports, lambda t: world.redact(_relativize_paths(world, check, t)), green=green
    )
    return replace(exited, stdout=out, stderr=err), evidence


def _resolve_shell(argv: Sequence[str]) -> list[str]:
    """A command line in words of a shell is read by the system's own: one that an agent put on PATH says yes to all."""
    first = find_system_shell(argv[0]) if argv and argv[0] in ("bash", "sh") else None
    return [first, *argv[1:]] if first else list(argv)


def _fill_argv(check: Check, scratch: Path, report: Path) -> list[str]:
    return [_fill_places(part, scratch, report) for part in check.argv]


def _fill_places(text: str, scratch: Path, report: Path) -> str:
    return text.replace("{report}", str(report)).replace("{scratch}", str(scratch))


def _build_command(
    world: World, check: Check, argv: Sequence[str], log: Path, where: HiddenReports | None = None
) -> process.Command:
    place = world.checks_run_in
    folder = place.root / check.cwd
    env = {**place.env, **check.env}
    if check.cwd != ".":  # a project in a folder has tools of its own; where they are lent, they lie at the same path
        env["PATH"] = build_tool_path(folder, env.get("PATH", ""))
    return process.Command(
        place.enclosed(_resolve_shell(argv), folder),
        cwd=place.outside or folder,
        env=where.env(env) if where else env,
        deadline=check.timeout,
        log=log,
        merge=check.source != CRITERION,
        redact=world.redact,
        started=world.guardian.begun,
    )


def _relativize_paths(world: World, check: Check, text: bytes) -> bytes:
    """`text` with paths as seen from the check's folder, under whichever of its names the tool saw the project."""
    root, folder = world.checks_run_in.root, "" if check.cwd == "." else f"{check.cwd}/"
    up = "../" * folder.count("/")
    for name in {f"{root}/", f"{root.resolve()}/"}:
        if folder:
            text = text.replace(f"{name}{folder}".encode(), b"")
        text = text.replace(name.encode(), up.encode())
    return text


EXCERPT_LINES = 30
EXCERPT_CHARACTERS = 3000
ENDPOINTS = "endpoints"
"""The parser of aigon's own program for endpoints, whose command line is not what a person would type."""
_RUNNER = re.compile(
    r"(?:g?make(?:\[\d+\])?|npm|error: Recipe|task): |npm (?:ERR!|error)|\s*ELIFECYCLE\b|error Command failed\b"
)
"""What make, npm, pnpm, yarn, just and Task add below what a command of theirs said."""
_ASSIGNED = re.compile(r"\w+=")
PLACES = ("{report}", "{scratch}")
NOT_FOUND = (126, 127)
"""What a shell exits with when a command is not executable or not found (POSIX)."""


def make_finding(check: Check, exited: ProgramExit, evidence: Evidence, log: str) -> Finding:
    """The finding of a check that was run. `exited.stdout` is all that it printed."""
    reading = evidence.reading
    status, summary = _decide_status(check, exited, evidence)
    excerpt = "" if status == "pass" else _excerpt(exited.stdout)
    # Lines of a green run that look like errors are not.
    wanted = (p for p in reading.problems if status != "pass" or p.severity == "warning")
    problems = tuple(replace(p, file=_project_path(check, p.file)) for p in wanted)
    return Finding(
        check=check.name,
        role=check.role,
        title=check.title,
        status=status,
        summary=summary,
        command=render_command(check),
        exit_code=exited.exit_code,
        duration=exited.duration,
        counts=reading.counts,
        problems=problems,
        fingerprints=() if status == "pass" else _name_errors(check, problems, summary, excerpt),
        excerpt=excerpt,
        log=log,
    )


def _project_path(check: Check, file: str) -> str:
    """A file as the project calls it: tools name it from the folder that they run in."""
    if check.cwd == "." or not file or file.startswith("/") or ":" in file:
        return file
    path = posixpath.normpath(f"{check.cwd}/{file}")
    return file if path.startswith("../") else path


def _decide_status(check: Check, exited: ProgramExit, evidence: Evidence) -> tuple[CheckStatus, str]:
    """The exit code decides; a pass also needs reports to bear it out."""
    reading = evidence.reading
    if exited.start_error:
        return "error", f"It did not start: {exited.start_error}"
    if exited.killed:
        return "error", "stopped before it ended"
    if exited.timed_out:
        return "error", f"timed out after {spell_duration(check.timeout)}"
    if exited.exit_code == 0:
        return evidence.doubt or ("pass", reading.summary or "passed")
    if check.parser == ENDPOINTS and (exited.exit_code == BROKEN or not reading.understood):
        # The server did not come up, or ended: nothing is known of what it would have answered.
        lost = f"it ended without a report (exit {exited.exit_code}): {_last_line(exited.stdout) or 'no output'}"
        return "error", reading.summary if reading.understood else lost
    if exited.exit_code in NOT_FOUND and not reading.understood:
        return "error", f"a command was not found (exit {exited.exit_code}): {_last_line(exited.stdout)}"
    if reading.counts is not None and not has_run(reading.counts):
        return "fail", reading.summary or "no tests collected"
    if reading.summary and (reading.problems or reading.counts):
        return "fail", reading.summary
    return "fail", f"exit {exited.exit_code}: {_last_line(exited.stdout) or 'no output'}"


def _name_errors(check: Check, problems: Sequence[Problem], summary: str, excerpt: str) -> tuple[str, ...]:
    if errors := [p for p in problems if p.severity == "error"]:
        names = (fingerprints.fingerprint(check.name, p.test or p.file, p.rule, p.message) for p in errors)
        return tuple(dict.fromkeys(names))
    return (fingerprints.fingerprint(check.name, summary, excerpt),)


def _excerpt(output: bytes) -> str:
    text = fingerprints.strip_escapes(output[-4 * EXCERPT_CHARACTERS :].decode(errors="replace"))
    return "\n".join(text.strip().splitlines()[-EXCERPT_LINES:])[-EXCERPT_CHARACTERS:]


def _last_line(output: bytes) -> str:
    lines = fingerprints.strip_escapes(output[-4000:].decode(errors="replace")).strip().splitlines()
    said = [line for line in lines if line.strip() and not _RUNNER.match(line)] or lines
    return said[-1].strip()[:200] if said else ""


def render_command(check: Check) -> str:
    """The command as a person would type it: a script itself, a program by its name, no report options."""
    if check.shown:
        return check.shown
    if check.argv and Path(check.argv[0]).name == "bash":
        if check.argv[-2:-1] == ("-c",):
            return check.argv[-1]
        if check.argv[1:2] == ("-c",) and len(check.argv) > 3:
            return check.argv[3]  # a script with arguments has a name, which says more
    if check.parser == ENDPOINTS and "--" in check.argv:
        return render_command(replace(check, parser=None, argv=check.argv[check.argv.index("--") + 1 :]))
    parts = [part for number, part in enumerate(check.argv) if not _is_report_option(check.argv, number)]
    if parts[:1] and Path(parts[0]).name == "env":
        parts = list(dropwhile(_ASSIGNED.match, parts[1:]))
    return shlex.join([Path(parts[0]).name, *parts[1:]]) if parts else ""


def _is_report_option(argv: Sequence[str], number: int) -> bool:
    """Whether an argument says where a report goes: it holds the place, or is the option whose value that is."""
    following = argv[number + 1] if number + 1 < len(argv) else ""
    holds = any(place in argv[number] for place in PLACES)
    value = not following.startswith("-") and any(place in following for place in PLACES)
    return holds or (argv[number].startswith("-") and value)


def make_error(check: Check, why: str) -> Finding:
    """A finding for a check that could not run."""
    names = (fingerprints.fingerprint(check.name, why),)
    return Finding(check.name, check.role, check.title, "error", why, render_command(check), fingerprints=names)


def make_skipped(check: Check, why: str) -> Finding:
    """A finding for a check that was not run: it is not a pass."""
    return Finding(check.name, check.role, check.title, "skipped", f"skipped: {why}", render_command(check))
