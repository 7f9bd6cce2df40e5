"""Whatever a tool writes, a parser describes it: no exception, no hang, bounded in what it keeps, nothing made up.

Every parser there is takes part, and so do all captures. `python -m tests.checks.parsers.fuzz` does the same for
longer.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from aigon.checks.parsers import known
from aigon.model.checks import ParsedOutput, Problem
from tests.checks.parsers import costs, liked, seeds
from tests.checks.parsers.captured import read
from tests.checks.parsers.cases import Case, holds, made
from tests.checks.parsers.seeds import Seed
from tests.checks.parsers.soundness import made_up, sound

ATTEMPTS = 40
GROWN = 64_000
"""Bytes of the larger inputs here; the fuzzer goes to 4 MB, which is what is read of any output."""
LARGE = 20 * 1024 * 1024
OF_ONE_FORMAT = (
    {"jest", "vitest"},
    {"nodetest", "tap"},
    {"swifttest", "xcodebuild"},
    {"node", "any"},
    {"node", "playwright"},
    {"cargo", "cargodoc", "cargotest", "clippy", "nextest"},
)
"""Parsers that rightly read each other's captures. JUnit XML needs no mention: whoever reads it reads everybody's."""
JUNIT = re.compile(rb"\s*(?:<\?xml[^>]*\?>\s*)?<testsuites?\b")
every_parser = pytest.mark.parametrize("name", known())


def as_its_tool_gives(seed: Seed, data: bytes) -> ParsedOutput:
    return read(seed.parser, b"", data) if seed.report else read(seed.parser, data)


def claims(found: ParsedOutput) -> ParsedOutput:
    """What is kept when line ends or noise change: all but the wording."""
    return replace(found, problems=(), tests={})


@every_parser
def test_any_damaged_input_can_be_read(name: str) -> None:
    for number in range(ATTEMPTS):
        case = made(name, 0, number)
        try:
            holds(case)
        except Exception as broken:
            raise AssertionError(f"seed 0, case {number} of {name}: {case.how}") from broken


@every_parser
def test_nothing_is_read_into_what_no_tool_wrote(name: str) -> None:
    for seed in seeds.nobodys():
        holds(Case(name, seed.data, None, f"output {seed.name}", garbage=True))
        holds(Case(name, b"", seed.data, f"report {seed.name}", garbage=True))


@every_parser
def test_every_capture_can_be_read_and_is_no_pass_where_it_is_another_tools(name: str) -> None:
    """What once broke something is read along with them."""
    wrong = []
    for seed in (*seeds.captures(), *seeds.corpus()):
        for output, report in ((seed.data, None), (b"", seed.data)):
            found = read(name, output, report)
            sound(found)
            if foreign(seed, name) and (claim := made_up(found)):
                wrong.append(f"{seed.name} as {'output' if report is None else 'report'}: {claim}")
    assert not wrong


def foreign(seed: Seed, name: str) -> bool:
    """Whether nothing in the capture is for parser `name`."""
    if not seed.parser or seed.data.strip() in (b"", b"[]", b"{}"):
        return False
    mine = seeds.related(name)
    kin = seed.parser in mine or name in seeds.related(seed.parser)
    shared = any(seed.parser in group and group & mine for group in OF_ONE_FORMAT)
    return not (kin or shared or (JUNIT.match(seed.data) and "junit" in mine))


@every_parser
def test_time_grows_no_faster_than_the_input(name: str) -> None:
    for what, make in costs.floods(name, most=1).items():
        for report in (False, True) if "patterns" in what else (True,):
            complaint = costs.growth(name, make, report, GROWN).complaint
            assert not complaint, f"{what}, as {'report' if report else 'output'}: {complaint}"


@every_parser
def test_no_pattern_is_slow_on_what_it_likes(name: str) -> None:
    assert not costs.slowest(name, liked.first(name), 8_000)


@every_parser
def test_memory_is_bounded_by_the_input(name: str) -> None:
    for data in (b"[" + b"{}," * 5_000 + b"{}]", b"<testsuite>" * 1_500, b"x" * 20_000, b"a\n" * 8_000):
        for report in (False, True):
            assert costs.peak(name, data, report) < costs.FLOOR + costs.MEMORY * len(data)


@pytest.mark.slow
@every_parser
def test_twenty_megabytes_are_read(name: str) -> None:
    one, many = b"error: " + b"x" * LARGE, b"a\n" * 1_000_000
    for data in (one, many):
        sound(read(name, data))
        sound(read(name, b"", data))


@every_parser
def test_what_is_printed_changes_nothing_in_what_a_report_counts(name: str) -> None:
    """A test can print what looks like the runner's last line."""
    outputs = [seed.data for seed in seeds.own(name) if not seed.report]
    for seed in filter(lambda seed: seed.report, seeds.own(name)):
        alone = read(name, b"", seed.data)
        for output in outputs if alone.understood and alone.counts else ():
            assert claims(read(name, output, seed.data)) == claims(alone), seed.name


def changed(data: bytes) -> Iterator[tuple[str, bytes]]:
    yield "line ends of Windows", data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    yield "no line end at its end", data.rstrip()
    yield "empty lines behind it", data + b"\n\n\n"
    if not re.search(rb"^\s*[\[{<]", data, re.M):
        yield "colours", re.sub(rb"^(.+)$", lambda m: b"\x1b[31m" + m[1] + b"\x1b[39m", data, flags=re.M)


@pytest.mark.parametrize("seed", [s for s in seeds.captures() if s.parser in known()], ids=lambda seed: seed.name)
def test_line_ends_and_colours_change_nothing(seed: Seed) -> None:
    found = as_its_tool_gives(seed, seed.data)
    for what, data in changed(seed.data):
        again = as_its_tool_gives(seed, data)
        assert claims(again) == claims(found), what
        assert len(again.problems) == len(found.problems), what


@pytest.mark.parametrize(
    "seed", [s for s in seeds.captures() if s.name.endswith((".xml", ".json"))], ids=lambda s: s.name
)
def test_a_report_that_was_cut_is_never_a_pass(seed: Seed) -> None:
    whole = seed.data.rstrip()
    for end in range(1, len(whole), max(1, len(whole) // 100)):
        found = as_its_tool_gives(seed, whole[:end])
        assert not found.understood or found.problems, whole[max(0, end - 60) : end]


def test_the_summary_after_twenty_megabytes_of_output_is_found() -> None:
    found = read("pytest", b"noise\n" * (LARGE // 6) + b"=== 1 failed, 2 passed in 3.00s ===\n")
    assert found.summary == "2/3 passed"


@every_parser
@pytest.mark.parametrize(
    "report",
    [b"[" * 100_000, b'{"a":' * 100_000, b"1" * 10_000, b'[{"filename": 3, "location": [], "message": {}}]'],
    ids=["lists", "dicts", "digits", "types"],
)
def test_odd_json_is_no_accident(name: str, report: bytes) -> None:
    sound(read(name, b"", report))
    sound(read(name, report, None))


@pytest.mark.parametrize("depth", [1_000, 200_000])
def test_deep_xml_is_no_accident(depth: int) -> None:
    sound(read("junit", b"", b"<testsuite>" * depth + b"</testsuite>" * depth))


def test_half_a_character_in_json_can_still_be_written() -> None:
    message = b'"\\ud800 \\u001b[31mred\\u0007\\u202e"'
    row = b'[{"filename": "a.py", "code": "X1", "message": ' + message + b', "location": {"row": 2}}]'
    assert read("ruff", row).problems == (Problem("? red", "a.py", 2, "X1"),)
