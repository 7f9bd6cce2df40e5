import pytest

from aigon.model.checks import TestCounts
from tests.checks.parsers.captured import captured, read, reading


def test_the_report_and_the_last_line_count_the_same() -> None:
    assert reading("pytest-failed.txt").counts == reading("pytest-failed.xml").counts
    assert reading("pytest-passed.txt").summary == reading("pytest-passed.xml").summary == "2/2 passed"


def test_failed_lines_name_tests_even_with_the_separator_in_a_parameter() -> None:
    assert [(p.test, p.message) for p in reading("pytest-failed.txt").problems] == [
        ("test_calc.py::TestAdd::test_wrong", "AssertionError: sum is off"),
        ("test_calc.py::test_param[2]", "assert 2 == 1"),
        ("test_calc.py::test_param[x y - z]", "AssertionError: assert 'x y - z' == 1"),
        ("test_calc.py::test_deep", "ValueError: deep & <odd>"),
        ("test_calc.py::test_needs", "RuntimeError: no database"),
    ]


def test_with_both_the_report_gives_the_line_and_the_output_the_name_pytest_takes() -> None:
    found = read("pytest", captured("pytest-failed.txt"), captured("pytest-failed.xml"))
    assert {p.test: p.line for p in found.problems} == {
        "test_calc.py::TestAdd::test_wrong": 8,
        "test_calc.py::test_param[2]": 23,
        "test_calc.py::test_param[x y - z]": 23,
        "test_calc.py::test_needs": 27,
        "test_calc.py::test_deep": 33,
    }


def test_a_collection_error_is_an_error_with_its_cause() -> None:
    found = reading("pytest-collection.txt")
    assert found.counts == TestCounts(total=1, errors=1)
    assert [(p.test, p.message) for p in found.problems] == [
        ("test_c.py", "ModuleNotFoundError: No module named 'nothing_like_this'")
    ]


@pytest.mark.parametrize("name", ["pytest-none.txt", "pytest-deselected.txt", "pytest-usage.txt"])
def test_no_tests_run_is_no_tests_collected(name: str) -> None:
    assert (reading(name).summary, reading(name).counts) == ("no tests collected", TestCounts())


def test_a_wrong_path_on_the_command_line_is_named() -> None:
    assert [p.message for p in reading("pytest-usage.txt").problems] == ["file or directory not found: nothing.py"]


def test_a_broken_conftest_is_not_understood_but_its_cause_is_kept() -> None:
    found = reading("pytest-conftest.txt")
    assert (found.understood, found.counts) == (False, None)
    assert [p.message for p in found.problems] == ["ModuleNotFoundError: No module named 'nope_x'"]


def test_failed_subtests_are_named_after_their_test() -> None:
    assert [p.test for p in reading("pytest-subtests.txt").problems] == [
        "tests/test_s.py::T::test_x",
        "tests/test_s.py::test_sub",
        "tests/test_s.py::test_sub",
    ]


def test_a_broken_report_leaves_the_word_to_the_output() -> None:
    found = read("pytest", captured("pytest-failed.txt"), captured("pytest-failed.xml")[:900])
    assert found.counts == TestCounts(total=10, passed=3, failed=4, skipped=2, errors=1)


def test_a_printed_summary_does_not_outweigh_the_report() -> None:
    forged = captured("pytest-failed.txt") + b"\n=== 99 passed in 0.01s ===\n"
    found = read("pytest", forged, captured("pytest-failed.xml"))
    assert found.summary == "3/8 passed, 1 error, 2 skipped"


def test_an_output_without_its_middle_still_has_its_summary() -> None:
    whole = captured("pytest-failed.txt")
    assert read("pytest", whole[:100] + b"\n[...]\n" + whole[-500:]).counts == reading("pytest-failed.txt").counts


def test_colours_and_windows_line_ends_change_nothing() -> None:
    coloured = b"\x1b[31m=== \x1b[1m1 failed\x1b[0m, \x1b[32m2 passed\x1b[0m\x1b[31m in 0.10s\x1b[0m ===\x1b[0m\r\n"
    assert read("pytest", coloured).counts == TestCounts(total=3, passed=2, failed=1)


def test_long_runs_say_minutes_and_are_understood() -> None:
    assert read("pytest", b"== 1 passed, 2 warnings, 1 rerun in 75.20s (0:01:15) ==\n").summary == "1/1 passed"
