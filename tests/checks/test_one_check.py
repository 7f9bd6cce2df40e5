"""One check: the exit code decides, and a pass also needs something to have run."""

import sys
from pathlib import Path

import pytest

from aigon.checks.execution import render_command
from aigon.model.checks import Check
from tests.compare.bench import alive, plan, ran, results_of, script, world_of
from tests.lab import Lab, until

CAPTURES = Path(__file__).parent / "parsers" / "captures"
JUNIT = (
    '<testsuites><testsuite name="s" tests="{tests}" failures="{failures}" errors="0" skipped="{skipped}">'
    "{cases}</testsuite></testsuites>"
)
NODE = (
    r"printf 'x.js:1\nf()\n^\n\nTypeError: f is not a function\n    at run (node:x:1:9)\n\nNode.js v20.20.2\n'; exit 1"
)
CASE = '<testcase classname="test_a" name="test_{0}">{1}</testcase>'


def junit(passed: int = 0, failed: int = 0, skipped: int = 0) -> str:
    inner = [""] * passed + ['<failure message="no"/>'] * failed + ["<skipped/>"] * skipped
    cases = "".join(CASE.format(n, text) for n, text in enumerate(inner))
    return JUNIT.format(tests=len(inner), failures=failed, skipped=skipped, cases=cases)


def runner(report: str | None, code: int = 0, said: str = "") -> Check:
    """A test runner that writes this report and exits with `code`."""
    write = f"cat > $1 <<'END'\n{report}\nEND\n" if report is not None else ""
    command = f"{write}echo '{said}'\nexit {code}"
    return Check("tests", "tests", ("bash", "-c", command, "runner", "{report}"), parser="pytest")


@pytest.mark.parametrize(
    ("check", "status", "summary"),
    [
        (runner(junit(passed=2)), "pass", "2/2 passed"),
        (runner(junit(passed=1, failed=1), 1), "fail", "1/2 passed"),
        (runner(junit(passed=2), 1), "fail", "2/2 passed"),
        (runner(junit()), "fail", "no tests"),
        (runner(junit(skipped=2)), "fail", ""),
        (runner(None), "error", "without a readable report"),
        (runner(None, 0, "2 passed in 0.01s"), "error", "without a readable report"),
        (runner(None, 5, "no tests ran in 0.01s"), "fail", "no tests"),
        (runner("not xml at all", 1), "fail", "exit 1"),
    ],
)
def test_a_pass_needs_exit_0_a_report_and_a_test_that_ran(lab: Lab, check: Check, status: str, summary: str) -> None:
    with world_of(lab) as world:
        finding = ran(world, [check])["tests"]
    assert finding.status == status, finding.summary
    assert summary in finding.summary


CLAIM = "2 passed in 0.01s"


@pytest.mark.parametrize(
    "write",
    [
        ": > $1",
        "echo > $1",
        f"echo '{junit(passed=2)[:-20]}' > $1",
        f"echo '{junit(passed=2)}' > $1.x; ln -s $1.x $1",
        "mkdir $1",
        f"echo '{CLAIM}' > $1",
    ],
)
@pytest.mark.parametrize("parser", ["pytest", "jest", "vitest", "nodetest", "eslint"])
def test_exit_0_beside_a_report_that_nobody_can_read_is_an_error(lab: Lab, write: str, parser: str) -> None:
    role = "lint" if parser == "eslint" else "tests"
    for said in (f"echo '{CLAIM}'", "true"):
        argv = ("bash", "-c", f"{write}; {said}", "runner", "{report}")
        with world_of(lab) as world:
            found = ran(world, [Check(role, role, argv, parser=parser)])[role]  # type: ignore[arg-type]
        assert (found.status, "without a readable report" in found.summary) == ("error", True), found.summary


JEST = '{"numTotalTests": 1, "testResults": [{"name": "a", "assertionResults": [{"title": "t", "status": "passed"}]}]}'


@pytest.mark.parametrize(
    ("parser", "report", "summary"),
    [("eslint", "[]", "clean"), ("jest", JEST, "1/1 passed"), ("vitest", JEST, "1/1 passed"), ("jest", "{}", "")],
)
def test_exit_0_beside_a_report_that_can_be_read_is_a_pass(lab: Lab, parser: str, report: str, summary: str) -> None:
    role = "lint" if parser == "eslint" else "tests"
    argv = ("bash", "-c", f"echo '{report}' > $1; echo some words", "runner", "{report}")
    with world_of(lab) as world:
        found = ran(world, [Check(role, role, argv, parser=parser)])[role]  # type: ignore[arg-type]
    assert found.status == ("pass" if summary else "error") and summary in found.summary


