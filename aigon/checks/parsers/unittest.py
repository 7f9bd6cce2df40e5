"""unittest (and Django, which runs tests with it): the words of its text runner.

In an output they stand between those of the tests: only the last summary counts, and the sections right before it. A
report holds nothing but the runner's words, verbosely, so that it also says which tests ran.
"""

import re
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

from aigon.checks.parsers._ids import Seen
from aigon.checks.parsers._problems import number
from aigon.checks.parsers._readings import foreign, tests
from aigon.checks.parsers._text import shortened, text, whole
from aigon.checks.parsers._unittest_names import Status, statuses
from aigon.checks.parsers._unittest_sections import Section, sections
from aigon.model.checks import ParsedOutput, TestCounts, TestResult
from aigon.text.fingerprints import strip_escapes

_END = re.compile(
    r"^(?<=-{70}\n)Ran (?P<ran>\d+) tests? in \d[\d.]*s\n\n(?:OK|FAILED|NO TESTS RAN)(?: \((?P<numbers>[^)\n]*)\))?$",
    re.M,
)
_NUMBER = re.compile(r"([a-z]+(?: [a-z]+)?)=(\d+)")
_DOTS = re.compile(r"^[.EFsxu]+$", re.M)
_WORDS = {
    ".": "ok", "s": "skipped", "x": "expected failure", "u": "unexpected success", "F": "FAIL", "E": "ERROR",
}  # fmt: skip
_STATED = {
    "FAIL": "failures",
    "ERROR": "errors",
    "skipped": "skipped",
    "expected failure": "expected failures",
    "unexpected success": "unexpected successes",
}


@dataclass(frozen=True, slots=True)
class Summary:
    """The runner's last lines: how many tests it ran, and how many of them came to what, by the words for one."""

    start: int
    ran: int
    stated: Counter[str]


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Counts and failures, each failed subtest as a problem of its own. A cut or foreign report counts for nothing."""
    if report and (reading := _reading(shortened(strip_escapes(whole(report))))):
        return reading
    lines = text(output)
    return replace(_reading(lines) or foreign(lines), tests={})


def _reading(lines: str) -> ParsedOutput | None:
    end = _summary(lines)
    if end is None:
        return None
    found = sections(lines, end.start, end.stated["FAIL"] + end.stated["ERROR"])
    said = list(statuses(lines[: end.start]))
    counts = _counts(end, found, _marked(lines[: end.start], end, said))
    return replace(tests(counts, (section.problem for section in found)), tests=_results(said))


def _summary(lines: str) -> Summary | None:
    if not (last := deque(_END.finditer(lines), maxlen=1)):
        return None
    numbers = {word: number(digits) for word, digits in _NUMBER.findall(last[0]["numbers"] or "")}
    stated = Counter({word: numbers.get(many, 0) for word, many in _STATED.items()})
    return Summary(last[0].start(), number(last[0]["ran"]), stated)


def _results(said: Sequence[Status]) -> dict[str, TestResult]:
    """Of single tests. The lines of its subtests, which are only about those not passed, are one test's."""
    seen, partly = Seen(), dict[str, TestResult]()
    for each in (each for each in said if each.name.single):
        if not each.sub:
            seen.add(each.name.id, each.result)
        elif partly.get(each.name.id, "skipped") == "skipped":
            partly[each.name.id] = each.result
    for test, result in partly.items():
        seen.add(test, result)
    return seen.results()


def _marked(lines: str, end: Summary, said: Sequence[Status]) -> int:
    """How many the runner marks as passed, line by line or with dots; 0 for dots torn apart by what tests print."""
    if said:
        return sum(each.word == "ok" for each in said)
    dots = deque((match[0] for match in _DOTS.finditer(lines)), maxlen=1)
    marks = Counter(_WORDS[dot] for dot in (dots[0] if dots else ""))
    return marks["ok"] if marks == end.stated + Counter(ok=marks["ok"]) else 0


def _counts(end: Summary, found: Sequence[Section], marked: int) -> TestCounts:
    """Of tests: one is one, in however many subtests it failed. Where sections are lost, by the runner's numbers."""
    failed, errors = ({s.name.id: s.name for s in found if s.kind == kind} for kind in ("FAIL", "ERROR"))
    broken, unfit, fixtures = len(failed.keys() - errors.keys()), len(errors), sum(e.fixture for e in errors.values())
    if sum(s.kind in ("FAIL", "ERROR") for s in found) < end.stated["FAIL"] + end.stated["ERROR"]:
        broken, unfit, fixtures = end.stated["FAIL"], end.stated["ERROR"], 0
    broken += end.stated["unexpected success"]
    skipped = end.stated["skipped"] + end.stated["expected failure"]
    most = max(0, end.ran - broken - (unfit - fixtures))
    # Some that are skipped, subtests and classes, are not among those that ran: what is left then is too few.
    return TestCounts(0, min(most, max(most - skipped, marked)), broken, skipped, unfit)
