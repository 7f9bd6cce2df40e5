"""unittest (and Django, which runs tests with it): the words of its text runner.

In an output they come between those of the tests: only the last summary counts, and the sections right before it. A
report holds nothing but the runner's words, verbosely, so that it also says which tests ran.
"""

import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from aigon.checks.parsers.output import LARGEST_REPORT, READ_MATCHES, parse_number, read_text, sum_words
from aigon.checks.parsers.readings import ResultTally, describe_unknown, make_problem, summarize_tests
from aigon.checks.parsers.stacks import Place, find_own_place
from aigon.model.checks import ParsedOutput, Problem, TestCounts, TestResult
from aigon.text.patterns import compile_re

_END = compile_re(
    r"^(?<=-{70}\n)Ran (?P<ran>\d+) tests? in \d[\d.]*s\n\n(?:OK|FAILED|NO TESTS RAN)(?: \((?P<numbers>[^)\n]*)\))?$",
    re.M,
)
_NUMBER = compile_re(r"(?P<word>[a-z]+(?: [a-z]+)?)=(?P<number>\d+)")
_DOTS = compile_re(r"^[.EFsxu]+$", re.M)
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

_TEST = compile_re(r"(?P<name>[^\s()]+) \((?P<owner>[^\s()]*)\)")
_STATUS = compile_re(
    r"^(?P<sub>  )?(?P<test>\S[^\n]*?) \.\.\. "
    r"(?P<word>ok|FAIL|ERROR|skipped (?=')[^\n]*|skipped (?=\")[^\n]*|expected failure|unexpected success)$",
    re.M,
)
_RESULTS: dict[str, TestResult] = {"ok": "passed", "FAIL": "failed", "ERROR": "error", "unexpected success": "failed"}
_FIXTURES = ("setUpClass", "tearDownClass", "setUpModule", "tearDownModule")

_ODD = "UNEXPECTED SUCCESS"
_HEAD = compile_re(rf"^(?<=={{70}}\n)(?P<kind>ERROR|FAIL|{_ODD}): ", re.M)
_BELOW = "\n" + "-" * 70 + "\n"
_ABOVE = len(_BELOW) - 1
"""Characters of the line above a section."""
_SPAN = 100_000
"""Characters of one section that are read."""

_CHAINED = compile_re(
    r"^(?:The above exception was the direct cause of the following exception:"
    r"|During handling of the above exception, another exception occurred:)$",
    re.M,
)
_TRACEBACK = compile_re(r"^(?P<group> *\+ )?(?:Exception Group )?Traceback \(most recent call last\):$", re.M)
_FRAME = compile_re(r'^[ |+]*File "(?P<file>[^"\n]+)", line (?P<line>\d+)', re.M)
_GROUP_MARGIN = compile_re(r"^ *[|+] ?")
_FOREIGN = ("site-packages/", "dist-packages/", "/lib/python", "/lib64/python", "/lib/pypy", "lib/python3", "<")


class UnittestName(Struct, frozen=True):
    """`owner` is the class with its module, `rest` tells subtests apart. A module, or what is set up for several tests,
    is not `single`. The runner does not count a `fixture` among the tests it ran."""

    owner: str
    name: str
    rest: str = ""
    single: bool = True
    fixture: bool = False

    @property
    def dotted(self) -> str:
        """Return the name that `python -m unittest` takes, and what a subtest adds."""
        return f"{'.'.join(filter(None, (self.owner, self.name)))} {self.rest}".strip()

    @property
    def id(self) -> str:
        """Return the name as reports of other runners have it: the same for all its subtests."""
        return f"{self.owner}::{self.name}" if self.owner else self.name


class UnittestStatus(Struct, frozen=True):
    """The status of a test in a verbose run; `sub` if on a line of its own, of one subtest."""

    name: UnittestName
    word: str
    sub: bool


class UnittestSection(Struct, frozen=True):
    """One test, subtest or fixture. `kind` is ERROR, FAIL or UNEXPECTED SUCCESS."""

    kind: str
    name: UnittestName
    traceback: str = ""

    @property
    def problem(self) -> Problem:
        """Return the section in a line, at the place in the project that it speaks of."""
        raised = _find_raised(self.traceback) or ("unexpected success" if self.kind == _ODD else "failed")
        return make_problem(raised, *_find_frame(self.traceback), test=self.name.dotted)


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return counts and failures, a problem for each failed subtest. A cut or foreign report counts for nothing."""
    if report and (reading := _read_lines(read_text(report, LARGEST_REPORT))):
        return reading
    lines = read_text(output)
    return replace(_read_lines(lines) or describe_unknown(lines), tests={})


def _read_lines(lines: str) -> ParsedOutput | None:
    if not (last := deque(_END.finditer(lines), maxlen=1)):
        return None
    summary = last[0]
    numbers = sum_words(_NUMBER.finditer(summary["numbers"] or ""))
    stated = Counter({word: numbers[many] for word, many in _STATED.items()})
    sections = _read_sections(lines, summary.start(), stated["FAIL"] + stated["ERROR"])
    statuses = list(_read_statuses(lines[: summary.start()]))
    if statuses:
        marked = sum(status.word == "ok" for status in statuses)
    else:  # dots; they are torn apart by what tests print
        dots = deque((match[0] for match in _DOTS.finditer(lines, 0, summary.start())), maxlen=1)
        marks = Counter(_WORDS[dot] for dot in (dots[0] if dots else ""))
        marked = marks["ok"] if marks == stated + Counter(ok=marks["ok"]) else 0
    counts = _count_tests(parse_number(summary["ran"]), stated, sections, marked)
    reading = summarize_tests(counts, (section.problem for section in sections))
    return replace(reading, tests=_collect_results(statuses))


def _collect_results(statuses: Sequence[UnittestStatus]) -> dict[str, TestResult]:
    """Return results of single tests. The lines of subtests, which are only about those not passed, are one test's."""
    tally, partly = ResultTally(), dict[str, TestResult]()
    for status in statuses:
        name, result = status.name, _RESULTS.get(status.word, "skipped")
        if name.single and not status.sub:
            tally.record(name.id, result)
        elif name.single and partly.get(name.id, "skipped") == "skipped":
            partly[name.id] = result
    for test, result in partly.items():
        tally.record(test, result)
    return tally.results()