def test_a_report_in_no_known_format_only_has_to_be_there(lab: Lab) -> None:
    for text, status in (("anything", "pass"), ("", "error")):
        argv = ("bash", "-c", f"printf '{text}' > $1", "runner", "{report}")
        with world_of(lab) as world:
            assert ran(world, [Check("own", "script", argv, parser="text")])["own"].status == status


def test_a_real_test_runner_without_tests_is_no_pass(lab: Lab) -> None:
    argv = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml={report}")
    with world_of(lab) as world:
        finding = ran(world, [Check("tests", "tests", argv, parser="pytest")])["tests"]
    assert (finding.status, finding.exit_code) == ("fail", 5)
    assert "no tests" in finding.summary


def test_an_opaque_command_is_decided_by_its_exit_code_and_has_no_count(lab: Lab) -> None:
    lab.write("test.sh", "echo 0 tests; exit $1\n")
    opaque = Check("tests", "tests", ("bash", "-c", "sh test.sh 0 || exit"), parser="text")
    with world_of(lab) as world:
        finding = ran(world, [opaque])["tests"]
    assert (finding.status, finding.counts, finding.summary) == ("pass", None, "passed")


@pytest.mark.parametrize(
    ("text", "status", "summary"),
    [
        ("echo broken >&2; exit 3", "fail", "exit 3: broken"),
        ("exit 1", "fail", "exit 1: no output"),
        ("no-such-tool --check", "error", "a command was not found (exit 127"),
        ("kill -9 $$", "fail", "exit -9"),
        (NODE, "fail", "exit 1: TypeError: f is not a function"),
    ],
)
def test_a_failure_says_how_it_ended(lab: Lab, text: str, status: str, summary: str) -> None:
    with world_of(lab) as world:
        finding = ran(world, [script("own", text)])["own"]
    assert finding.status == status and summary in finding.summary
    assert len(finding.fingerprints) == 1


def test_a_program_that_is_not_there_is_an_error_and_no_failure(lab: Lab) -> None:
    with world_of(lab) as world:
        finding = ran(world, [Check("own", "script", ("/no/such/program",))])["own"]
    assert finding.status == "error" and "did not start" in finding.summary


def test_a_missing_tool_is_named_with_how_to_get_it(lab: Lab) -> None:
    check = Check("lint", "lint", ("ruff", "check"), missing="ruff", hint="Install it: pip install ruff")
    with world_of(lab) as world:
        finding = ran(world, [check])["lint"]
    assert (finding.status, finding.summary) == ("error", "ruff is not installed. Install it: pip install ruff")


def test_a_deadline_ends_the_whole_group_and_is_an_error(lab: Lab, tmp_path: Path) -> None:
    text = f"sleep 300 & echo $! > {tmp_path}/child; echo $$ > {tmp_path}/leader; wait"
    with world_of(lab) as world:
        finding = ran(world, [script("stuck", text, timeout=0.5)])["stuck"]
    assert (finding.status, finding.summary) == ("error", "timed out after 0.5 s")
    pids = [int((tmp_path / name).read_text()) for name in ("leader", "child")]
    until(lambda: not any(alive(pid) for pid in pids), 5)


def test_what_a_check_leaves_in_the_background_does_not_outlive_it(lab: Lab, tmp_path: Path) -> None:
    with world_of(lab) as world:
        finding = ran(world, [script("server", f"sleep 300 & echo $! > {tmp_path}/child")])["server"]
    assert finding.status == "pass" and finding.duration < 30
    pid = int((tmp_path / "child").read_text())
    until(lambda: not alive(pid), 5)


def test_the_whole_output_is_in_a_file_of_its_own(lab: Lab) -> None:
    checks = [script("one", "seq 5000; echo err >&2; exit 1"), script("two", "echo two")]
    with world_of(lab) as world:
        found = ran(world, checks)
    assert Path(found["one"].log).read_text().split() == [*map(str, range(1, 5001)), "err"]
    assert Path(found["two"].log).read_text() == "two\n"
    assert found["one"].excerpt.endswith("4999\n5000\nerr") and len(found["one"].excerpt) <= 3000


