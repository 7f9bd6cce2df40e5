"""Checks whose tool places its reports itself: old ones are out of the way, new ones are put together."""

import pytest

from aigon.checks import execution
from aigon.model.checks import Check, Finding, TestCounts
from tests.compare.bench import world_of
from tests.lab import Lab

PASSED = '<testsuite><testcase classname="A" name="one"/></testsuite>'
FAILED = '<testsuite><testcase classname="B" name="two"><failure message="no"/></testcase></testsuite>'


def finding(lab: Lab, script: str, role: str = "tests") -> Finding:
    check = Check("tests", role, ("bash", "-c", script), parser="junit", reports=("build/**/*.xml", "out.xml"))  # type: ignore[arg-type]
    with world_of(lab) as world:
        return execution.run_check(world, check, lab.home / "logs").finding


def test_all_reports_of_a_run_are_put_together(lab: Lab) -> None:
    found = finding(lab, f"mkdir -p build/a; echo '{PASSED}' > build/a/1.xml; echo '{FAILED}' > out.xml; exit 1")
    assert (found.status, found.summary, found.counts) == ("fail", "1/2 passed", TestCounts(2, 1, 1))
    assert [problem.test for problem in found.problems] == ["B::two"]


def test_a_report_of_an_earlier_run_is_not_this_runs_and_is_there_again_afterwards(lab: Lab) -> None:
    old = lab.path("build/x/old.xml")
    old.parent.mkdir(parents=True)
    old.write_text(PASSED)
    found = finding(lab, "test ! -e build/x/old.xml")
    assert found.status == "error"
    assert "exited 0 without a test report (build/**/*.xml, out.xml)" in found.summary
    assert old.read_text() == PASSED
    assert finding(lab, f"rm -r build; echo '{PASSED}' > out.xml").summary == "1/1 passed"
    assert old.read_text() == PASSED


@pytest.mark.parametrize("content", ["", "<testsuite><testcase name='a'>", "{}", "../link"])
def test_a_report_that_cannot_be_read_beside_a_good_one_is_an_error(lab: Lab, content: str) -> None:
    (lab.root.parent / "link").write_text(PASSED)
    second = f"ln -s {content} out.xml" if content == "../link" else f'printf "%s" "{content}" > out.xml'
    found = finding(lab, f"mkdir build; echo '{PASSED}' > build/1.xml; {second}")
    assert (found.status, "left a report that cannot be read" in found.summary) == ("error", True)


def test_a_linter_without_a_report_is_what_its_exit_code_says(lab: Lab) -> None:
    assert finding(lab, "true", "lint").status == "pass"
    assert finding(lab, "echo 'a.c:3: error: no'; false", "lint").status == "fail"


def test_a_build_tool_that_ignores_failed_tests_is_not_believed(lab: Lab) -> None:
    found = finding(lab, f"echo '{FAILED}' > out.xml")
    assert (found.status, found.summary) == ("fail", "it exited 0, but its own test report says 0/1 passed")
    assert [problem.test for problem in found.problems] == ["B::two"]
