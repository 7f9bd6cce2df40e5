"""The results of single tests: from reports alone, by names that stay the same from run to run."""

import time

import pytest

from aigon.checks.parsers import parse
from aigon.checks.parsers.readings import merge_readings
from aigon.model.checks import ParsedOutput, TestCounts
from tests.checks.parsers.captured import captured, read, reading


def junit(*cases: str, head: str = "<testsuite>") -> dict[str, str]:
    return dict(read("junit", b"", f"{head}{''.join(cases)}</testsuite>".encode()).tests)


def case(name: str, inside: str = "", owner: str = "tests.test_a") -> str:
    return f'<testcase classname="{owner}" name="{name}">{inside}</testcase>'


FAILED, BROKEN, SKIPPED = '<failure message="no"/>', '<error message="on setup"/>', "<skipped/>"


def test_pytest_names_class_function_and_parameter() -> None:
    assert reading("pytest-failed.xml").tests == {
        "test_calc::test_mul": "passed",
        "test_calc.TestAdd::test_adds": "passed",
        "test_calc.TestAdd::test_wrong": "failed",
        "test_calc::test_param[1]": "passed",
        "test_calc::test_param[2]": "failed",
        "test_calc::test_param[x y - z]": "failed",
        "test_calc::test_needs": "error",
        "test_calc::test_later": "skipped",
        "test_calc::test_known": "skipped",
        "test_calc::test_deep": "failed",
    }


@pytest.mark.parametrize("name", ["vitest-failed.json", "vitest-failed.xml"])
def test_vitest_names_the_same_tests_in_either_format(name: str) -> None:
    found = {test.removeprefix("/project/"): result for test, result in reading(name).tests.items()}
    assert found == {
        "sum.test.js::sum > adds": "passed",
        "sum.test.js::sum > wrong": "failed",
        "sum.test.js::sum > later": "skipped",
        "sum.test.js::sum > someday": "skipped",
    }


def test_jest_names_file_suites_and_title() -> None:
    assert reading("jest-failed.json").tests == {
        "/project/sum.test.js::sum > adds": "passed",
        "/project/sum.test.js::sum > wrong": "failed",
        "/project/sum.test.js::sum > later": "skipped",
    }


def test_node_names_the_suites_and_no_file_that_did_not_load() -> None:
    assert reading("nodetest-failed.xml").tests == {
        "sum::adds": "passed",
        "sum::wrong": "failed",
        "sum::later": "skipped",
        "sum::someday": "skipped",
        "throws": "failed",
    }


@pytest.mark.parametrize(
    ("parser", "name"),
    [
        ("pytest", "pytest-failed.txt"),
        ("jest", "jest-failed-stdout.txt"),
        ("jest", "jest-failed.json"),
        ("node", "jest-failed.json"),
        ("vitest", "vitest-failed.json"),
        ("junit", "pytest-failed.xml"),
        ("nodetest", "nodetest-tap.txt"),
        ("mocha", "mocha-failed.txt"),
    ],
)
def test_what_is_printed_names_no_tests(parser: str, name: str) -> None:
    found = read(parser, captured(name))
    assert found.counts and found.tests == {}
    assert read(parser, captured(name), b"cut").tests == {}


def test_a_cut_report_names_no_tests() -> None:
    assert parse("pytest", captured("pytest-failed.txt"), captured("pytest-failed.xml")[:-5]).tests == {}


@pytest.mark.parametrize(
    "broken",
    [
        case("tests.test_a", '<error message="collection failure"/>', owner=""),
        case("tests.test_a", '<skipped message="collection skipped"/>', owner=""),
        case("internal", '<error message="internal error"/>', owner="pytest"),
        case("tests.test_a", BROKEN, owner="unittest.loader._FailedTest"),
        case("web/sum.test.mjs", FAILED, owner="test"),
        case("web/sum.test.ts", FAILED, owner="web/sum.test.ts"),
        case("sum &quot;before each&quot; hook for &quot;adds&quot;", FAILED, owner="sum"),
    ],
)
def test_what_broke_in_place_of_tests_is_counted_but_is_no_test(broken: str) -> None:
    report = f"<testsuite>{broken}</testsuite>".encode()
    found = read("junit", b"", report)
    assert (found.counts or TestCounts()).total == 1 and found.tests == {}


def test_of_tests_with_one_name_the_worst_counts_and_none_can_go_unseen() -> None:
    a = "tests.test_a::a"
    assert junit(case("a"), case("a")) == {a: "passed", f"{a} (2)": "passed"}
    assert junit(case("a"), case("a", FAILED)) == {a: "failed", f"{a} (2)": "passed"}
    assert junit(case("a", SKIPPED), case("a")) == {a: "skipped", f"{a} (2)": "passed"}
    assert junit(case("a", FAILED), case("a", BROKEN)) == {a: "error"}, "one test that is reported for its teardown too"


def test_names_do_not_depend_on_addresses_and_are_bounded_but_distinct() -> None:
    assert junit(case("a[0x7f00aa11]")) == junit(case("a[0x7fffbb22]"))
    one, other = (junit(case("p[" + "x" * 3000 + end + "]")) for end in "ab")
    assert one.keys().isdisjoint(other) and max(map(len, [*one, *other])) <= 500
    assert junit(case("a[\x85\u202e b]")) == {"tests.test_a::a[ b]": "passed"}


def test_a_flood_of_tests_is_read_in_seconds_and_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aigon.checks.parsers.readings.KEPT_TESTS", 20_000)
    many = "".join(f'<testcase name="t{n}"/>' for n in range(30_000))
    began = time.process_time()
    found = read("junit", b"", f"<testsuites>{many}</testsuites>".encode())
    assert (found.counts or TestCounts()).passed == 30_000 and len(found.tests) == 20_000
    assert time.process_time() - began < 2


def test_several_reports_are_one() -> None:
    first = ParsedOutput("1/1 passed", TestCounts(2, 1, 0, 1), tests={"a": "passed", "b": "skipped"})
    second = ParsedOutput("1/2 passed", TestCounts(2, 1, 1), tests={"a": "failed", "b": "passed"})
    found = merge_readings([first, second])
    assert (found.summary, found.counts) == (
        "2/3 passed, 1 skipped",
        TestCounts(total=4, passed=2, failed=1, skipped=1),
    )
    assert found.tests == {"a": "failed", "b": "passed"}
    assert merge_readings([first]) is first