def test_a_check_runs_in_its_folder_with_its_environment(lab: Lab) -> None:
    lab.write("web/x", "")
    check = script("own", 'echo "$PWD $MODE"', cwd="web", env={"MODE": "ci"})
    with world_of(lab) as world:
        (result,), _ = results_of(world, [check])
    assert result.output.decode().strip() == f"{lab.root}/web ci"


def test_a_remembered_pass_keeps_its_numbers(lab: Lab) -> None:
    with world_of(lab) as world:
        first = ran(world, [runner(junit(passed=2))])["tests"]
        second = ran(world, [runner(junit(passed=2))], plan(world))["tests"]
    assert second.cached and (second.counts, second.summary) == (first.counts, first.summary)


def test_half_a_file_in_the_memory_of_passes_is_no_pass(lab: Lab) -> None:
    check = script("own", "true")
    with world_of(lab) as world:
        ran(world, [check])
        (kept,) = (world.home / "cache").rglob("*.json")
        kept.write_bytes(kept.read_bytes()[:40])
        assert ran(world, [check])["own"].cached is False


@pytest.mark.parametrize(
    ("argv", "wanted"),
    [
        (("bash", "-c", "make test"), "make test"),
        (("/bin/bash", "-e", "-c", "a\nb"), "a\nb"),
        (("bash", "check.sh", "all"), "bash check.sh all"),
        (("env", "CI=1", "NODE_OPTIONS=--x={report}", "/bin/npm", "run", "test"), "npm run test"),
        (("tsc", "-b", "--tsBuildInfoFile", "{scratch}/x", "--pretty"), "tsc -b --pretty"),
        (("eslint", "--format", "json", "--output-file", "{report}", "."), "eslint --format json ."),
        (("/bin/bash", "-c", '"$1" test --out "$2"', "swift test", "/usr/bin/swift", "{scratch}"), "swift test"),
        (("/usr/bin/python3", "-m", "pytest", "--junitxml={report}"), "python3 -m pytest"),
        (("bash", "/x/.aigon/validation.sh"), "bash /x/.aigon/validation.sh"),
    ],
)
def test_a_command_is_shown_as_a_person_would_type_it(argv: tuple[str, ...], wanted: str) -> None:
    assert render_command(Check("x", "script", argv)) == wanted


def test_a_red_check_always_says_something(lab: Lab) -> None:
    check = Check("script", "script", ("bash", "-c", "echo 'error: no such thing'; exit 3"), parser="text")
    with world_of(lab) as world:
        finding = ran(world, [check])["script"]
    assert (finding.status, finding.summary) == ("fail", "exit 3: error: no such thing")


def test_a_runner_that_names_its_tests_only_in_print_is_held_to_what_it_printed(lab: Lab) -> None:
    def printing(name: str, code: int) -> Check:
        command = f"cat {CAPTURES / name}; exit {code}"
        return Check(f"{name}-{code}", "tests", ("bash", "-c", command), parser=name.partition("-")[0], remember=False)

    checks = [printing("cargotest-passed.txt", 0), printing("cargotest-failed.txt", 0)]
    with world_of(lab) as world:
        (green, ignored), _ = results_of(world, checks)
    assert green.finding.status == "pass"
    assert green.reported and "passed" in green.tests.values()
    assert ignored.finding.status == "fail"
    assert "it exited 0, but its own test report says" in ignored.finding.summary


def test_a_problem_names_its_file_as_the_project_does_wherever_the_check_runs(lab: Lab) -> None:
    lab.path("a b/c").mkdir(parents=True)
    named = ("x.py:3", "$PWD/y.py:4", "../../z.py:5", "/etc/w.py:6", f"{lab.root}/lib/v.py:7")
    lines = "; ".join(f"echo {place}: error: no" for place in named)
    check = script("types", f"{lines}; false", parser="mypy", cwd="a b/c")
    with world_of(lab) as world:
        found = ran(world, [check])["types"]
    places = [(problem.file, problem.line) for problem in found.problems]
    assert places == [("a b/c/x.py", 3), ("a b/c/y.py", 4), ("z.py", 5), ("/etc/w.py", 6), ("lib/v.py", 7)]
