"""pytest inside opaque commands leaves a report where nobody could know, and exit 0 has to be borne out by it."""

import sys
import textwrap

import pytest
from msgspec.structs import replace

from aigon.checks.execution import CRITERION
from aigon.job.results import Result
from aigon.job.world import CheckEnvironment
from aigon.model.checks import Check, Finding, TestCounts
from tests.compare.bench import job_of, looked, only, plan, ran, results_of, script, spec_of, world_of
from tests.lab import Lab

PYTEST = f"{sys.executable} -m pytest -p no:cacheprovider"
QUICK = {"PYTHONDONTWRITEBYTECODE": "1"}
PASSES = "def test_one():\n    pass\n\n\ndef test_two():\n    pass\n"
MIXED = """
    import pytest

    def test_good(): pass

    def test_bad(): assert 1 == 2

    @pytest.mark.parametrize("x", ["a/b", "../c d"])
    def test_each(x): pass

    @pytest.mark.skip
    def test_later(): pass

    @pytest.mark.xfail
    def test_known(): assert 0
"""
LEAVES = "import os\nprint('5 passed in 0.03s', flush=True)\nos._exit(0)\n"
LEAVES_AT_THE_END = "import atexit, os\natexit.register(os._exit, 0)\n"


def result(lab: Lab, check: Check, env: dict[str, str] | None = None) -> Result:
    with world_of(lab, QUICK | (env or {})) as world:
        (found,), _ = results_of(world, [check])
    return found


def opaque(lab: Lab, text: str = f"{PYTEST} -q", name: str = "check.sh") -> Check:
    """A validation script, whose words nobody reads."""
    path = lab.write(name, f"set -e\n{text}\n")
    return Check("script", "script", ("bash", str(path)), parser="text")


def verify(text: str = f"{PYTEST} -q") -> Check:
    """A criterion's own command."""
    return Check("criterion-1", "script", ("bash", "-c", text), source=CRITERION)


def tests(lab: Lab, text: str = PASSES, name: str = "test_it.py") -> None:
    lab.write(name, textwrap.dedent(text))


def said(finding: Finding) -> tuple[str, str]:
    return finding.status, finding.summary


def test_the_tests_of_an_opaque_command_are_known_one_by_one(lab: Lab) -> None:
    tests(lab, MIXED, "tests/test_mixed.py")
    found = result(lab, opaque(lab))
    assert found.reported and found.tests == {
        "tests.test_mixed::test_good": "passed",
        "tests.test_mixed::test_bad": "failed",
        "tests.test_mixed::test_each[a/b]": "passed",
        "tests.test_mixed::test_each[../c d]": "passed",
        "tests.test_mixed::test_later": "skipped",
        "tests.test_mixed::test_known": "skipped",
    }
    assert said(found.finding) == ("fail", "3/4 passed, 2 skipped")
    assert found.finding.counts == TestCounts(total=6, passed=3, failed=1, skipped=2)
    assert [(p.test, p.message) for p in found.finding.problems] == [("tests/test_mixed.py::test_bad", "assert 1 == 2")]
    assert "generated xml" not in found.finding.excerpt + found.output.decode()


def test_of_several_runs_in_one_script_each_is_known(lab: Lab) -> None:
    tests(lab, PASSES, "a/test_a.py")
    tests(lab, PASSES, "b/test_b.py")
    found = result(lab, opaque(lab, f"{PYTEST} a\n{PYTEST} b\n(cd b && {PYTEST} -q -k two)"))
    assert said(found.finding) == ("pass", "5/5 passed") and found.finding.counts == TestCounts(total=5, passed=5)
    assert {"a.test_a::test_one", "b.test_b::test_two"} <= set(found.tests)
    assert set(found.tests.values()) == {"passed"}


def test_product_code_that_ends_the_test_process_shows_no_test(lab: Lab) -> None:
    lab.write("calc.py", LEAVES)
    tests(lab, "import calc\n" + PASSES)
    for check in (verify(), verify(f"true && {PYTEST}"), Check("own", "tests", (sys.executable, "-m", "pytest"))):
        found = result(lab, check)
        assert said(found.finding)[0] == "error" and "without a test report" in found.finding.summary, check
        assert not found.reported
    profile = Check("tests", "tests", (sys.executable, "-m", "pytest", "--junitxml={report}"), parser="pytest")
    assert "without a readable report" in result(lab, profile).finding.summary
    hidden = result(lab, opaque(lab))
    assert (hidden.reported, hidden.tests) == (False, {}), "for a script it is the base that says what is missing"


def test_an_exit_code_that_its_own_report_contradicts_is_a_failure(lab: Lab) -> None:
    lab.write("calc.py", LEAVES_AT_THE_END)
    tests(lab, "import calc\n" + MIXED.replace("\n    ", "\n"))
    profile = Check("tests", "tests", (sys.executable, "-m", "pytest", "--junitxml={report}"), parser="pytest")
    for check in (verify(), profile):
        assert said(result(lab, check).finding) == (
            "fail",
            "it exited 0, but its own test report says 3/4 passed, 2 skipped",
        )
    tolerated = result(lab, verify(f"{PYTEST} || true"))
    assert tolerated.finding.status == "pass" and tolerated.tests["test_it::test_bad"] == "failed"


