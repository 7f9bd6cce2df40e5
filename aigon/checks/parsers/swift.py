"""`swift test` (XCTest's text, and Swift Testing's text or XML) and result bundles of Xcode 16. Written from their
documentation and sources, never tested against the tools.

Both libraries run in one command, one after the other. XCTest writes no XML unless its tests run in parallel, and then
says neither why a test failed nor that one was skipped; so its text is read. If that is handed over as a report, with
Swift Testing's XML behind it, results by test id come out of both.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from aigon.checks.parsers import junit
from aigon.checks.parsers.matchers import load_matcher
from aigon.checks.parsers.output import READ_MATCHES, Row, find_json, find_matches, load_json, parse_number, read_text
from aigon.checks.parsers.readings import (
    ResultTally,
    describe_unknown,
    keep_distinct,
    make_problem,
    merge_readings,
    summarize_types,
)
from aigon.model.checks import ParsedOutput, Problem, TestResult
from aigon.text.patterns import compile_re
from aigon.text.untrusted import object_at, objects_at, text_at

_XML = compile_re(rb"^<\?xml [^\n]{0,200}\?>\s{0,20}<testsuites?\b", re.M)
_MOST_LINES = 500_000
_WORDS: Mapping[str, TestResult] = {"passed": "passed", "failed": "failed", "skipped": "skipped"}

_EVENT = compile_re(r"Test [Cc]ase '(?P<test>[^'\n]{1,500})' (?P<word>started|passed|failed|skipped)(?=[ .])")
_SUITE = compile_re(r"^Test [Ss]uite '[^'\n]{1,500}' (?:started|passed|failed)|^\t* *Executed \d+ tests?, with ", re.M)
_FAILURE = compile_re(
    r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+): error: (?P<test>-\[[^\]\n]{1,500}\]|[\w.]{1,300}) : (?P<said>[^\n]+)$",
    re.M,
)
_FATAL = compile_re(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+): (?P<said>Fatal error[^\n]*)$", re.M)
_CRASHED = "it did not end: the test process crashed or was stopped"

_LINE = compile_re(r"^(?P<symbol>[^\s\w]\S?) {1,2}Test (?P<said>[^\n]+)$", re.M)
_RUN = compile_re(r"run (?:started\.|with \d+ tests?\b)")
_CASE = compile_re(r"case passing \d+ arguments? ")
_STARTED = " started."
_ENDED = compile_re(r" (?P<word>passed|failed) after \d[\d.]* seconds?\b")
_SKIPPED = compile_re(r" skipped(?:\.$|: \")")
_ISSUE = " recorded an issue"
_ISSUE_PLACE = compile_re(
    r"(?: with \d+ arguments? [^\n]{0,500}?)? at (?P<file>[^\s:]{1,300}):(?P<line>\d+):\d+: (?P<said>[^\n]+)$"
)

_NODE_RESULTS: dict[str, TestResult] = {
    "Passed": "passed", "Failed": "failed", "Skipped": "skipped", "Expected Failure": "skipped",
}  # fmt: skip
"""A test without a result, or with an unknown one, did not end."""
_BUNDLES = ("Unit test bundle", "UI test bundle")
_PLACE = compile_re(r"(?P<file>[^\s:][^:\n]{0,300}\.\w{1,12}):(?P<line>\d+)(?::\d+)?(?:: (?P<said>.+))?$", re.S)
_DEEPEST = 40
"""Levels of nodes that are read; Xcode writes about seven."""
_MOST_NODES = 1000
_MOST_MESSAGES = 5
"""Failures that are kept of one test."""


def read_swifttest(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return counts and failures of both libraries. A test that began and never ended counts as an error."""
    text = output if report is None else report
    # A test can print XML, too: the last document counts.
    begin = next((match.start() for match in reversed(list(_XML.finditer(text)))), len(text))
    lines = read_text(text[:begin])
    reading = _read_lines(lines, text[begin:]) or describe_unknown(lines)
    return reading if report is not None else replace(reading, tests={})


def _read_lines(lines: str, document: bytes = b"") -> ParsedOutput | None:
    """Return what the text says, or what kept the code from being compiled; None if neither library began."""
    runs = [run for run in (_read_xctest(lines), _read_testing(lines, document)) if run]
    compiler = load_matcher("xcodebuild").find_problems(lines)
    if not runs:
        broken = keep_distinct(compiler)
        return summarize_types(broken) if any(each.severity == "error" for each in broken) else None
    reading = merge_readings(runs)
    return reading if reading.problems else replace(reading, problems=keep_distinct(compiler))


def _find_results(events: Iterable[tuple[str, str]]) -> Iterator[tuple[str, TestResult]]:
    """Yield results out of events; what started and did not end is an error."""
    running = Counter[str]()
    for test, word in events:
        running[test] += 1 if word == "started" else -1
        if word != "started":
            yield test, _WORDS[word]
    yield from ((test, "error") for test, number in running.items() if number > 0)


def _read_xctest(lines: str) -> ParsedOutput | None:
    """Read `Test Case '-[Tests.CalcTests testAdd]' passed`, also behind what a test prints on that line."""
    events = [(_name_xctest(match["test"]), match["word"]) for match in find_matches(_EVENT, lines, _MOST_LINES)]
    results = list(_find_results(events))
    problems = [
        make_problem(match["said"], match["file"], match["line"], test=_name_xctest(match["test"]))
        for match in find_matches(_FAILURE, lines)
    ]
    unended = [test for test, result in results if result == "error"]
    problems += [make_problem("it did not end", test=test) for test in unended[:-1]]
    # What is said last of a fatal error is about the last test that did not end.
    fatal = next(iter(list(find_matches(_FATAL, lines))[-1:]), None)
    place = (fatal["said"], fatal["file"], parse_number(fatal["line"])) if fatal else (_CRASHED, "", 0)
    problems += [make_problem(*place, test=test) for test in unended[-1:]]
    return ResultTally(results).read(problems) if results or _SUITE.search(lines) else None


