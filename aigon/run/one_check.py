"""One check: run it, read its output, make a finding. A pass on a tree is remembered, nothing else is."""

import hashlib
import json
import re
import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from aigon.core import fingerprint
from aigon.core.agent import Exited
from aigon.core.duration import words
from aigon.core.model import Check, CheckStatus, Counts, Finding, Problem, Reading
from aigon.parsers import parse
from aigon.ports import process
from aigon.ports.store import write_atomic
from aigon.run.world import World

EXCERPT_LINES = 30
EXCERPT_CHARACTERS = 3000
OF_THE_TERMINAL = (
    *("_", "OLDPWD", "PWD", "SHLVL", "TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TERM_SESSION_ID", "COLORTERM"),
    *("COLUMNS", "LINES", "WINDOWID", "TMUX", "TMUX_PANE", "STY", "GPG_TTY", "XDG_SESSION_ID", "DISPLAY"),
    *("WAYLAND_DISPLAY", "INVOCATION_ID", "JOURNAL_STREAM"),
)
"""Variables that tell one terminal from another, and nothing about what a check would say."""
GROUPS_OF_THE_TERMINAL = ("AIGON_", "SSH_", "DBUS_", "VSCODE_")
"""The same, by how they begin: up to a `_`, because `STY` also begins STYLE."""
LARGEST_REPORT = 32 * 1024 * 1024
"""Bytes of a report that are read."""
REMEMBERED_OUTPUT = 100_000
"""Bytes of output kept with a pass; a metric's number stands at its end."""
LARGEST_SCRIPT = 256 * 1024
"""Bytes up to which a program is told by its content."""
CRITERION = "spec"
"""The source of a criterion's own command: what it prints on standard error is in the log, but is no measurement."""
NOT_FOUND = (126, 127)
"""What a shell exits with when a command is not executable or not found (POSIX)."""


def run(world: World, check: Check, folder: Path) -> tuple[Finding, bytes]:
    """Run `check` in the workspace; its whole output goes to `<folder>/<name>.log`."""
    if check.missing:
        return error(check, f"{check.missing} is not installed. {check.hint}".strip()), b""
    log = folder / f"{re.sub(r'[^A-Za-z0-9._-]', '_', check.name)}.log"
    with tempfile.TemporaryDirectory(prefix="aigon-check-") as scratch:
        report = Path(scratch) / "report"
        argv = [part.replace("{report}", str(report)).replace("{scratch}", scratch) for part in check.argv]
        exited = process.run(_command(world, check, argv, log), world.stop)
        said = replace(exited, stdout=exited.stdout + exited.stderr)
        reading = _reading(world, check, said, report)
        lacking = exited.exit_code == 0 and _lacks_report(check, report)
        return _finding(check, said, reading, str(log), lacks_report=lacking), exited.stdout


def _command(world: World, check: Check, argv: Sequence[str], log: Path) -> process.Command:
    return process.Command(
        argv,
        cwd=world.workspace.root / check.cwd,
        env={**world.check_env, **check.env},
        deadline=check.timeout,
        log=log,
        merge=check.source != CRITERION,
        redact=world.redact,
    )


def _reading(world: World, check: Check, exited: Exited, report: Path) -> Reading:
    """What the parser makes of the output, with paths as they are in the workspace."""
    if not check.parser:
        return Reading(understood=False)
    here, content = f"{world.workspace.root}/".encode(), _report_bytes(report)
    report_text = content and world.redact(content.replace(here, b""))  # it says what the output says
    return parse(check.parser, exited.stdout.replace(here, b""), report_text)


def _report_bytes(report: Path) -> bytes | None:
    """A report's content where it is an ordinary file of a sane size; a link or a device is nobody's report."""
    if not report.is_file() or report.is_symlink():
        return None
    with report.open("rb") as file:
        return file.read(LARGEST_REPORT)


def _lacks_report(check: Check, report: Path) -> bool:
    """Whether a report was due and none is there that can be read to its end.

    It has to be understood by itself: what was printed, which parsers fall back to, could be anybody's words.
    """
    if not any("{report}" in part for part in check.argv):
        return False
    content = _report_bytes(report)
    if not content or len(content) >= LARGEST_REPORT:
        return True
    # Not empty output: to some parsers silence is a reading of its own.
    return check.parser not in (None, "text") and not parse(check.parser, b"-", content).understood


def _finding(check: Check, exited: Exited, reading: Reading, log: str, *, lacks_report: bool) -> Finding:
    status, summary = _status(check, exited, reading, lacks_report)
    excerpt = "" if status == "pass" else _excerpt(exited.stdout)
    # Lines of a green run that look like errors are not.
    problems = tuple(p for p in reading.problems if status != "pass" or p.severity == "warning")
    return Finding(
        check=check.name,
        role=check.role,
        title=check.title,
        status=status,
        summary=summary,
        command=shown(check),
        exit_code=exited.exit_code,
        duration=exited.duration,
        counts=reading.counts,
        problems=problems,
        fingerprints=() if status == "pass" else _fingerprints(check, problems, summary, excerpt),
        excerpt=excerpt,
        log=log,
    )


