"""Whatever a tool writes, a parser describes it: no exception, no hang, bounded in what it keeps, nothing made up.

Every parser takes part, and so do all captures; each property is one test. `python -m tests.checks.parsers.fuzz` does
the same for longer.
"""

import re
from collections.abc import Callable, Iterator

import pytest
from msgspec.structs import replace

from aigon.checks.parsers import list_parsers
from aigon.model.checks import ParsedOutput, Problem
from tests.checks.parsers import costs, liked, seeds
from tests.checks.parsers.captured import read
from tests.checks.parsers.cases import Case, holds, made
from tests.checks.parsers.seeds import Seed
from tests.checks.parsers.soundness import made_up, sound

ATTEMPTS = 8
GROWN = 32_000
"""Bytes of the larger inputs here; the fuzzer goes to 4 MB, which is what is read of any output."""
LARGE = 20 * 1024 * 1024
OF_ONE_FORMAT = (
    {"jest", "vitest"},
    {"nodetest", "tap"},
    {"swifttest", "xcodebuild", "xcresult"},
    {"node", "any"},
    {"node", "playwright"},
    {"cargo", "cargodoc", "cargotest", "clippy", "nextest"},
)
"""Parsers that rightly read each other's captures. JUnit XML needs no mention: whoever reads it reads everybody's."""
JUNIT = re.compile(rb"\s*(?:<\?xml[^>]*\?>\s*)?<testsuites?\b")
pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


def for_each(names: tuple[str, ...], check: Callable[[str], None]) -> None:
    """Run `check` for every name, and fail with all that it complains of."""
    complaints = []
    for name in names:
        try:
            check(name)
        except Exception as broken:  # a parser that breaks must not hide the others
            complaints.append(f"{name}: {type(broken).__name__}: {broken}")
    assert not complaints, "\n".join(complaints)


def for_every_parser(check: Callable[[str], None]) -> None:
    for_each(list_parsers(), check)


def for_every_seed(wanted: Callable[[Seed], bool], check: Callable[[Seed], None]) -> None:
    found = {seed.name: seed for seed in seeds.captures() if wanted(seed)}
    assert found
    for_each(tuple(found), lambda name: check(found[name]))


def as_its_tool_gives(seed: Seed, data: bytes) -> ParsedOutput:
    return read(seed.parser, b"", data) if seed.report else read(seed.parser, data)


def claims(found: ParsedOutput) -> ParsedOutput:
    """What is kept when line ends or noise change: all but the wording."""
    return replace(found, problems=(), tests={})


def test_any_damaged_input_can_be_read() -> None:
    def check(name: str) -> None:
        for number in range(ATTEMPTS):
            case = made(name, 0, number)
            try:
                holds(case)
            except Exception as broken:
                raise AssertionError(f"seed 0, case {number} of {name}: {case.how}: {broken!r}") from broken

    for_every_parser(check)


def test_nothing_is_read_into_what_no_tool_wrote() -> None:
    def check(name: str) -> None:
        for seed in seeds.nobodys():
            holds(Case(name, seed.data, None, f"output {seed.name}", garbage=True))
            holds(Case(name, b"", seed.data, f"report {seed.name}", garbage=True))

    for_every_parser(check)


@pytest.mark.parametrize("share", [8, pytest.param(1, marks=pytest.mark.slow)])
def test_every_capture_can_be_read_and_another_tools_is_no_pass(share: int) -> None:
    """What once broke something is read along with them; by default each parser reads its share of all of them."""

    def check(name: str) -> None:
        wrong = []
        for number, seed in enumerate((*seeds.captures(), *seeds.corpus()), list_parsers().index(name)):
            ways = ((seed.data, None), (b"", seed.data))
            for output, report in (way for place, way in enumerate(ways) if (2 * number + place) % share == 0):
                found = read(name, output, report)
                sound(found)
                if foreign(seed, name) and (claim := made_up(found)):
                    wrong.append(f"{seed.name} as {'output' if report is None else 'report'}: {claim}")
        assert not wrong, wrong

    for_every_parser(check)


def foreign(seed: Seed, name: str) -> bool:
    """Whether nothing in the capture is for parser `name`."""
    if not seed.parser or seed.data.strip() in (b"", b"[]", b"{}"):
        return False
    mine = seeds.related(name)
    kin = seed.parser in mine or name in seeds.related(seed.parser)
    shared = any(seed.parser in group and group & mine for group in OF_ONE_FORMAT)
    return not (kin or shared or (JUNIT.match(seed.data) and "junit" in mine))


