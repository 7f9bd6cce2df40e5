"""Commands that may start any test runner: `make test` (`any`) and `npm test` (`node`), also of a whole workspace.

They are read as what plainly printed something. `any` counts nothing that could be otherwise: two runners that report
different numbers, or one that ran twice and sums up only itself. It names no tests either: in the output of an opaque
command anybody may say what a test is called.
"""

import re
from collections import defaultdict
from collections.abc import Iterable

from msgspec.structs import replace

from aigon.checks.parsers import load_reader
from aigon.checks.parsers.builds.cargo import find_placed, find_uncompiled
from aigon.checks.parsers.output import LARGEST_REPORT, clean, find_matches, read_text
from aigon.checks.parsers.readings import describe_unknown, keep_distinct, merge_readings, summarize_tests
from aigon.checks.parsers.runners import ava, bun, jest, junit, mocha, nodetest, playwright, tap
from aigon.checks.parsers.stacks import read_crash
from aigon.model.checks import ParsedOutput, TestCounts
from aigon.text.patterns import compile_re

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
"""Build tools: what they print is read if no runner that they started printed anything of its own."""
_ONLY_LAST = ("pytest", "unittest", "rspec", "phpunit")
"""They say nothing of a run before their last."""
_SIGNS = {name: compile_re(pattern, re.M) for name, pattern in (_RUNNERS | _BUILDS).items()}
_MAKE = compile_re(r"^make(?:\[\d+\])?: ")
_NOTHING_MADE = compile_re(r"^make: (?!\*\*\* |[Ww]arning).*\.$")
"""`'test' is up to date.`, in whatever language. What else it says at level 0 by itself ends otherwise."""
_JUNIT = compile_re(rb"\A\s*(?:<\?xml[^>]*>\s*)?<testsuites?\b")

_NODE_RUNNERS = (
    jest.read_vitest_text,
    jest.read_jest_text,
    playwright.read_playwright_text,
    nodetest.read_nodetest_text,
    mocha.read_mocha_text,
    bun.read_bun_text,
    ava.read_ava_text,
    tap.read_tap_text,
)
_NO_SCRIPT = compile_re(
    r"^(?:Scope: [^\n]*|None of the selected packages has a [^\n]*|Done in \d{1,9}[\d.]{0,9}m?s[^\n]*|)$", re.M
)
"""What package managers print if no package of a workspace has the script, which some of them exit 0 for."""
_HEADER = compile_re(
    # npm and pnpm name package and script, then the command; Yarn 1 names the package before it says its version.
    r"^> (?:[^\s@]\S*@\S+ |@[^\s@]+@\S+ )?[\w:.-]+(?: /[^\n]*)?\n> [^\n]*$|^> \S+\nyarn \w+ v1\.[^\n]*$"
    r"|^> nx run \S+[^\n]*$|^lerna info run Ran npm script [^\n]*$",
    re.M,
)
_PREFIXED = compile_re(
    # `packages/a test: ` (pnpm, bun), `[@s/a]: ` (Yarn), `web:test: ` (turbo)
    r"^(?P<package>[\w@./~-]{1,150} [\w:.-]{1,60}:|\[[^\]\n]{1,150}\]:|[\w@./-]{1,150}:[\w.-]{1,60}:)"
    r"(?: (?P<rest>[^\n]*)|$)",
    re.M,
)
_MOST_PARTS = 500
_FEWEST_LINES = 3
"""Lines that have to begin alike to be taken for those of one package."""


def read_any(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return what the one runner counted; otherwise not understood, and the exit code says what there is to say."""
    if report:
        return junit.read(b"", report)
    if _JUNIT.match(output[:1000]) and (printed := junit.read(output, None)).understood:
        return printed
    lines = read_text(output, LARGEST_REPORT)
    if nothing := _read_make(lines):
        return nothing
    readings = _read_signed(output, lines)
    repeated = any(len(_SIGNS[name].findall(lines)) > 1 for name in _ONLY_LAST)
    if len({reading.counts for reading in readings}) == 1 and not repeated:
        return replace(readings[0], tests={})
    problems = keep_distinct(problem for reading in readings for problem in reading.problems)
    if not problems and find_uncompiled(lines):  # what kept the tests from running at all
        problems = keep_distinct(problem for problem in find_placed(lines) if problem.severity == "error")
    return ParsedOutput(problems=problems, understood=False) if problems else describe_unknown(read_text(output))


def _read_signed(output: bytes, lines: str) -> list[ParsedOutput]:
    """Return the readings of all runners that left their sign and understand it. Several may describe one run."""
    names = [name for name, sign in _SIGNS.items() if sign.search(lines)]
    names = [name for name in names if name in _RUNNERS] or names
    readings = {name: load_reader(name)(output, None) for name in names}
    found = {name: reading for name, reading in readings.items() if reading.understood}
    if "nodetest" in found:
        found.pop("tap", None)  # node:test speaks TAP, and a file that cannot be loaded is a failed test there
    return list(found.values())


def _read_make(lines: str) -> ParsedOutput | None:
    """make exits 0 without running anything if a file or a folder is called like the target, or it has no recipe."""
    said = [line for line in lines.split("\n") if line.strip()] if lines[:5] == "make:" and len(lines) < 4000 else []
    if not said or not all(map(_MAKE.match, said)) or not _NOTHING_MADE.match(said[-1]):
        return None
    return ParsedOutput(clean(f"nothing ran: {said[-1]}", 200), TestCounts())


def read_node(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return what each part's first runner that understands it says, or else not understood."""
    lines = read_text(output)
    found = jest.read_report(output, report)
    found = found or _merge_parts(_split_by_header(lines)) or _merge_parts(split_by_prefix(lines))
    if not found and not _NO_SCRIPT.sub("", lines).strip():
        return replace(summarize_tests(TestCounts()), understood=False)
    return found or mocha.read_unloaded(lines) or read_crash(lines) or describe_unknown(lines)


def _merge_parts(parts: Iterable[str]) -> ParsedOutput | None:
    firsts = (next(filter(None, (read(part) for read in _NODE_RUNNERS)), None) for part in parts)
    readings = list(filter(None, firsts))
    return merge_readings(readings) if readings else None


def _split_by_header(lines: str) -> list[str]:
    """Return the parts that begin with a package manager's words on what it runs."""
    begins = [match.start() for match in find_matches(_HEADER, lines, _MOST_PARTS)]
    return [lines[begin:end] for begin, end in zip([0, *begins], [*begins, len(lines)], strict=True)]


def split_by_prefix(lines: str) -> list[str]:
    """Return the lines of each package, without the name that each of them begins with."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for match in _PREFIXED.finditer(lines):
        if match["package"] in found or len(found) < _MOST_PARTS:
            found[match["package"]].append(match["rest"] or "")
    return ["\n".join(rest) + "\n" for rest in found.values() if len(rest) >= _FEWEST_LINES]