def test_exit_0_without_a_single_test_is_a_failure_however_it_came_about(lab: Lab) -> None:
    tests(lab)
    deselected = result(lab, opaque(lab, f"{PYTEST} -k nothing || true"))
    assert said(deselected.finding) == ("fail", "no tests collected") and deselected.reported
    lab.write("pytest.ini", "[pytest]\naddopts = --collect-only\n")
    for check in (
        opaque(lab),
        verify(),
        verify(f"{PYTEST} | tail -3"),
        opaque(lab, f"{PYTEST}; echo '5 passed in 1s'"),
    ):
        assert said(result(lab, check).finding) == ("fail", "no tests collected"), check
    lab.write("pytest.ini", "[pytest]\n")
    tests(lab, "import pytest\npytestmark = pytest.mark.skip\n" + PASSES)
    assert said(result(lab, verify()).finding) == ("fail", "0/0 passed, 2 skipped")


NO_TESTS = {
    "go": "ok  \tx/a\t0.002s [no tests to run]\nok  \tx/b\t0.003s [no tests to run]\n",
    "cargo": "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 4 filtered out; "
    "finished in 0.00s\n\n",
    "jest": "Test Suites: 1 skipped, 0 of 1 total\nTests:       3 skipped, 3 total\nSnapshots:   0 total\n"
    'Time:        0.3 s\nRan all test suites with tests matching "nothing".\n',
}
"""What runners print that exit 0 although a filter left no test."""
ONE_TEST = {
    "go": "ok  \tx/c\t0.002s\n",
    "cargo": "running 1 test\ntest one ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; "
    "0 filtered out; finished in 0.00s\n\n",
    "jest": "Test Suites: 1 passed, 1 total\nTests:       1 passed, 1 total\nSnapshots:   0 total\nTime:        0.3 s\n"
    "Ran all test suites.\n",
}


@pytest.mark.parametrize("runner", NO_TESTS)
def test_a_verify_command_whose_filter_leaves_no_test_shows_nothing(lab: Lab, runner: str) -> None:
    lab.write("none.txt", NO_TESTS[runner])
    lab.write("one.txt", NO_TESTS[runner] + ONE_TEST[runner])
    spec = spec_of("none <!-- verify: cat none.txt -->", "one <!-- verify: cat one.txt -->")
    with world_of(lab, QUICK) as world:
        assert [verdict.status for verdict in looked(world, job_of(spec)).verdicts] == ["unmet", "met"]


def test_a_command_that_only_lists_tests_may_run_none(lab: Lab) -> None:
    tests(lab)
    with world_of(lab, QUICK) as world:
        spec = spec_of(f"enough tests <!-- metric: {PYTEST} --collect-only -q | grep -c :: >= 2 -->")
        assert only(looked(world, job_of(spec))).status == "met"


def test_the_line_on_a_report_nobody_asked_for_is_not_the_last_line(lab: Lab) -> None:
    tests(lab)
    quiet = f"{PYTEST} --no-header --no-summary | sed '/ passed in /d;s/^[^-].*//;/^=/d'"
    found = result(lab, verify(f"echo 41 >&2; echo 42; {quiet}"))
    assert found.finding.status == "pass" and found.output.split() == [b"42"]


@pytest.mark.parametrize("way", ["rm -f {0}; mkdir {0}", "echo '<testsuites>' > {0}", ": > {0}", "ln -s /dev/zero {0}"])
def test_a_report_that_cannot_be_read_is_no_pass(lab: Lab, way: str) -> None:
    path = '$(python3 -c \'import os, shlex; print(shlex.split(os.environ["PYTEST_ADDOPTS"])[-1].split("=")[1])\')'
    found = result(lab, opaque(lab, f"path={path}\n" + way.format('"$path"')))
    assert found.finding.status == "error" and "cannot be read" in found.finding.summary
    assert not found.reported


def test_a_pytest_that_a_test_starts_is_not_one_of_the_check(lab: Lab) -> None:
    inner = f"{PYTEST} -q -p no:cacheprovider inner.py".split()
    lab.write("inner.py", "def test_inner():\n    assert 0\n")
    lab.write("conftest.py", 'pytest_plugins = "pytester"\n')
    tests(
        lab,
        f"""
        import subprocess

        def test_other_process():
            assert subprocess.run({inner}).returncode == 1

        def test_pytester(pytester):
            pytester.makepyfile("def test_x(): pass")
            pytester.runpytest_subprocess().assert_outcomes(passed=1)
            pytester.runpytest_inprocess().assert_outcomes(passed=1)
        """,
    )
    # A place of its own for what pytest keeps: it would clear away what other runs of it left for everybody.
    own = {"PYTEST_CURRENT_TEST": "of aigon's own tests (call)", "PYTEST_DEBUG_TEMPROOT": str(lab.home)}
    found = result(lab, opaque(lab), own)
    assert found.finding.status == "pass", found.finding.excerpt
    assert found.tests == {"test_it::test_other_process": "passed", "test_it::test_pytester": "passed"}


