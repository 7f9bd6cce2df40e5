"""Checks and criteria as a feature meets them: run on every tree, believed when green, taken back when not."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.lab import DONE_WHEN, LOG, SPEC, Lab

IN_PLACE = True
EACH_TIME = 'echo "$AIGON_ITERATION" > turn.txt\n'


def prompts(lab: Lab) -> list[str]:
    """What the agent was told, turn by turn."""
    return [path.read_text() for path in sorted(lab.path(".aigon/runs").glob("*/*/prompt.md"))]


def test_an_unchanged_tree_costs_no_second_run_and_what_checks_write_is_named(lab: Lab) -> None:
    counter = lab.home / "runs"
    lab.config(checks={"tests": {"command": f"echo . >> {counter}; echo data > coverage.xml"}}, proof="in-place")
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->", "All tests pass")
    lab.write(".gitignore", "coverage.xml\n")
    lab.commit("ignore")
    lab.agent("true")
    ran = lab.aigon("feature-implement", "42", "--loop", "--max-iterations", "2")
    assert ran.code == 3, ran.out + ran.err
    assert counter.read_text() == ".\n"
    assert [it["checks"][0]["cached"] for it in lab.state()["iterations"]] == [False, True, True]
    assert lab.boxes() == " x"


def test_what_a_check_writes_is_not_committed_with_the_iteration_it_judged(lab: Lab) -> None:
    lab.config(checks={"tests": {"command": "test ! -f done.txt || echo 1 > report-$(wc -l < turns.txt).xml"}})
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->", "All tests pass")
    lab.agent("echo x >> turns.txt; touch done.txt")
    ran = lab.aigon("feature-implement", "42", "--loop")
    assert ran.code == 0, ran.out + ran.err
    assert lab.git("show", "--format=", "--name-only", "HEAD").split() == [SPEC, LOG, "done.txt", "turns.txt"]
    assert lab.git("status", "--porcelain") == "?? report-1.xml"
    git = next(check for check in lab.state()["checks"] if check["role"] == "git")
    assert (git["status"], "report-1.xml" in git["summary"]) == ("pass", True)
    assert "report-1.xml" in lab.read(LOG)


def test_a_check_that_repairs_the_code_proves_only_the_repaired_code(lab: Lab) -> None:
    lab.config(checks={"lint": {"command": "if test -f done.txt; then echo good > done.txt; fi"}})
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->", "Lint is clean")
    lab.agent("test -f done.txt || echo bad > done.txt")
    ran = lab.aigon("feature-implement", "42", "--loop")
    assert ran.code == 0, ran.out + ran.err
    assert lab.git("show", "HEAD:done.txt") == "good"
    assert "changed files of the agent's: done.txt" in ran.out and len(prompts(lab)) == 1
    assert lab.git("status", "--porcelain") == ""
    lab.sound()


def test_a_check_that_changes_files_of_the_base_ends_the_run_before_a_turn(lab: Lab) -> None:
    changes = {"command": "date +%s%N >> README.md"}
    lab.config(checks={"lint": changes})
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->", "Lint is clean")
    lab.agent("touch done.txt")
    ran = lab.aigon("feature-implement", "42", "--loop")
    assert ran.code == 7 and "where: README.md" in ran.err and "--check" in ran.err, ran.err
    assert "changed files that git holds: README.md" in ran.out and prompts(lab) == []
    lab.git("restore", ".")
    lab.config(checks={"lint": {**changes, "writes": ["."]}}, proof={"isolation": "auto"})
    assert lab.aigon("feature-implement", "42", "--loop").code == 0
    assert lab.git("status", "--porcelain") == ""


def test_what_checks_leave_is_nobodys_work_until_somebody_changes_it(lab: Lab) -> None:
    leaves = "mkdir -p out; echo same > out/same.txt; date +%s%N > out/stamp.txt; test -f mine.txt || echo x > mine.txt"
    lab.config(checks={"lint": {"command": leaves}})
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->", "Lint is clean")
    lab.agent(
        """
        echo turn >> turns.txt; date +%s%N > out/stamp.txt
        test $AIGON_ITERATION = 1 || { echo mine > mine.txt; touch done.txt; }
        """
    )
    ran = lab.aigon("feature-implement", "42", "--loop", "--max-iterations", "1")
    assert ran.code == 3 and ran.out.count("does not ignore: mine.txt, out/") == 1, ran.out
    assert lab.git("diff", "--name-only", "main", "HEAD").split() == [".aigon/config.json", SPEC, LOG, "turns.txt"]
    ran = lab.aigon("feature-implement", "42", "--resume")
    assert ran.code == 0, ran.out + ran.err
    changed = lab.git("diff", "--name-only", "main", "HEAD").split()
    assert changed == [".aigon/config.json", SPEC, LOG, "done.txt", "mine.txt", "turns.txt"]
    assert lab.git("status", "--porcelain") == "?? out/"


def test_failures_of_the_base_are_told_as_such_and_a_new_one_is_not(lab: Lab) -> None:
    lab.config(
        checks={
            "old": {"command": "echo old$((1)) trouble; exit 1"},
            "new": {"command": "test ! -f turn.txt || { echo new$((1)) trouble; exit 1; }"},
        }
    )
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent(EACH_TIME)
    ran = lab.aigon("feature-implement", "42", "--loop", "--max-iterations", "2")
    assert ran.code == 3, ran.out + ran.err
    first, second = prompts(lab)
    assert "old1 trouble" in first and "new1 trouble" not in first
    old, new = (
        next(line for line in second.splitlines() if name in line and "##" in line) for name in ("(old)", "(new)")
    )
    assert "base" in old and "base" not in new, (old, new)
    assert all(f"{name}1 trouble" in second for name in ("old", "new"))
    assert "not passed" in second and "it is done" in second
    assert "Validation script (old) never passed, not even before the first turn. Run it: " in ran.out
    assert "known_failures: [old]" in ran.out and "(new) never passed" not in ran.out and "aigon doctor" in ran.out


def test_a_failure_that_the_spec_knows_of_may_stay_and_is_printed(lab: Lab) -> None:
    lab.config(checks={"old": {"command": "exit 1"}, "tests": {"command": "true"}}, ralph={"stopOnFirstFailure": True})
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->", frontmatter="---\nknown_failures: [old]\n---\n")
    lab.agent("touch done.txt")
    ran = lab.aigon("feature-implement", "42", "--loop")
    assert ran.code == 0, ran.out + ran.err
    assert "known failure: Validation script (old)" in ran.out
    assert "known failure" in lab.state()["stop_reason"]


def test_a_tick_that_no_longer_holds_is_taken_back_in_the_next_commit(lab: Lab) -> None:
    lab.spec("one <!-- verify: test -f one.txt -->", "two <!-- verify: test -f two.txt -->")
    lab.agent("case $AIGON_ITERATION in 1) touch one.txt;; 2) rm one.txt; touch two.txt;; 3) touch one.txt;; esac")
    ran = lab.aigon("feature-implement", "42", "--loop")
    assert ran.code == 0, ran.out + ran.err
    ticks = [
        "".join(line[3] for line in lab.git("show", f"HEAD~{n}:{SPEC}").splitlines() if line.startswith("- ["))
        for n in (2, 1, 0)
    ]
    assert ticks == ["x ", " x", "xx"]


def test_skipped_validation_is_said_everywhere_and_proves_only_what_stands_alone(lab: Lab, tmp_path: Path) -> None:
    lab.config(checks={"tests": {"command": f"touch {tmp_path}/ran"}})
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->", "it is long <!-- metric: wc -c < done.txt >= 3 -->")
    lab.agent("echo done > done.txt")
    ran = lab.aigon("feature-implement", "42", "--loop", "--skip-validation")
    assert ran.code == 0, ran.out + ran.err
    assert "Every criterion is proven on iteration 1; validation skipped" in ran.out
    assert lab.state()["validation_skipped"] is True and "validation skipped" in lab.state()["stop_reason"]
    assert "skipped" in lab.git("log", "-1", "--format=%(trailers:key=Aigon-Checks,valueonly)")
    assert not (tmp_path / "ran").exists()


def test_with_validation_skipped_a_criterion_bound_to_a_check_stays_open(lab: Lab) -> None:
    lab.config(checks={"tests": {"command": "true"}})
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->", "All tests pass")
    lab.agent("touch done.txt")
    ran = lab.aigon("feature-implement", "42", "--loop", "--skip-validation")
    assert ran.code == 4, ran.out + ran.err
    assert lab.boxes() == "x "
    assert "validation is skipped" in lab.state()["criteria"][1]["reason"]


def test_a_missing_tool_is_named_before_anything_is_done(lab: Lab) -> None:
    lab.config(checks={"lint": {"command": ["no-such-linter", "--strict"]}})
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent("touch done.txt")
    before = lab.fingerprint()
    for verb in (("feature-implement", "42", "--loop"), ("feature-validate", "42")):
        ran = lab.aigon(*verb)
        assert ran.code == 7, ran.out + ran.err
        assert "no-such-linter (for lint)" in ran.err and "Install no-such-linter" in ran.err
    assert lab.fingerprint() == before
    assert lab.aigon("feature-implement", "42", "--loop", "--skip-validation").code == 0


def test_a_final_check_runs_once_the_rest_is_green_and_decides_then(lab: Lab) -> None:
    counter = lab.home / "runs"
    lab.config(
        checks={
            "tests": {"command": "test -f done.txt"},
            "suite": {"command": f"echo . >> {counter}; test -f polished.txt", "when": "final"},
        },
        proof={"mode": "clean-room"},
    )
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent("case $AIGON_ITERATION in 2) touch done.txt;; 3) touch polished.txt;; *) echo x > x.txt;; esac")
    ran = lab.aigon("feature-implement", "42", "--loop")
    assert ran.code == 0, ran.out + ran.err
    suites = [next(c for c in it["checks"] if c["name"] == "suite") for it in lab.state()["iterations"]]
    assert [suite["status"] for suite in suites] == ["skipped", "skipped", "fail", "pass"]
    assert counter.read_text().count(".") == 3, "red, green, and once more in the clean room"


def test_a_criterion_whose_check_does_not_exist_is_said_before_the_first_turn(lab: Lab) -> None:
    lab.write(".aigon/validation.sh", "exit 0\n")
    lab.spec("it is tested <!-- check: links -->", "it builds <!-- check: build -->")
    lab.agent("true")
    ran = lab.aigon("feature-implement", "42", "--loop", "--max-iterations", "1")
    before = ran.out.partition("iteration 1 of")[0]
    assert "Criterion 1 needs a check 'links'" in before
    assert "Criterion 2 needs" not in before, "the script stands in for a role"


BACKEND = """\
import io, os, tarfile, zipfile
NAME = "sample-1"
def _litter(folder):
    os.makedirs(folder, exist_ok=True)
    open(folder + "/left.txt", "a").write("left")
