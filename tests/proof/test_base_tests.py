"""The base's tests each have to be passed; a command that runs pytest by its own words has to leave a report."""

import pytest
from msgspec.structs import replace

from aigon.checks.evidence import read_pytest_request
from aigon.job.results import Result
from aigon.model.checks import Check, Finding, Problem, TestResult
from aigon.proof.base_tests import MOST, find_lost_tests, leave_out_files
from aigon.proof.bench import describe_lost

Tests = dict[str, TestResult]


def gone(base: Tests, now: Tests) -> list[tuple[str, str]]:
    return [(problem.test, problem.message) for problem in find_lost_tests(base, now, True, True)]


@pytest.mark.parametrize(
    ("script", "runs", "decides"),
    [
        ("pytest", True, True),
        ("python -m pytest -q tests", True, True),
        (".venv/bin/python3.12 -W error -I -m pytest", True, True),
        ("A=1 B='x y' env C=2 timeout -k 5 60s nice -n 5 py.test", True, True),
        ("uv run --with pytest-cov --python 3.12 pytest -q", True, True),
        ("poetry run python -m pytest", True, True),
        ("hatch run -- pytest", True, True),
        ("coverage run --source x -m pytest", True, True),
        ("cd sub && pytest -q && echo done", True, True),
        ("make build; pytest", True, True),
        ("# it's one\npytest -k 'a or \"b\"' \\\n  -q\n", True, True),
        ("pytest > out.txt 2>&1", True, True),
        ("pytest | tail -1", True, False),
        ("pytest; echo done", True, False),
        ("pytest -q\necho done", True, False),
        ("pytest || true", True, False),
        ("! pytest", True, False),
        ("x=$(pytest -q) && echo ok", True, False),
        ("(cd a && pytest)", True, False),
        ("test -f a || pytest", False, False),
        ("if [ -d tests ]; then pytest; fi", False, False),
        ("pytest &", False, False),
        ("exit 0; pytest", False, False),
        ("cat <<END\npytest\nEND", False, False),
        ("echo 'pytest", False, False),
        ("grep pytest requirements.txt", False, False),
        ("python -m pip install pytest", False, False),
        ("command -v pytest", False, False),
        ("env -i pytest", False, False),
        ("docker run app pytest", False, False),
        ("tox -- pytest", False, False),
        ("python run.py -m pytest", False, False),
        ("python -c 'import pytest'", False, False),
        ("pytest --version && pytest --help", False, False),
        ("pytest --junitxml=mine.xml", False, False),
        ("pytest -p no:junitxml", False, False),
        ("PYTEST_ADDOPTS=-q pytest", False, False),
        ("./pytest.sh", False, False),
        ("", False, False),
    ],
)
def test_a_command_runs_pytest_where_its_own_words_say_so(script: str, runs: bool, decides: bool) -> None:
    found = read_pytest_request(("bash", "-c", script))
    assert (found.runs, found.decides) == (runs, decides)
    assert read_pytest_request(("bash", "-c", script)).runs is runs


def test_a_command_line_needs_no_shell() -> None:
    assert (
        read_pytest_request(("/venv/bin/pytest", "-q")).decides
        and read_pytest_request(("/venv/bin/python", "-m", "pytest")).decides
    )
    for opaque in (("make", "test"), ("bash", "check.sh"), ("/x/check.sh",), ("bash", "-l"), ()):
        assert not read_pytest_request(opaque).runs


def test_under_a_shell_that_stops_at_the_first_failure_every_line_decides() -> None:
    assert read_pytest_request(("bash", "-e", "-c", "pytest\nruff check\n")).decides
    assert read_pytest_request(("bash", "-euc", "pytest; ruff check")).decides
    assert not read_pytest_request(("bash", "-e", "-c", "pytest && echo ok\nruff check\n")).decides


def test_who_only_asks_for_a_list_of_tests_gets_one() -> None:
    assert read_pytest_request(("bash", "-c", "pytest --collect-only -q | wc -l")).lists
    assert not read_pytest_request(("bash", "-c", "pytest --co && pytest")).lists


