import sys
from pathlib import Path

import pytest

from aigon.checks import parsers
from aigon.checks.parsers import list_parsers, load_reader, parse
from aigon.errors import AigonError, Exit
from aigon.files import resources
from aigon.model.checks import ParsedOutput, Problem, TestCounts

NAMES = ("build", "eslint", "jest", "junit", "mocha", "mypy", "node", "nodetest", "pytest", "ruff", "text", "tsc")


def test_every_parser_is_found_by_its_name_and_reads_bytes() -> None:
    assert {*NAMES, "vitest"} < set(list_parsers())
    for name in list_parsers():
        assert isinstance(load_reader(name)(b"", None), ParsedOutput), name


def test_a_new_file_is_a_new_parser(tmp_path: Path) -> None:
    (tmp_path / "newparser.py").write_text(
        "from aigon.model.checks import ParsedOutput\ndef read(output, report):\n    return ParsedOutput('new')\n"
    )
    parsers.__path__.append(str(tmp_path))
    resources._list_modules.cache_clear()
    try:
        assert "newparser" in list_parsers()
        assert parse("newparser", b"", None).summary == "new"
    finally:
        parsers.__path__.remove(str(tmp_path))
        resources._list_modules.cache_clear()
        sys.modules.pop("aigon.checks.parsers.newparser", None)


def test_parse_hands_output_and_report_to_the_named_parser() -> None:
    assert parse("ruff", b"All checks passed!\n", None).summary == "clean"
    assert parse("ruff", b"", b"[]").summary == "clean"


@pytest.mark.parametrize(
    "name", ["nothing", "", "jvm", "readings", "../core/model", "os.path", "pytest.junit", "__init__"]
)
def test_an_unknown_parser_is_a_usage_error_that_lists_the_known_ones(name: str) -> None:
    with pytest.raises(AigonError) as caught:
        parse(name, b"", None)
    assert caught.value.code is Exit.USAGE
    assert "junit" in caught.value.hint


def test_a_projects_own_matcher_is_read_and_validated(tmp_path: Path) -> None:
    own = tmp_path / "mytool.yaml"
    own.write_text("patterns:\n  - regexp: '^BAD (?P<file>[^ ]+) (?P<line>\\d+) (?P<message>.+)$'\n")
    found = parse(str(own), b"BAD a.c 3 no good\n", None)
    assert (found.summary, found.problems) == ("1 problem", (Problem("no good", "a.c", 3),))
    assert parse(str(own), b"", None).summary == "clean"
    (tmp_path / "broken.yaml").write_text("patterns:\n  - regexp: '('\n")
    with pytest.raises(AigonError, match="regexp") as caught:
        parse(str(tmp_path / "broken.yaml"), b"", None)
    assert caught.value.code is Exit.USAGE


def test_a_projects_own_matcher_may_read_a_runner_of_tests(tmp_path: Path) -> None:
    own = tmp_path / "mytests.yaml"
    own.write_text(
        "kind: tests\n"
        "totals:\n  - regexp: '^Ran (?P<total>\\d+) checks, (?P<failed>\\d+) broken$'\n    last: true\n"
        "failures:\n  - regexp: '^broken (?P<test>\\S+) at (?P<file>[^\\s:]+):(?P<line>\\d+)$'\n"
        "    text: below\n    noise: '  trace|Ran '\n"
    )
    output = b"Ran 9 checks, 9 broken\nbroken adds at calc.c:7\n  5 is not 4\n  trace: main\nRan 3 checks, 1 broken\n"
    found = parse(str(own), output, None)
    assert found.counts == TestCounts(total=3, passed=2, failed=1)
    assert found.problems == (Problem("5 is not 4", "calc.c", 7, test="adds"),)
    assert not parse(str(own), b"broken adds at calc.c:7\n", None).understood
    (tmp_path / "uncounted.yaml").write_text("kind: tests\nfailures: []\n")
    with pytest.raises(AigonError, match="totals"):
        parse(str(tmp_path / "uncounted.yaml"), b"", None)


def test_a_parser_that_breaks_is_not_understood_and_ends_nothing(tmp_path: Path) -> None:
    (tmp_path / "brokenparser.py").write_text("def read(output, report):\n    return 1 // 0\n")
    parsers.__path__.append(str(tmp_path))
    resources._list_modules.cache_clear()
    try:
        assert parse("brokenparser", b"anything", None) == ParsedOutput(understood=False)
    finally:
        parsers.__path__.remove(str(tmp_path))
        resources._list_modules.cache_clear()
        sys.modules.pop("aigon.checks.parsers.brokenparser", None)