def test_a_project_without_the_report_plugin_works_as_before(lab: Lab) -> None:
    tests(lab)
    found = result(lab, opaque(lab, f"{PYTEST} -p no:junitxml"))
    assert (found.finding.status, found.reported) == ("pass", False)
    lab.write("pytest.ini", "[pytest]\naddopts = -p no:junitxml\n")
    assert result(lab, opaque(lab)).finding.status == "pass"
    lab.path("pytest.ini").unlink()
    own = result(lab, verify(f"{PYTEST} --junitxml=own.xml && test -s own.xml"))
    assert (own.finding.status, own.reported) == ("pass", False)


def test_the_options_of_the_person_stay(lab: Lab) -> None:
    tests(lab)
    found = result(lab, opaque(lab), {"PYTEST_ADDOPTS": "-k 'one or none'"})
    assert found.finding.status == "pass" and found.tests == {"test_it::test_one": "passed"}
    lab.write("Makefile", f"PYTEST_ADDOPTS += -k two\nexport PYTEST_ADDOPTS\ntest:\n\t{PYTEST}\n")
    made = result(lab, Check("tests", "tests", ("bash", "-c", "command -v make >/dev/null || exit 0; make test")))
    assert made.finding.status == "pass" and set(made.tests) <= {"test_it::test_two"}


def test_where_all_tests_pass_and_the_script_fails_its_last_words_are_told(lab: Lab) -> None:
    tests(lab)
    found = result(lab, opaque(lab, f"{PYTEST}\necho 'style.py:1: too long'; exit 3"))
    assert said(found.finding) == ("fail", "exit 3: style.py:1: too long")
    assert found.finding.counts == TestCounts(total=2, passed=2) and set(found.tests.values()) == {"passed"}


@pytest.mark.slow
def test_the_same_failure_has_the_same_name_in_every_run(lab: Lab) -> None:
    tests(lab, MIXED)
    for text in (PYTEST, f"{PYTEST} -k good; exit 3"):
        first, second = (result(lab, opaque(lab, text)).finding.fingerprints for _ in range(2))
        assert first == second and len(first) == 1


def test_a_criterion_says_which_test_failed(lab: Lab) -> None:
    tests(lab, MIXED)
    with world_of(lab, QUICK) as world:
        verdict = only(looked(world, job_of(spec_of(f"x <!-- verify: {PYTEST} -q -->"))))
    assert verdict.status == "unmet"
    assert verdict.reason == "3/4 passed, 2 skipped (test_it.py::test_bad: assert 1 == 2)"


def test_a_remembered_pass_keeps_its_tests_and_one_without_them_is_none(lab: Lab) -> None:
    tests(lab)
    check = opaque(lab)
    with world_of(lab, QUICK) as world:
        (first,), _ = results_of(world, [check])
        (second,), started = results_of(world, [check])
        assert second.finding.cached and not started
        assert (second.tests, second.reported) == (first.tests, True)
        (kept,) = (world.home / "cache").rglob("*.json")
        for old in ('"tests"', '"reported"'):
            text = kept.read_text()
            kept.write_text(text.replace(old, '"something"'))
            assert ran(world, [check])["script"].cached is False
            assert kept.read_text() != text.replace(old, '"something"')


def test_elsewhere_a_check_has_that_place_and_nothing_is_remembered(lab: Lab) -> None:
    other = lab.home / "other"
    other.mkdir()
    (other / "test_it.py").write_text(textwrap.dedent(MIXED))
    (other / "sub").mkdir()
    with world_of(lab, QUICK) as world:
        key = plan(world)
        place = CheckEnvironment(
            other, {**lab.env, **QUICK, "WHERE": "there"}, lambda argv, cwd, _: ["env", f"IN={cwd}", *argv], lab.home
        )
        there = replace(world, place=place)
        here = script("where", 'echo "$PWD $IN $WHERE $MODE"', cwd="sub", env={"MODE": "ci"})
        tested = script("tests", f"{PYTEST} -q {other}/test_it.py || true")
        (where, found), _ = results_of(there, [here, tested], key)
        assert where.output.decode().split() == [str(lab.home), f"{other}/sub", "there", "ci"]
        assert list(found.tests.values()).count("failed") == 1 and found.reported
        assert not (world.home / "cache").exists()
        assert ran(world, [script("where", "true")], key)["where"].cached is False
        assert (
            ran(replace(world, place=CheckEnvironment(other, lab.env)), [script("where", "true")], key)["where"].cached
            is False
        )