def _name_xctest(test: str) -> str:
    """Return `Tests.CalcTests.testAdd` for `-[Tests.CalcTests testAdd]`, the same as on Linux but for the module."""
    return test[2:-1].replace(" ", ".") if test.startswith("-[") and test.endswith("]") else test.removesuffix("()")


def _read_testing(lines: str, document: bytes) -> ParsedOutput | None:
    """Read `✔ Test adds() passed after 0.001 seconds.`, behind a symbol of the platform's, or the XML.

    A test cannot print the XML; why it failed is only in the text, which names no suites.
    """
    said = [match["said"] for match in find_matches(_LINE, lines, _MOST_LINES)]
    own = [text for text in said if not _RUN.match(text) and not _CASE.match(text)]
    issues = [_describe_issue(text) for text in own if _ISSUE in text]
    results = list(_find_results(filter(None, map(_read_event, own))))
    run = ResultTally(results).read(issues) if results or any(map(_RUN.match, said)) else None
    reading = junit.read_report(document, junit.describe_case) if document else None
    if reading is None or reading.counts is None:
        return run
    names: dict[str, set[str]] = {}
    for test in reading.tests:
        names.setdefault(test.rpartition("::")[2], set()).add(test)
    # A name that ends like one other gets the whole of it.
    problems = tuple(
        replace(each, test=min(found)) if len(found := names.get(each.test, set())) == 1 else each
        for each in (run.problems if run else ())
    )
    return replace(reading, problems=problems or reading.problems)


def _read_event(said: str) -> tuple[str, str] | None:
    if said.endswith(_STARTED):
        return _name_test(said.removesuffix(_STARTED)), "started"
    if match := _ENDED.search(said):
        return _name_test(said[: match.start()]), match["word"]
    match = _SKIPPED.search(said)
    # A test that is skipped never started.
    return (_name_test(said[: match.start()]), "skipped") if match else None


def _describe_issue(said: str) -> Problem:
    test, _, rest = said.partition(_ISSUE)
    match = _ISSUE_PLACE.match(rest)
    if match is None:
        return make_problem(rest.removeprefix(":").strip() or "failed", test=_name_test(test))
    return make_problem(match["said"], match["file"], match["line"], test=_name_test(test))


def _name_test(test: str) -> str:
    return test.strip().strip('"')


def read_xcresult(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return counts and failures that `xcrun xcresulttool get test-results tests` reports, or what xcodebuild printed:
    tests, or errors of the compiler."""
    document = object_at(load_json(report) if report is not None else find_json(output, dict))
    if isinstance(document.get("testNodes"), list):
        reading = _read_nodes(objects_at(document, "testNodes"))
        return reading if report is not None else replace(reading, tests={})
    lines = read_text(output)
    printed = _read_lines(lines) or load_matcher("xcodebuild").read_lines(lines, silence=True)
    reading = printed or describe_unknown(lines)
    return reading if report is None else replace(reading, counts=None, understood=False, tests={})


def _read_nodes(nodes: list[Row]) -> ParsedOutput:
    """Read a tree: test plan, bundles, suites, and test cases with their devices, repetitions, arguments and failures.

    It is walked without recursion: a report can be of any depth.
    """
    tally, problems = ResultTally(), list[Problem]()
    waiting = [(node, "", 0) for node in reversed(nodes)]
    while waiting:
        node, bundle, depth = waiting.pop()
        kind, name = text_at(node, "nodeType"), text_at(node, "name")
        if kind == "Test Case":
            result = _NODE_RESULTS.get(text_at(node, "result"), "error")
            test = "/".join(filter(None, (bundle, text_at(node, "nodeIdentifier") or name)))
            tally.add(test, result)
            if result in ("failed", "error") and len(problems) < READ_MATCHES:
                messages = list(dict.fromkeys(_find_messages(node)))[:_MOST_MESSAGES]
                messages = messages or ["it did not pass, and nothing says why"]
                problems += [_describe_message(message, test) for message in messages]
        elif kind == "Failure Message":  # outside of a test: a bundle that crashed, a suite's set-up
            tally.numbers["error"] += 1
            problems += [_describe_message(name, bundle or "tests")] * (len(problems) < READ_MATCHES)
        elif depth < _DEEPEST:
            inner = name if kind in _BUNDLES else bundle
            waiting += [(child, inner, depth + 1) for child in reversed(objects_at(node, "children"))]
    return tally.read(problems)


def _find_messages(case: Row) -> Iterator[str]:
    """Yield what failed in a case, on whichever device, in whichever repetition or with whichever arguments."""
    waiting, remaining = [(case, 0)], _MOST_NODES
    while waiting and remaining:
        (node, depth), remaining = waiting.pop(), remaining - 1
        children = objects_at(node, "children")
        if node.get("nodeType") == "Failure Message":
            name = text_at(node, "name")
            # A source reference below the message names the place, unless it has one itself.
            places = (text_at(child, "name") for child in children)
            place = next((each for each in places if _PLACE.match(each)), "")
            yield name if not place or _PLACE.match(name) else f"{place}: {name}"
        elif depth < _DEEPEST and node.get("result") != "Passed":
            waiting += [(child, depth + 1) for child in reversed(children)]


def _describe_message(message: str, test: str) -> Problem:
    match = _PLACE.match(message)
    if match is None:
        return make_problem(message or "failed", test=test)
    return make_problem(match["said"] or "failed", match["file"], match["line"], test=test)
