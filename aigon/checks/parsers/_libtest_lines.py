"""Single lines of what `cargo test` prints: which binary comes next, a test's result, a sum."""

import re

from aigon.checks.parsers._problems import number
from aigon.model.checks import TestResult

_RUNNING = re.compile(r"^ +Running (?:(?:unittests )?(?P<path>[^\s(`][^(\n]*?) \()?`?(?P<binary>[^\s()`]+)[`)]?")
_DOCTESTS = re.compile(r"^ +Doc-tests (?P<crate>\S+)$")
_SUM = re.compile(
    r"^test result: (?:ok|FAILED)\. (?P<passed>\d+) passed; (?P<failed>\d+) failed; (?P<ignored>\d+) ignored; "
    r"(?P<measured>\d+) measured; \d+ filtered out(?:; finished in .*)?$"
)
_HASH = re.compile(r"-[0-9a-f]{16}(?:\.exe)?$")
_KIND = re.compile(r" - (?:should panic|compile fail|compile)$")
BEGIN = re.compile(r"^running (?P<number>\d+) tests?$")
TEST = re.compile(r"^test (?P<name>\S.*?) \.\.\. (?P<result>.*)$")
DETAIL = re.compile(r"^---- (?P<name>.+?) (?:stdout|stderr) ----$")
FAILED = re.compile(r"^error: (?:doc)?test failed, to rerun pass ")
CRASH = re.compile(r"^  process didn't exit successfully: .*? \((?P<how>(?:signal|exit).*)\)$")
Sum = tuple[int, int, int]
"""Passed, failed, ignored."""


def bare(name: str) -> str:
    """A test's name without what is due of it: `- should panic`."""
    return _KIND.sub("", name)


def title(line: str) -> str:
    """What cargo says is run next: `demo src/lib.rs`, `tests/it.rs`, `demo (doc)`; empty for any other line."""
    if doctests := _DOCTESTS.match(line):
        return f"{doctests['crate']} (doc)"
    running = _RUNNING.match(line)
    if running is None:
        return ""
    stem, path = _HASH.sub("", re.split(r"[/\\]", running["binary"])[-1]), running["path"] or ""
    named = re.split(r"[/\\]", path)[-1].removesuffix(".rs")
    return path if named == stem else f"{stem} {path}".strip()


def result(said: str) -> TestResult | None:
    """What stands behind a test's name; None for anything else, which the test printed."""
    if said == "ok" or said.startswith(("ok <", "bench: ")):
        return "passed"
    if said.startswith("FAILED"):
        return "failed"
    return "skipped" if said == "ignored" or said.startswith("ignored, ") else None


def total(line: str) -> Sum | None:
    """The sum of one binary. A bench that was measured ran."""
    match = _SUM.match(line)
    if match is None:
        return None
    return number(match["passed"]) + number(match["measured"]), number(match["failed"]), number(match["ignored"])
