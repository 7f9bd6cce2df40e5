"""Runners of tests as data: the numbers that they print and the tests that failed, in one YAML file for each."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct, field

from aigon.checks.parsers.output import find_matches, name_groups, parse_number, read_text, sum_words
from aigon.checks.parsers.readings import describe_unknown, make_problem, summarize_tests
from aigon.checks.parsers.stacks import (
    Place,
    describe_script,
    explain_failures,
    explain_unloaded,
    find_crashes,
    find_frame,
    find_thresholds,
)
from aigon.model.checks import ParsedOutput, Problem, TestCounts
from aigon.text.patterns import compile_re

_SPAN = 20_000
"""Characters of one failure that are read."""
_WORD = compile_re(r"(?P<number>\d+) (?P<word>[a-z]+)")
_MOST_TOTALS = 1000
_MOST_EVENTS = 100_000
_LONGEST = 300
"""Characters of a message that is put together from several lines."""


class TotalPattern(Struct, frozen=True, forbid_unknown_fields=True):
    """Numbers of tests: groups `passed`, `failed`, `skipped`, `errors` and `total`, or `numbers` with their words.

    Alternatives of a group end in a digit (`skipped2`) and add up. `words` says what a word counts as.
    With `last` only the last match counts. If a failure counts each error as a failed test, it `includes_errors`.
    """

    regexp: re.Pattern[str]
    word: re.Pattern[str] = _WORD
    words: dict[str, str] = field(default_factory=dict)
    last: bool = False
    includes_errors: bool = False

    def count(self, lines: str) -> Counter[str] | None:
        """Return the numbers in the text; None if it has none."""
        matches = list(find_matches(self.regexp, lines, _MOST_TOTALS))
        return sum(map(self._count_match, matches[-1:] if self.last else matches), Counter()) if matches else None

    def _count_match(self, match: re.Match[str]) -> Counter[str]:
        numbers = Counter[str]()
        for name, digits in match.groupdict().items():
            numbers[name.rstrip("0123456789")] += parse_number(digits)
        for word, number in sum_words(self.word.finditer(match.groupdict().get("numbers") or "")).items():
            numbers[self.words.get(word, word)] += number
        if self.includes_errors:
            numbers["failed"] = max(0, numbers["failed"] - numbers["errors"])
        if match.groupdict().get("total"):
            not_passed = numbers["failed"] + numbers["errors"] + numbers["skipped"]
            numbers["passed"] += max(0, numbers["total"] - not_passed)
        return numbers


class FailurePattern(Struct, frozen=True, forbid_unknown_fields=True):
    """What failed, by the groups `test`, `file`, `line` and `message`; `unloaded` marks a file that did not load.

    A match without a test, a message or this mark names the file of those that follow; one without any group ends the
    text of the one before. Why it failed is in the group `body`, or in the text `below` or `above` the match, of which
    `said` is the part with the reason. `frame` finds places in it, `noise` lines that say nothing. `id` makes the
    test's id, `joins` separates its titles.
    """

    regexp: re.Pattern[str]
    text: Literal["", "below", "above"] = ""
    said: re.Pattern[str] | None = None
    frame: re.Pattern[str] | None = None
    noise: re.Pattern[str] | None = None
    joins: re.Pattern[str] | None = None
    id: str = "{test}"
    otherwise: str = "failed"

    def find_problems(self, lines: str, *, is_script: bool) -> Iterator[Problem]:
        """Yield a problem for each test or file that failed. A script's errors are JavaScript's."""
        file = ""
        for match, around in self._find_texts(lines):
            groups = name_groups(match)
            own, body = groups.get("file", file), groups.get("body", around)
            if match.groupdict().get("unloaded") is not None:  # the mark itself is empty
                yield make_problem(*explain_unloaded(body, own), test=own)
            elif {"test", "message", "body"} & groups.keys():
                test = groups.get("test", "").replace("\\#", "#")  # as TAP writes it
                test = self.joins.sub(" > ", test) if self.joins else test
                said, place = (self._explain_script if is_script else self.explain)(body)
                message = ": ".join(filter(None, (groups.get("message"), said))) or self.otherwise
                place = place if place[0] else (own, parse_number(groups.get("line")))
                # A file that could not be loaded is a test with the file's own name.
                is_file = own and test.endswith(own)
                name = self.id.format(**{**groups, "test": test, "file": own}) if test and own else test
                yield make_problem(message, *place, test=own if is_file else name)
            else:
                file = own

    def _find_texts(self, lines: str) -> Iterator[tuple[re.Match[str], str]]:
        """Yield each match with the text below or above it, up to its neighbour."""
        matches = list(find_matches(self.regexp, lines, _MOST_EVENTS))
        if self.text == "above":
            begins = [0, *(match.end() for match in matches)]
            for begin, match in zip(begins, matches, strict=False):
                yield match, lines[max(begin, match.start() - _SPAN) : match.start()]
            return
        ends = [*(match.start() for match in matches[1:]), len(lines)]
        for match, end in zip(matches, ends, strict=False):
            yield match, lines[match.end() : min(end, match.end() + _SPAN)] if self.text else ""

    def _explain_script(self, body: str) -> tuple[str, Place]:
        said = self.said.search(body) if self.said else None
        text = said["said"] if said else "" if self.said else body
        place = find_frame(body)
        return describe_script(text).strip("'") if text.strip() else "", place if place[0] else self._find_frame(body)

    def _find_frame(self, body: str) -> Place:
        frame = self.frame.search(body) if self.frame else None
        return (frame["file"], parse_number(frame["line"])) if frame else ("", 0)

    def explain(self, body: str) -> tuple[str, Place]:
        """Return what the text of a failure says on one line, and its first own frame."""
        said = (line for line in body.split("\n") if not (self.noise and self.noise.match(line)))
        return " ".join(" ".join(said).split())[:_LONGEST], self._find_frame(body)


class TestMatcher(Struct, frozen=True, forbid_unknown_fields=True):
    """A runner's text. The first of the `totals`, or `none` ran, has to be there; `language` is that of the errors.

    With `junit` its report is JUnit's XML.
    """

    __test__ = False
    totals: tuple[TotalPattern, ...]
    kind: Literal["tests"] = "tests"
    failures: tuple[FailurePattern, ...] = ()
    none: re.Pattern[str] | None = None
    language: Literal["", "javascript"] = ""
    junit: bool = False

    def read(self, output: bytes, report: bytes | None) -> ParsedOutput:
        """Return counts and failures."""
        if self.junit:
            from aigon.checks.parsers.junit import read_report

            if reading := read_report(report):
                return reading
            report = None
        lines = read_text(output or report or b"")
        return self.read_lines(lines) or describe_unknown(lines)

    def read_lines(self, lines: str) -> ParsedOutput | None:
        """Return what the text says; None if it is not this runner's."""
        found = [total.count(lines) for total in self.totals]
        if found[0] is None and not (self.none and self.none.search(lines)):
            return None
        numbers = sum(filter(None, found), Counter[str]())
        problems = list(self.find_problems(lines))
        if self.language:
            problems = [*explain_failures(problems, find_crashes(lines)), *find_thresholds(lines)]
        # A file that did not load is a problem of its own, whatever the runner counts.
        unloaded = {each.test for each in problems if each.test and "::" not in each.test}
        is_marked = any("unloaded" in pattern.regexp.groupindex for pattern in self.failures)
        errors = max(numbers["errors"], len(unloaded) if is_marked else 0)
        counts = TestCounts(0, numbers["passed"], numbers["failed"], numbers["skipped"], errors)
        return summarize_tests(counts, problems)

    def find_problems(self, lines: str) -> Iterator[Problem]:
        """Yield a problem for each test or file that failed."""
        for pattern in self.failures:
            yield from pattern.find_problems(lines, is_script=bool(self.language))
