"""Checkstyle's XML from whichever tool; dotnet, RSpec, Minitest, RuboCop, PHPUnit."""

import pytest

from aigon.model.checks import Problem, TestCounts
from tests.checks.parsers.captured import captured, read, reading


@pytest.mark.parametrize("name", ["checkstyle-failed.xml", "checkstyle-failed.txt"])
def test_both_forms_of_checkstyle_have_the_same_problems(name: str) -> None:
    problems = [(p.line, p.rule, p.severity, p.message) for p in reading(name).problems]
    assert problems == [(n, "MissingJavadocMethod", "error", "Missing a Javadoc comment.") for n in (4, 8)]


def test_checkstyles_xml_is_read_from_other_tools_also_where_they_print_it() -> None:
    printed = b"Note: using config\n" + captured("checkstyle-phpcs.xml") + b"\nTime: 12ms\n"
    assert read("checkstyle", printed) == reading("checkstyle-phpcs.xml")
    found = reading("checkstyle-phpcs.xml")
    assert (found.summary, found.problems[0].rule) == ("8 problems", "PSR12.Files.FileHeader.SpacingAfterBlock")


def test_checkstyles_severities_and_what_is_no_report_of_it() -> None:
    rows = "".join(
        f'<error line="{n}" severity="{s}" message="m"/>' for n, s in enumerate(("info", "ignore", "odd"), 1)
    )
    found = read("checkstyle", b"", f'<checkstyle><file name="a.kt">{rows}</file></checkstyle>'.encode())
    assert [(p.line, p.severity) for p in found.problems] == [(1, "warning"), (3, "error")]
    assert read("checkstyle", b"", b"<checkstyle version='1'></checkstyle>").summary == "clean"
    for other in (b"", b"<issues/>", b"<checkstyle><file name='a'>", b"<!DOCTYPE a><checkstyle/>"):
        assert not read("checkstyle", b"Audit done.\n", other).understood
    assert not read("checkstyle", b"swiftlint: command not found\n").understood


def test_ten_thousand_entries_are_counted_and_200_kept() -> None:
    many = "".join(f'<error line="{n}" message="m{n}"/>' for n in range(10_000))
    found = read("checkstyle", b"", f"<checkstyle><file name='a'>{many}</file></checkstyle>".encode())
    assert (found.summary, len(found.problems)) == ("10,000 problems", 200)


def test_a_trx_report_has_every_test_with_its_class_and_each_row_of_data() -> None:
    found = reading("dotnet-documented.xml")
    assert found.counts == TestCounts(total=6, passed=2, failed=2, skipped=1, errors=1)
    own = "Demo.Tests.CalcTests"
    assert dict(found.tests) == {
        f"{own}.Adds": "failed",
        f"{own}.Divides": "passed",
        f"{own}.Later": "skipped",
        f"{own}.Even (2)": "passed",
        f"{own}.Even (3)": "failed",
        f"{own}.Slow": "error",
    }
    said = "Assert.Equal() Failure: Values differ Expected: 5 Actual: -1"
    assert found.problems[0] == Problem(said, "/project/src/Demo/Calc.cs", 9, test=f"{own}.Adds")


def test_several_trx_reports_are_one_and_one_that_is_cut_spoils_them() -> None:
    one = captured("dotnet-documented.xml")
    both = read("dotnet", b"", b"\xef\xbb\xbf" + one + b"\n\xef\xbb\xbf" + one.replace(b"Demo.Tests", b"More.Tests"))
    assert both.counts is not None
    assert (both.counts.total, len(both.tests)) == (12, 12)
    assert not read("dotnet", b"", one + one[:900]).understood
    assert not read("dotnet", b"Build succeeded.\n", b"").understood


def test_a_test_host_that_crashed_says_so_without_a_result() -> None:
    info = '<RunInfo outcome="Error"><Text>The active test run was aborted. Reason: crashed</Text></RunInfo>'
    report = f'<?xml version="1.0"?><TestRun><Results/><ResultSummary>{info}</ResultSummary></TestRun>'
    found = read("dotnet", b"", report.encode())
    assert (found.counts, [p.message for p in found.problems]) == (
        TestCounts(),
        ["The active test run was aborted. Reason: crashed"],
    )


def test_what_msbuild_prints_is_read_once_and_without_the_project() -> None:
    assert reading("dotnet-documented-build.txt").problems == (
        Problem("Cannot implicitly convert type 'string' to 'int'", "/project/src/Demo/Calc.cs", 5, "CS0029"),
        Problem(
            "The variable 'x' is assigned but its value is never used",
            "/project/src/Demo/Calc.cs",
            9,
            "CS0219",
            "warning",
        ),
    )
    found = read("dotnet", b"MSBUILD : error MSB1011: Specify which project to use.\n")
    assert found.problems == (Problem("Specify which project to use.", rule="MSB1011"),)


def test_the_totals_of_dotnet_are_added() -> None:
    assert reading("dotnet-documented-test.txt").counts == TestCounts(total=7, passed=5, failed=1, skipped=1)
    newer = b"Test summary: total: 3, failed: 1, succeeded: 2, skipped: 0, duration: 1.2s\n"
    assert read("dotnet", newer).summary == "2/3 passed"


