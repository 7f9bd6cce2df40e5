"""What one run of a check is called: its status, in a line what it came to, names for its errors."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from aigon.core import fingerprint
from aigon.core.agent import Exited
from aigon.core.duration import words
from aigon.core.model import Check, CheckStatus, Finding, Problem
from aigon.run.evidence import Evidence, ran

EXCERPT_LINES = 30
EXCERPT_CHARACTERS = 3000
NOT_FOUND = (126, 127)
"""What a shell exits with when a command is not executable or not found (POSIX)."""


def found(check: Check, exited: Exited, evidence: Evidence, log: str) -> Finding:
    """The finding of a check that was run. `exited.stdout` is all that it printed."""
    reading = evidence.reading
    status, summary = _status(check, exited, evidence)
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


def _status(check: Check, exited: Exited, evidence: Evidence) -> tuple[CheckStatus, str]:
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
    if exited.exit_code in NOT_FOUND and not reading.understood:
        return "error", f"a command was not found (exit {exited.exit_code}): {_last_line(exited.stdout)}"
    if reading.counts is not None and not ran(reading.counts):
        return "fail", reading.summary or "no tests collected"
    if reading.summary and (reading.problems or reading.counts):
        return "fail", reading.summary
    return "fail", f"exit {exited.exit_code}: {_last_line(exited.stdout) or 'no output'}"


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