def build_wheel(target, settings=None, metadata=None):
    _litter("build/lib")
    with zipfile.ZipFile(f"{target}/{NAME}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{NAME}.dist-info/METADATA", "Metadata-Version: 2.1\\nName: sample\\nVersion: 1\\n")
        wheel.writestr(f"{NAME}.dist-info/WHEEL", "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\n")
        wheel.writestr(f"{NAME}.dist-info/RECORD", "")
    return f"{NAME}-py3-none-any.whl"
def build_sdist(target, settings=None):
    _litter("sample.egg-info")
    with open("sample.egg-info/PKG-INFO", "w") as info:
        info.write("Metadata-Version: 2.1\\nName: sample\\nVersion: 1\\n")
    with tarfile.open(f"{target}/{NAME}.tar.gz", "w:gz") as sdist:
        for name in ("pyproject.toml", "backend.py"):
            sdist.add(name, f"{NAME}/{name}")
        sdist.add("sample.egg-info/PKG-INFO", f"{NAME}/PKG-INFO")
    return f"{NAME}.tar.gz"
"""
PYPROJECT = """\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "sample"
version = "1"
"""


def _leaves_no_trace(lab: Lab, *outputs: str) -> None:
    """Go the whole way with an agent whose first turn is not enough; only its files come into the branch."""
    lab.config(proof={"isolation": "auto"})
    lab.agent("echo x >> turns.txt; touch lib.py; test $(wc -l < turns.txt) -lt 2 || touch done.txt")
    lab.commit("a project")
    init = lab.aigon("init", "--no-commands")
    assert init.code == 0 and all(f"\n  {line}\n" in init.out for line in outputs), init.out
    lab.spec(f"it is done <!-- verify: python3 -c 'import lib' && {DONE_WHEN} -->")
    lab.commit("spec")
    assert "✅ Build" in lab.aigon("feature-validate", "42").out
    assert lab.git("status", "--porcelain") == ""
    ran = lab.aigon("feature-implement", "42", "--loop")
    assert ran.code == 0, ran.out + ran.err
    changed = lab.git("diff", "--name-only", "main", "HEAD").splitlines()
    assert changed == [SPEC, LOG, "done.txt", "lib.py", "turns.txt"]
    assert lab.git("status", "--porcelain") == "" and lab.state()["iteration"] == 2
    assert list((lab.home / "state").glob("repos/*/rooms/*")) == []


@pytest.mark.slow
def test_building_a_python_package_leaves_no_trace_where_nothing_is_ignored(lab: Lab) -> None:
    lab.write("pyproject.toml", PYPROJECT)
    lab.write("backend.py", BACKEND)
    _leaves_no_trace(lab, "__pycache__/", "build/", "*.egg-info/")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_building_an_npm_project_leaves_no_trace_and_finds_what_it_built_before(lab: Lab) -> None:
    build = (
        "echo changed > README.md; mkdir -p out; ls out | wc -l >> $SEEN; wc -l < turns.txt | xargs -I N touch out/N"
    )
    lab.write("package.json", json.dumps({"scripts": {"build": build}}))
    lab.write("turns.txt", "")
    lab.env["SEEN"] = str(lab.home / "seen")
    _leaves_no_trace(lab, "node_modules/")
    validated, base, rehearsed, first, second, proof = (lab.home / "seen").read_text().split()
    assert (validated, base, rehearsed, first, second, proof) == ("0", "0", "0", "1", "2", "0")


def test_a_check_runs_in_the_workspace_once_git_ignores_what_it_writes(lab: Lab) -> None:
    lab.config(checks={"build": {"command": "mkdir -p local && touch local/built", "writes": ["local/"]}}, proof={})
    lab.spec("it builds <!-- check: build -->")
    lab.commit("spec")
    assert lab.aigon("feature-validate", "42").code == 0 and not lab.path("local").exists()
    lab.write(".gitignore", "local/\n")
    assert lab.aigon("feature-validate", "42").code == 0 and lab.path("local/built").exists()


def test_a_feature_may_change_the_program_whose_output_its_criteria_compare(lab: Lab) -> None:
    lab.config(proof={"isolation": "auto"})
    lab.write("main.py", "import sys\n\nprint(int(sys.argv[1]) + int(sys.argv[2]))\n")
    lab.commit("a program")
    lab.spec(
        "it multiplies <!-- prints: python3 main.py 6 7 == 42 -->",
        'twos <!-- verify: test "$(python3 main.py 2 7)" = 14 -->',
        "eights <!-- verify: python3 main.py 8 8 | grep -qx 64 -->",
    )
    lab.agent("sed -i 's/ + / * /' main.py")
    ran = lab.aigon("feature-implement", "42", "--loop")
    assert ran.code == 0, ran.out + ran.err


@pytest.mark.parametrize("writes", [["."], ["out/"]], ids=["on a copy", "in the workspace"])
def test_commands_of_criteria_start_what_the_build_has_made(lab: Lab, writes: list[str]) -> None:
    lab.config(
        checks={
            "build": {"command": "mkdir -p out; cp greet.sh out/greet", "writes": writes},
            "tests": {"command": "sleep 0.1"},
        },
        proof={"isolation": "auto"},
    )
    lab.write("greet.sh", "echo hello\n")
    lab.write(".gitignore", "out/\n")
    lab.commit("a program")
    lab.spec(
        "it says goodbye <!-- prints: bash out/greet == goodbye -->",
        "it exits <!-- verify: bash out/greet | grep goodbye -->",
        "it is quick <!-- seconds: bash out/greet <= 60 -->",
    )
    lab.agent("echo 'echo goodbye' > greet.sh")
    ran = lab.aigon("feature-implement", "42", "--loop")
    assert ran.code == 0 and len(prompts(lab)) == 1, ran.out + ran.err
    assert "does not exist yet" not in ran.out
    proof = next(lab.path(".aigon/runs").glob("*/001/proof"))
    rooms = {log.parent.name: (log.parent / "build.log").exists() for log in proof.glob("*/criterion-*.log")}
    assert rooms["clean"] and not rooms["control-commands"]  # it has what was built there
    assert lab.git("status", "--porcelain") == ""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pre-commit", path=str(Path(sys.executable).parent)) is None, reason="no pre-commit")
def test_hooks_of_pre_commit_are_a_check_that_says_what_it_would_change(lab: Lab) -> None:
    hook = {"id": "end", "name": "end", "language": "system", "entry": "sed -i s/wrong/right/", "files": "txt$"}
    lab.write(".pre-commit-config.yaml", json.dumps({"repos": [{"repo": "local", "hooks": [hook]}]}))
    lab.write("a.txt", "wrong\n")
    lab.config(proof={"isolation": "auto"})
    lab.agent("sed -i s/wrong/right/ a.txt; touch done.txt")
    lab.commit("a project")
    init = lab.aigon("init", "--no-commands")
    assert "lint-pre-commit: pre-commit run --all-files" in init.out, init.out
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.commit("spec")
    ran = lab.aigon("feature-validate", "42")
    assert ran.code == 3 and "Lint (pre-commit)" in ran.out and "files were modified by this hook" in ran.out, ran.out
    assert lab.git("status", "--porcelain") == ""
    ran = lab.aigon("feature-implement", "42", "--loop")
    assert ran.code == 0, ran.out + ran.err
    [log] = lab.path(".aigon/runs").glob("*/000/lint-pre-commit.log")
    assert "\n-wrong\n+right\n" in log.read_text()


def test_a_criterion_that_names_a_command_is_decided_by_the_check_that_runs_it(lab: Lab) -> None:
    lab.write("check.sh", "test -f done.txt\n")
    lab.config(checks={"tests": {"command": "sh check.sh"}})
    lab.commit("a project")
    lab.spec(
        "`sh check.sh` passes", "no regressions", "`sh check.sh` passes and the page is quick", "by eye <!-- judge -->"
    )
    shown = lab.aigon("spec-show", "42")
    assert ["<check: tests>" in line for line in shown.out.splitlines()[1:5]] == [True, True, False, False]
    assert "<judge>" not in shown.out and shown.out.count("<a person>") == 2
    lab.agent("touch done.txt")
    ran = lab.aigon("feature-implement", "42", "--loop")
    assert ran.code == 4, ran.out + ran.err
    assert "criterion 1 passed" in ran.out and "criterion 2 passed" in ran.out