def _status(check: Check, exited: Exited, reading: Reading, lacks_report: bool) -> tuple[CheckStatus, str]:
    """The exit code decides; a pass also needs a test to have run, where a report says how many did."""
    if exited.start_error:
        return "error", f"It did not start: {exited.start_error}"
    if exited.killed:
        return "error", "stopped before it ended"
    if exited.timed_out:
        return "error", f"timed out after {words(check.timeout)}"
    if exited.exit_code == 0:
        return _passed(check, reading, lacks_report)
    if exited.exit_code in NOT_FOUND and not reading.understood:
        return "error", f"a command was not found (exit {exited.exit_code}): {_last_line(exited.stdout)}"
    if _nothing_ran(reading.counts):
        return "fail", reading.summary or "no tests collected"
    if reading.summary and (reading.problems or reading.counts):
        return "fail", reading.summary
    return "fail", f"exit {exited.exit_code}: {_last_line(exited.stdout) or 'no output'}"


def _passed(check: Check, reading: Reading, lacks_report: bool) -> tuple[CheckStatus, str]:
    if lacks_report:
        return "error", "it exited 0 without a readable report, so nothing shows that anything ran"
    if check.role == "tests" and _nothing_ran(reading.counts):
        return "fail", reading.summary or "no tests collected"
    return "pass", reading.summary or "passed"


def _nothing_ran(counts: Counts | None) -> bool:
    return counts is not None and counts.passed + counts.failed + counts.errors == 0


def _fingerprints(check: Check, problems: Sequence[Problem], summary: str, excerpt: str) -> tuple[str, ...]:
    if errors := [p for p in problems if p.severity == "error"]:
        names = (fingerprint.fingerprint(check.name, p.test or p.file, p.rule, p.message) for p in errors)
        return tuple(dict.fromkeys(names))
    return (fingerprint.fingerprint(check.name, summary, excerpt),)


def _excerpt(output: bytes) -> str:
    text = fingerprint.plain(output[-4 * EXCERPT_CHARACTERS :].decode(errors="replace"))
    return "\n".join(text.strip().splitlines()[-EXCERPT_LINES:])[-EXCERPT_CHARACTERS:]


def _last_line(output: bytes) -> str:
    lines = fingerprint.plain(output[-4000:].decode(errors="replace")).strip().splitlines()
    return lines[-1].strip()[:200] if lines else ""


def shown(check: Check) -> str:
    """The command as a person would type it: a script itself, a program by its name, no report options."""
    if check.argv[-2:-1] == ("-c",) and Path(check.argv[0]).name == "bash":
        return check.argv[-1]
    parts = [part for part in check.argv if "{report}" not in part and "{scratch}" not in part]
    return shlex.join([Path(parts[0]).name, *parts[1:]]) if parts else ""


def error(check: Check, why: str) -> Finding:
    """A finding for a check that could not run."""
    names = (fingerprint.fingerprint(check.name, why),)
    return Finding(check.name, check.role, check.title, "error", why, shown(check), fingerprints=names)


def skipped(check: Check, why: str) -> Finding:
    """A finding for a check that was not run: it is not a pass."""
    return Finding(check.name, check.role, check.title, "skipped", f"skipped: {why}", shown(check))


def cache_key(world: World, check: Check, content: str) -> str:
    """A name for (tree less aigon's two files, command, environment)."""
    env = {k: v for k, v in world.check_env.items() if not _of_the_terminal(k)} | dict(check.env)
    command = [check.name, check.role, list(check.argv), _programs(check), check.cwd, check.parser]
    parts = [content, command, sorted(env.items()), world.toolchain()]
    return hashlib.sha256(json.dumps(parts, default=str).encode("utf-8", "surrogateescape")).hexdigest()


def _of_the_terminal(name: str) -> bool:
    return name in OF_THE_TERMINAL or name.startswith(GROUPS_OF_THE_TERMINAL)


def _programs(check: Check) -> list[str]:
    """The files that the command names by their place, as they are now: the tree need not hold them.

    Scripts by their content, which a checkout does not change; large ones, which tools are, by size and time.
    """
    files = [path for path in map(Path, check.argv) if path.is_absolute() and path.is_file()]
    return [_identity(path) for path in files]


def _identity(path: Path) -> str:
    seen = path.stat()
    if seen.st_size > LARGEST_SCRIPT:
        return f"{seen.st_size} {seen.st_mtime_ns}"
    return hashlib.sha256(path.read_bytes()).hexdigest()


def cached(world: World, key: str) -> tuple[Finding, bytes] | None:
    """The pass remembered under this name."""
    try:
        document = json.loads(_cache_file(world, key).read_bytes())
        counts = Counts(**document["finding"].pop("counts")) if document["finding"].get("counts") else None
        problems = tuple(Problem(**p) for p in document["finding"].pop("problems"))
        document["finding"] |= {"counts": counts, "problems": problems, "fingerprints": (), "cached": True}
        return Finding(**document["finding"]), document["output"].encode("latin-1")
    except (OSError, ValueError, KeyError, TypeError):
        return None


def remember(world: World, key: str, finding: Finding, output: bytes) -> None:
    """Keep a pass. Written whole, so that half a file is never read."""
    if not world.keeps:
        return
    path = _cache_file(world, key)
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = {"finding": asdict(finding), "output": output[-REMEMBERED_OUTPUT:].decode("latin-1")}
    write_atomic(path, json.dumps(kept).encode())


def forget(world: World, key: str) -> None:
    """Remember a pass no longer."""
    if world.keeps:
        _cache_file(world, key).unlink(missing_ok=True)


def _cache_file(world: World, key: str) -> Path:
    return world.home / "cache" / key[:2] / f"{key}.json"