def test_rspecs_report_has_every_example_and_where_it_failed() -> None:
    # As aigon hands it over: paths of the project are relative.
    found = read("rspec", b"", captured("rspec-failed.json").replace(b"/project/", b""))
    assert found.counts == TestCounts(total=9, passed=3, failed=4, skipped=2)
    assert [(p.file, p.line) for p in found.problems] == [
        ("spec/calc_spec.rb", 7), ("lib/calc.rb", 7), ("spec/calc_spec.rb", 32), ("spec/calc_spec.rb", 41),
    ]  # fmt: skip
    assert [p.message for p in found.problems][:2] == ["expected: 5 got: -1", "ZeroDivisionError: divided by 0"]
    own = "spec/calc_spec.rb::Calc"
    assert (found.tests[f"{own} adds"], found.tests[f"{own} comes later"]) == ("failed", "skipped")
    assert (found.tests[f"{own} inside is even"], found.tests[f"{own} inside is even (2)"]) == ("failed", "passed")


def test_rspecs_text_serves_without_a_report_whatever_examples_print() -> None:
    found = reading("rspec-failed.txt")
    assert b"99 examples, 99 failures" in captured("rspec-failed.txt")
    assert found.counts == TestCounts(total=9, passed=3, failed=4, skipped=2)
    assert found.problems[0].test == "spec/calc_spec.rb::Calc adds"


def test_a_spec_that_cannot_be_loaded_is_an_error_and_none_are_none() -> None:
    found = reading("rspec-load.json")
    assert (found.counts, found.problems) == (
        TestCounts(total=1, errors=1),
        (Problem("NameError: uninitialized constant Nope", "e/bad_spec.rb", 1, test="e/bad_spec.rb"),),
    )
    assert reading("rspec-none.json").summary == "no tests collected"


def test_minitest_counts_behind_its_own_end_only() -> None:
    assert b"99 runs, 99 assertions" in captured("minitest-failed.txt")
    found = reading("minitest-failed.txt")
    assert found.counts == TestCounts(total=4, passed=1, failed=1, skipped=1, errors=1)
    assert [(p.test, p.line, p.message) for p in found.problems] == [
        ("CalcTest#test_adds", 5, "sum is off. Expected: 5 Actual: -1"),
        ("CalcTest#test_breaks", 0, "ZeroDivisionError: divided by 0"),
    ]


def test_several_runs_of_minitest_and_test_unit_are_added() -> None:
    run = "Finished in 0.1s, 1 runs/s.\n{}\n"
    one = run.format("2 runs, 2 assertions, 0 failures, 0 errors, 0 skips")
    other = run.format("3 tests, 2 assertions, 1 failures, 0 errors, 0 pendings, 1 omissions, 0 notifications")
    assert read("minitest", (one + other).encode()).counts == TestCounts(total=5, passed=3, failed=1, skipped=1)


@pytest.mark.parametrize("name", ["rubocop-failed.json", "rubocop-failed.txt"])
def test_both_forms_of_rubocop_have_the_same_offences(name: str) -> None:
    found = reading(name)
    assert (found.summary, found.problems[0].file, found.problems[0].line) == ("21 problems", "lib/calc.rb", 1)
    assert {p.severity for p in found.problems} == {"error"}


def test_a_content_rubocop_is_clean() -> None:
    assert read("rubocop", b"3 files inspected, no offenses detected\n").summary == "clean"
    assert read("rubocop", b"", b'{"files": [], "summary": {"offense_count": 0}}').summary == "clean"
    assert not read("rubocop", b"", b"{}").understood


def test_phpunits_report_says_why_and_where() -> None:
    found = reading("phpunit-failed.xml")
    assert found.counts == TestCounts(total=8, passed=3, failed=2, skipped=2, errors=1)
    assert found.problems[0] == Problem(
        "sum is off Failed asserting that -1 is identical to 5.",
        "/project/tests/CalcTest.php",
        6,
        test="CalcTest::testAdds",
    )
    assert (found.problems[1].file, found.problems[1].line) == ("/project/src/Calc.php", 5)
    assert found.tests['CalcTest::testEven with data set "two"'] == "passed"


def test_phpunits_text_counts_by_its_last_line() -> None:
    found = reading("phpunit-failed.txt")
    assert (found.counts, len(found.problems)) == (reading("phpunit-failed.xml").counts, 3)
    loud = b"Tests: 9, Assertions: 9, Failures: 9.\n\nOK (2 tests, 2 assertions)\n"
    assert read("phpunit", loud).summary == "2/2 passed"
    assert read("phpunit", b"No tests executed!\n").summary == "no tests collected"


@pytest.mark.parametrize("parser", ["checkstyle", "dotnet", "rspec", "minitest", "rubocop", "phpunit", "androidlint"])
def test_what_another_tool_prints_is_not_understood(parser: str) -> None:
    assert not read(parser, b"sh: 1: tool: not found\n").understood
    assert not read(parser, b"all is well\n").understood


def test_pre_commit_names_each_failing_hook_with_what_it_printed() -> None:
    found = reading("precommit-failed.txt")
    assert (found.summary, found.problems) == (
        "3 problems",
        (
            Problem("The hook would change this file", "a.py", rule="trailing-whitespace"),
            Problem("The hook would change this file", "b.yaml", rule="end-of-file-fixer"),
            Problem("F401 'os' imported but unused", "a.py", 1, "flake8"),
        ),
    )
    assert read("precommit", b"check yaml....................Passed\n").summary == "clean"
    silent = b"lint....................Failed\n- hook id: lint\n- exit code: 1\n"
    assert read("precommit", silent).problems == (Problem("the hook failed", rule="lint"),)
    assert not read("precommit", b"An error has occurred: InvalidConfigError: \n").understood
