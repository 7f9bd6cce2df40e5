"""A command that may start any test runner (`make test`): read as the one runner that plainly printed something.

Nothing is counted where it could be otherwise: two runners that tell of different numbers, or one that ran twice and
sums up only itself. What a test is called is not told, either: in the output of an opaque command anybody may say it.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module

from aigon.checks.parsers import _rustc, junit, known
from aigon.checks.parsers._problems import capped
from aigon.checks.parsers._readings import foreign
from aigon.checks.parsers._text import clean, shortened, text, whole
from aigon.model.checks import ParsedOutput, Problem, TestCounts
from aigon.text.fingerprints import strip_escapes

_RUNNERS = {
    "cargotest": r"^test result: ",
    "nextest": r"^ {5}Summary \[",
    "gotest": r"^(?:ok  |FAIL|\?   )\t|^\{\"",
    "pytest": r"^=*(?: )?(?:no tests ran|\d+ [a-z]+\b[^\n]*) in \d[\d.]*s\b",
    "unittest": r"^Ran \d+ tests? in ",
    "vitest": r"^ +Tests  |^No test files found",
    "jest": r"^Tests: |^No tests found",
    "nodetest": r"^(?:#|ℹ) tests \d+$",
    "tap": r"^(?:TAP version \d+|1\.\.\d+\b|ok \d+\b|not ok \d+\b|Result: (?:PASS|FAIL)$)",
    "ava": r"^  \d+ (?:tests? (?:passed|failed)|uncaught exceptions?)$",
    "bun": r"^Ran \d+ tests? across \d+ files?\.",
    "mocha": r"^ +\d+ passing\b",
    "playwright": r"^ +\d+ (?:passed|failed)\b",
    "rspec": r"^\d+ examples?, \d+ failures?",
    "minitest": r"^\d+ runs, \d+ assertions, ",
    "phpunit": r"^OK \(\d+ tests?, |^Tests: \d+, Assertions: ",
    "maven": r"^(?:\[\w+\] )?Tests run: \d+, Failures: ",
    "dotnet": r"^(?:Passed|Failed)! +- Failed: ",
    "swifttest": r"^Test Suite '|^[^\n]{0,4} ?Test run with ",
}
"""Parsers by what has to begin a line of their output; the more special one first."""
_BUILDS = {"gradle": r"^BUILD (?:SUCCESSFUL|FAILED)\b"}
"""Build tools: what they print is read where no runner that they started printed anything of its own."""
_ONLY_LAST = ("pytest", "unittest", "rspec", "phpunit")
"""They say nothing of a run before their last."""
_SIGNS = {name: re.compile(pattern, re.M) for name, pattern in (_RUNNERS | _BUILDS).items()}
_MAKE = re.compile(r"^make(?:\[\d+\])?: ")
_NOTHING = re.compile(r"^make: (?!\*\*\* |[Ww]arning).*\.$")
"""`'test' is up to date.`, in whatever language. What else it says at level 0 by itself ends otherwise."""
_JUNIT = re.compile(rb"\A\s*(?:<\?xml[^>]*>\s*)?<testsuites?\b")


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """What the one runner counted; otherwise not understood, and the exit code says what there is to say."""
    if report:
        return junit.read(b"", report)
    if _JUNIT.match(output[:1000]) and (printed := junit.read(output, None)).understood:
        return printed
    lines = shortened(strip_escapes(whole(output)))
    if (nothing := _nothing_done(lines)) is not None:
        return nothing
    readings = _readings(output, lines)
    told = {reading.counts for reading in readings}
    if len(told) == 1 and not _again(lines):
        return replace(readings[0], tests={})
    problems = capped(each for reading in readings for each in reading.problems)
    problems = problems or capped(_compilers(lines))
    return ParsedOutput(problems=problems, understood=False) if problems else foreign(text(output))


def _compilers(lines: str) -> Iterator[Problem]:
    """What kept the tests from running at all."""
    if _rustc.uncompiled(lines):
        yield from (each for each in _rustc.placed(lines) if each.severity == "error")


def _readings(output: bytes, lines: str) -> list[ParsedOutput]:
    """Return the readings of all runners that left their sign and understand it. Several may describe one run."""
    parsers = {name: import_module(f"aigon.checks.parsers.{name}") for name in _candidates(lines)}
    read = {name: parser.read(output, None) for name, parser in parsers.items()}
    found = {name: reading for name, reading in read.items() if reading.understood}
    if "nodetest" in found:
        found.pop("tap", None)  # node:test speaks TAP, and a file that cannot be loaded is a failed test there
    return list(found.values())


def _again(lines: str) -> list[str]:
    return [name for name in _ONLY_LAST if len(_SIGNS[name].findall(lines)) > 1]


def _candidates(lines: str) -> list[str]:
    there = known()
    found = [name for name, sign in _SIGNS.items() if name in there and sign.search(lines)]
    return [name for name in found if name in _RUNNERS] or found


def _nothing_done(lines: str) -> ParsedOutput | None:
    """make exits 0 without running anything where a file or a folder is called like the target, or has no recipe."""
    said = [line for line in lines.split("\n") if line.strip()] if lines[:5] == "make:" and len(lines) < 4000 else []
    if not said or not all(map(_MAKE.match, said)) or not _NOTHING.match(said[-1]):
        return None
    return ParsedOutput(clean(f"nothing ran: {said[-1]}", 200), TestCounts())
