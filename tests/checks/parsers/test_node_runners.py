import pytest

from aigon.model.checks import Problem, TestCounts
from tests.checks.parsers.captured import captured, read, reading

JEST_COUNTS = TestCounts(total=4, passed=1, failed=1, skipped=1, errors=1)
VITEST_COUNTS = TestCounts(total=5, passed=1, failed=1, skipped=2, errors=1)
NODE_COUNTS = TestCounts(total=6, passed=1, failed=3, skipped=2)


@pytest.mark.parametrize("name", ["jest-failed.json", "jest-failed-stdout.txt", "jest-failed.txt"])
def test_jest_counts_the_file_it_could_not_load_as_an_error(name: str) -> None:
    assert (reading(name).counts, reading(name).summary) == (JEST_COUNTS, "1/3 passed, 1 error, 1 skipped")


def test_jest_text_names_test_place_and_both_values() -> None:
    wrong, unloaded = reading("jest-failed.txt").problems
    said = "expect(received).toBe(expected) // Object.is equality: Expected 3, Received 2"
    assert wrong == Problem(said, "sum.test.js", 3, test="sum.test.js::sum > wrong")
    assert unloaded == Problem(
        "Cannot find module './missing' from 'bad.test.js'", "bad.test.js", 1, test="bad.test.js"
    )


def test_jest_json_names_the_same_test_and_line() -> None:
    wrong = reading("jest-failed.json").problems[0]
    assert (wrong.file, wrong.line, wrong.test) == ("/project/sum.test.js", 3, "/project/sum.test.js::sum > wrong")


@pytest.mark.parametrize("name", ["vitest-failed.json", "vitest-failed.txt"])
def test_vitest_counts_the_file_it_could_not_load_as_an_error(name: str) -> None:
    assert (reading(name).counts, reading(name).summary) == (VITEST_COUNTS, "1/3 passed, 1 error, 2 skipped")


def test_vitest_text_names_test_and_place() -> None:
    unloaded, wrong = reading("vitest-failed.txt").problems
    assert (unloaded.test, unloaded.line) == ("bad.test.js", 1)
    said = "AssertionError: expected 2 to be 3 // Object.is equality"
    assert wrong == Problem(said, "sum.test.js", 4, test="sum.test.js::sum > wrong")


def test_vitest_with_nothing_but_a_file_that_does_not_load_has_one_error() -> None:
    assert reading("vitest-load.txt").counts == TestCounts(total=1, errors=1)


def test_vitest_may_report_as_junit_too() -> None:
    assert reading("vitest-failed.xml").counts == TestCounts(total=5, passed=1, failed=2, skipped=2)


@pytest.mark.parametrize("name", ["nodetest-failed.xml", "nodetest-tap.txt", "nodetest-spec.txt"])
def test_every_reporter_of_node_test_counts_the_same(name: str) -> None:
    assert (reading(name).counts, reading(name).summary) == (NODE_COUNTS, "1/4 passed, 2 skipped")


@pytest.mark.parametrize("name", ["nodetest-tap.txt", "nodetest-spec.txt"])
def test_node_test_names_tests_but_not_the_suites_around_them(name: str) -> None:
    lines = [(p.test.rpartition("/")[2].rpartition("::")[2], p.line) for p in reading(name).problems]
    assert lines == [("bad.test.js", 1), ("wrong", 6), ("throws", 10)]


def test_mocha_names_the_suites_and_the_place() -> None:
    found = reading("mocha-failed.txt")
    assert found.counts == TestCounts(total=4, passed=1, failed=2, skipped=1)
    assert [(p.test, p.file, p.line) for p in found.problems] == [
        ("sum > wrong", "t.js", 4),
        ("sum > deep > too", "t.js", 6),
    ]


@pytest.mark.parametrize("name", ["jest-passed.txt", "vitest-passed.txt", "mocha-passed.txt"])
def test_a_green_run_has_no_problems(name: str) -> None:
    assert reading(name).summary.startswith("1/1 passed")
    assert reading(name).problems == ()


@pytest.mark.parametrize(
    "name",
    ["jest-none.txt", "jest-none.json", "vitest-none.txt", "vitest-none.json", "nodetest-none.txt", "mocha-none.txt"],
)
def test_no_tests_are_said_to_be_none(name: str) -> None:
    assert (reading(name).summary, reading(name).counts) == ("no tests collected", TestCounts())


@pytest.mark.parametrize(
    "name", ["jest-failed.txt", "vitest-failed.txt", "nodetest-tap.txt", "nodetest-spec.txt", "mocha-failed.txt"]
)
def test_an_opaque_npm_test_is_read_as_the_runner_behind_it(name: str) -> None:
    wrapped = b"\n> app@1.0.0 test\n> whatever\n\n" + captured(name)
    assert read("node", wrapped) == reading(name)


def test_an_opaque_npm_test_of_another_kind_is_not_understood() -> None:
    found = read("node", b"\n> app@1.0.0 test\n> make check\n\nall good\n")
    assert (found.understood, found.counts) == (False, None)


def test_the_packages_of_a_workspace_are_added_up() -> None:
    assert read("node", captured("jest-passed.txt") * 2).counts == TestCounts(total=6, passed=2, skipped=4)


@pytest.mark.parametrize("name", ["jest", "vitest", "nodetest", "mocha", "node"])
def test_words_about_tests_are_no_report(name: str) -> None:
    assert not read(
        name, b"Tests: they all passed, 3 total or so\n# tests are important\nno failing tests\n"
    ).understood
