"""What one run of a check is called: its status, in a line what it came to, names for its errors."""

import posixpath
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from itertools import dropwhile
from pathlib import Path

from aigon.checks.endpoints.report import BROKEN
from aigon.checks.evidence import Evidence, ran
from aigon.model.checks import Check, CheckStatus, Finding, Problem
from aigon.model.turns import ProgramExit
from aigon.text import fingerprints
from aigon.text.durations import words

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


def found(check: Check, exited: ProgramExit, evidence: Evidence, log: str) -> Finding:
    """The finding of a check that was run. `exited.stdout` is all that it printed."""
    reading = evidence.reading
    status, summary = _status(check, exited, evidence)
    excerpt = "" if status == "pass" else _excerpt(exited.stdout)
    # Lines of a green run that look like errors are not.
    wanted = (p for p in reading.problems if status != "pass" or p.severity == "warning")
    problems = tuple(replace(p, file=_in_project(check, p.file)) for p in wanted)
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


def _in_project(check: Check, file: str) -> str:
    """A file as the project calls it: tools name it from the folder that they run in."""
    if check.cwd == "." or not file or file.startswith("/") or ":" in file:
        return file
    path = posixpath.normpath(f"{check.cwd}/{file}")
    return file if path.startswith("../") else path


def _status(check: Check, exited: ProgramExit, evidence: Evidence) -> tuple[CheckStatus, str]:
    """The exit code decides; a pass also needs reports to bear it out."""
    reading = evidence.reading
    if exited.start_error:
        return "error", f"It did not start: {exited.start_error}"
    if exited.killed:
        return "error", "stopped before it ended"
    if exited.timed_out:
        return "error", f"timed out after {words(check.timeout)}"
    if exited.exit_code == 0:
        return evidence.doubt or ("pass", reading.summary or "passed")
    if check.parser == ENDPOINTS and (exited.exit_code == BROKEN or not reading.understood):
        # The server did not come up, or ended: nothing is known of what it would have answered.
        lost = f"it ended without a report (exit {exited.exit_code}): {_last_line(exited.stdout) or 'no output'}"
        return "error", reading.summary if reading.understood else lost
    if exited.exit_code in NOT_FOUND and not reading.understood:
        return "error", f"a command was not found (exit {exited.exit_code}): {_last_line(exited.stdout)}"
    if reading.counts is not None and not ran(reading.counts):
        return "fail", reading.summary or "no tests collected"
    if reading.summary and (reading.problems or reading.counts):
        return "fail", reading.summary
    return "fail", f"exit {exited.exit_code}: {_last_line(exited.stdout) or 'no output'}"


def _fingerprints(check: Check, problems: Sequence[Problem], summary: str, excerpt: str) -> tuple[str, ...]:
    if errors := [p for p in problems if p.severity == "error"]:
        names = (fingerprints.fingerprint(check.name, p.test or p.file, p.rule, p.message) for p in errors)
        return tuple(dict.fromkeys(names))
    return (fingerprints.fingerprint(check.name, summary, excerpt),)


def _excerpt(output: bytes) -> str:
    text = fingerprints.plain(output[-4 * EXCERPT_CHARACTERS :].decode(errors="replace"))
    return "\n".join(text.strip().splitlines()[-EXCERPT_LINES:])[-EXCERPT_CHARACTERS:]


def _last_line(output: bytes) -> str:
    lines = fingerprints.plain(output[-4000:].decode(errors="replace")).strip().splitlines()
    said = [line for line in lines if line.strip() and not _RUNNER.match(line)] or lines
    return said[-1].strip()[:200] if said else ""


def shown(check: Check) -> str:
    """The command as a person would type it: a script itself, a program by its name, no report options."""
    if check.shown:
        return check.shown
    if check.argv and Path(check.argv[0]).name == "bash":
        if check.argv[-2:-1] == ("-c",):
            return check.argv[-1]
        if check.argv[1:2] == ("-c",) and len(check.argv) > 3:
            return check.argv[3]  # a script with arguments has a name, which says more
    if check.parser == ENDPOINTS and "--" in check.argv:
        return shown(replace(check, parser=None, argv=check.argv[check.argv.index("--") + 1 :]))
    parts = [part for number, part in enumerate(check.argv) if not _of_report(check.argv, number)]
    if parts[:1] and Path(parts[0]).name == "env":
        parts = list(dropwhile(_ASSIGNED.match, parts[1:]))
    return shlex.join([Path(parts[0]).name, *parts[1:]]) if parts else ""


def _of_report(argv: Sequence[str], number: int) -> bool:
    """Whether an argument says where a report goes: it holds the place, or is the option whose value that is."""
    following = argv[number + 1] if number + 1 < len(argv) else ""
    holds = any(place in argv[number] for place in PLACES)
    value = not following.startswith("-") and any(place in following for place in PLACES)
    return holds or (argv[number].startswith("-") and value)


def error(check: Check, why: str) -> Finding:
    """A finding for a check that could not run."""
    names = (fingerprints.fingerprint(check.name, why),)
    return Finding(check.name, check.role, check.title, "error", why, shown(check), fingerprints=names)


def skipped(check: Check, why: str) -> Finding:
    """A finding for a check that was not run: it is not a pass."""
    return Finding(check.name, check.role, check.title, "skipped", f"skipped: {why}", shown(check))