def test_a_test_of_the_base_that_is_not_passed_is_named_with_what_became_of_it() -> None:
    base: Tests = {"a::gone": "passed", "a::red": "failed", "a::skip": "passed", "a::bad": "passed", "a::x": "error"}
    base |= {"a::off": "skipped", "a::fine": "failed", "b::renamed": "failed"}
    now: Tests = {"a::skip": "skipped", "a::bad": "failed", "a::x": "error", "a::fine": "passed", "a::new": "failed"}
    assert gone(base, now) == [
        ("a::gone", "it was in the base and is gone"),
        ("a::red", "it was in the base and is gone"),
        ("b::renamed", "it was in the base and is gone"),
        ("a::skip", "it ran in the base and is skipped now"),
        ("a::bad", "it was in the base and fails"),
        ("a::x", "it was in the base and could not run to its end"),
    ]


def test_a_run_with_everything_passed_and_more_has_lost_nothing() -> None:
    base: Tests = {"a::b": "failed", "a::c": "passed", "a::d": "skipped"}
    assert find_lost_tests(base, {"a::b": "passed", "a::c": "passed", "new::e": "failed"}, True, True) == ()


def test_without_a_report_now_nothing_shows_that_anything_ran() -> None:
    (problem,) = find_lost_tests({"a::b": "passed", "a::c": "skipped"}, {}, True, False)
    assert "a report with 1 test" in problem.message and "none" in problem.message
    assert find_lost_tests({}, {}, False, False) == () and find_lost_tests({"a::b": "skipped"}, {}, True, False) == ()


def test_what_broke_in_place_of_its_tests_is_whole_once_they_are_there() -> None:
    base: Tests = {"tests.test_m": "error", "sum.test.js": "failed", "tests.gone": "error"}
    now: Tests = {"tests.test_m.TestX::test_y": "passed", "sum.test.js::adds": "passed"}
    assert gone(base, now) == [("tests.gone", "it was in the base and is gone")]


def test_a_file_that_is_gone_is_one_problem_and_a_flood_is_cut() -> None:
    base: Tests = dict.fromkeys([*(f"tests.a::t{n}" for n in range(9)), "tests.b::one"], "passed")
    assert gone(base, {}) == [
        ("tests.a", "its 9 tests were in the base and are gone"),
        ("tests.b::one", "it was in the base and is gone"),
    ]
    many: Tests = {f"m::t{n:04}": "passed" for n in range(MOST + 30)}
    now: Tests = dict.fromkeys(many, "failed")
    problems = find_lost_tests(many, now, True, True)
    assert len(problems) == MOST + 1
    assert problems[-1] == Problem("30 tests of the base more, missing, skipped or failing")


def test_tests_of_files_that_may_change_can_be_left_out() -> None:
    base: Tests = {"tests.test_cli::a": "passed", "tests.test_cli.TestX::b": "passed", "tests.test_cli2::c": "passed"}
    base |= {"web/sum.test.js::d": "passed", "sum.test.js::e": "passed", "other::f": "passed"}
    kept = leave_out_files(base, ["tests/test_cli.py", "web/sum.test.js"])
    assert set(kept) == {"tests.test_cli2::c", "other::f"}
    assert set(leave_out_files({"tests.test_a::x": "passed"}, ["backend/tests/test_a.py"])) == set()


def test_what_kept_the_tests_of_the_base_from_running_comes_first() -> None:
    check = Check("tests", "tests", ("pytest",))
    lost = find_lost_tests({"a::one": "passed", "b::one": "passed"}, {}, True, True)
    broken = Problem("ImportError: cannot import name 'total'", "/usr/lib/python3/x.py", 9, test="b")
    failed = Result(Finding("tests", "tests", "Tests", "fail", "1 error", problems=(broken,)))
    said = describe_lost(check, lost, failed).summary
    assert said == "Tests: b: ImportError: cannot import name 'total', and 1 more"
    long = replace(failed, finding=replace(failed.finding, problems=(replace(broken, message="E " * 500),)))
    assert len(describe_lost(check, lost, long).summary) < 170
    passed = Result(Finding("tests", "tests", "Tests", "pass", "3/3 passed"))
    assert describe_lost(check, lost[:1], passed).summary == "Tests: a::one: it was in the base and is gone"