def test_time_grows_no_faster_than_the_input() -> None:
    def check(name: str) -> None:
        for what, make in costs.floods(name, most=1).items():
            for report in (False, True) if "patterns" in what else (True,):
                complaint = costs.growth(name, make, report, GROWN).complaint
                assert not complaint, f"{what}, as {'report' if report else 'output'}: {complaint}"

    for_every_parser(check)


def test_no_pattern_is_slow_on_what_it_likes() -> None:
    def check(name: str) -> None:
        slow = costs.slowest(name, liked.first(name), 4_000)
        assert not slow, slow

    for_every_parser(check)


def test_memory_is_bounded_by_the_input() -> None:
    def check(name: str) -> None:
        for data in (b"[" + b"{}," * 5_000 + b"{}]", b"<testsuite>" * 1_500, b"a\n" * 8_000):
            for report in (False, True):
                assert costs.peak(name, data, report) < costs.FLOOR + costs.MEMORY * len(data)

    for_every_parser(check)


@pytest.mark.slow
def test_twenty_megabytes_are_read() -> None:
    def check(name: str) -> None:
        for data in (b"error: " + b"x" * LARGE, b"a\n" * 1_000_000):
            sound(read(name, data))
            sound(read(name, b"", data))

    for_every_parser(check)


def test_what_is_printed_changes_nothing_in_what_a_report_counts() -> None:
    """A test can print what looks like the runner's last line."""

    def check(name: str) -> None:
        outputs = [seed.data for seed in seeds.own(name) if not seed.report]
        for seed in filter(lambda seed: seed.report, seeds.own(name)):
            alone = read(name, b"", seed.data)
            for output in outputs if alone.understood and alone.counts else ():
                assert claims(read(name, output, seed.data)) == claims(alone), seed.name

    for_every_parser(check)


def changed(data: bytes) -> Iterator[tuple[str, bytes]]:
    yield "line ends of Windows", data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    yield "no line end at its end", data.rstrip()
    yield "empty lines behind it", data + b"\n\n\n"
    if not re.search(rb"^\s*[\[{<]", data, re.M):
        yield "colours", re.sub(rb"^(.+)$", lambda m: b"\x1b[31m" + m[1] + b"\x1b[39m", data, flags=re.M)


def test_line_ends_and_colours_change_nothing() -> None:
    def check(seed: Seed) -> None:
        found = as_its_tool_gives(seed, seed.data)
        for what, data in changed(seed.data):
            again = as_its_tool_gives(seed, data)
            assert claims(again) == claims(found), what
            assert len(again.problems) == len(found.problems), what

    for_every_seed(lambda seed: seed.parser in list_parsers(), check)


def test_a_report_that_was_cut_is_never_a_pass() -> None:
    def check(seed: Seed) -> None:
        whole = seed.data.rstrip()
        for end in range(1, len(whole), max(1, len(whole) // 40)):
            found = as_its_tool_gives(seed, whole[:end])
            assert not found.understood or found.problems, whole[max(0, end - 60) : end]

    for_every_seed(lambda seed: seed.name.endswith((".xml", ".json")), check)


def test_the_summary_after_twenty_megabytes_of_output_is_found() -> None:
    found = read("pytest", b"noise\n" * (LARGE // 6) + b"=== 1 failed, 2 passed in 3.00s ===\n")
    assert found.summary == "2/3 passed"


def test_odd_json_is_no_accident() -> None:
    odd = (b"[" * 100_000, b'{"a":' * 100_000, b"1" * 10_000, b'[{"filename": 3, "location": [], "message": {}}]')

    def check(name: str) -> None:
        for report in odd:
            sound(read(name, b"", report))
            sound(read(name, report, None))

    for_every_parser(check)


def test_deep_xml_is_no_accident() -> None:
    for depth in (1_000, 200_000):
        sound(read("junit", b"", b"<testsuite>" * depth + b"</testsuite>" * depth))


def test_half_a_character_in_json_can_still_be_written() -> None:
    message = b'"\\ud800 \\u001b[31mred\\u0007\\u202e"'
    row = b'[{"filename": "a.py", "code": "X1", "message": ' + message + b', "location": {"row": 2}}]'
    assert read("ruff", row).problems == (Problem("? red", "a.py", 2, "X1"),)