def _count_tests(ran: int, stated: Counter[str], sections: Sequence[UnittestSection], marked: int) -> TestCounts:
    """Count tests: one is one, in however many subtests it failed. If sections are lost, by the runner's numbers.

    `marked` are those that the runner marks as passed.
    """
    failed, errors = ({s.name.id: s.name for s in sections if s.kind == kind} for kind in ("FAIL", "ERROR"))
    broken, unfit = len(failed.keys() - errors.keys()), len(errors)
    fixtures = sum(name.fixture for name in errors.values())
    if sum(s.kind in ("FAIL", "ERROR") for s in sections) < stated["FAIL"] + stated["ERROR"]:
        broken, unfit, fixtures = stated["FAIL"], stated["ERROR"], 0
    broken += stated["unexpected success"]
    skipped = stated["skipped"] + stated["expected failure"]
    most = max(0, ran - broken - (unfit - fixtures))
    # Some that are skipped, subtests and classes, are not among those that ran: what is left then is too few.
    return TestCounts(0, min(most, max(most - skipped, marked)), broken, skipped, unfit)


def _read_statuses(lines: str) -> Iterator[UnittestStatus]:
    """Yield what the lines of a verbose run say, in their order.

    Before Python 3.11 there is no word for a test of which a subtest failed: the next one goes on in its line.
    """
    for match in _STATUS.finditer(lines):
        word = "skipped" if match["word"].startswith("skipped") else match["word"]
        *without, test = match["test"].split(" ... ")
        yield from (UnittestStatus(_read_name(each), "FAIL", True) for each in without if _TEST.fullmatch(each))
        yield UnittestStatus(_read_name(test), word, bool(match["sub"]))


def _read_name(description: str) -> UnittestName:
    """Return a test by the runner's description of it, whose other lines are its docstring's.

    Before Python 3.11 the method is not part of what is in brackets.
    """
    first = description.split("\n", 1)[0][:2000]
    match = _TEST.match(first)
    if match is None:
        return UnittestName("", first.strip())
    owner, name, rest = match["owner"], match["name"], first[match.end() :].strip()
    if owner.startswith("unittest.loader."):  # for modules that cannot be imported or are skipped whole
        return UnittestName("", name, single=False)
    if name in _FIXTURES:
        return UnittestName(owner, name, single=False, fixture=True)
    return UnittestName(owner.removesuffix(f".{name}"), name, rest)


def _read_sections(lines: str, end: int, stated: int) -> list[UnittestSection]:
    """Return the sections before `end`: of errors and failures those `stated` that are likeliest."""
    heads = list(deque(_HEAD.finditer(lines, 0, end), maxlen=READ_MATCHES))
    # If there are more than the runner states, tests have printed some: before its own, or in what they say of a
    # failure.
    begins = [match.start() for match in heads if match["kind"] != _ODD]
    printed = sorted(begins, key=lambda begin: (_rate_section(lines, begin), begin))[: max(0, len(begins) - stated)]
    heads = [match for match in heads if match.start() not in printed]
    ends = [*(match.start() - _ABOVE for match in heads[1:]), max(0, end - _ABOVE)]
    sections = []
    for match, stop in zip(heads, ends, strict=False):
        kind, body = match["kind"], lines[match.end() : stop]
        if kind == _ODD:  # those stand one below the other, under one line
            descriptions = (line for line in f"{kind}: {body}".split("\n") if line.startswith(f"{kind}: "))
            sections += [UnittestSection(kind, _read_name(each.removeprefix(f"{kind}: "))) for each in descriptions]
        else:
            description, _, traceback = body[:_SPAN].partition(_BELOW)
            sections.append(UnittestSection(kind, _read_name(description), traceback))
    return sections


def _rate_section(lines: str, head: int) -> int:
    """Return how likely a section is the runner's own: below an empty line, or the first one below a test's mark."""
    above = head - _ABOVE
    if above > 0 and lines[above - 1] != "\n":
        return 0
    return 2 if lines[max(0, above - 2) : above - 1] in (*"\n.EFsxu", "") else 1


def _find_raised(traceback: str) -> str:
    """Return the line that names the last exception; without a traceback, the first line."""
    last = _CHAINED.split(traceback)[-1]
    begin = _TRACEBACK.search(last)
    lines = last[begin.end() if begin else 0 :].split("\n")
    if begin and begin["group"]:
        lines = [_GROUP_MARGIN.sub("", line, count=1) for line in lines]
    # Frames and their sources are indented; what was raised is not.
    return next((line.strip() for line in lines if line.strip() and not (begin and line.startswith(" "))), "")


def _find_frame(traceback: str) -> Place:
    """Return the innermost frame in the project, of the last exception if it has one."""
    for part in (_CHAINED.split(traceback)[-1], traceback):
        own = [match for match in _FRAME.finditer(part) if not any(each in match["file"] for each in _FOREIGN)]
        if own:
            return find_own_place(reversed(own))
    return "", 0
