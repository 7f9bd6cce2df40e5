"""`aigon feature-eval`: candidates of real runs, compared on what aigon saw of each."""

import json
from typing import Any

import pytest

from tests.lab import DONE_WHEN, SPEC, Lab, finish, interrupt, until

PAGE = "docs/specs/features/evaluations/feature-42-eval.md"
EVAL = ("feature-eval", "42")
QUICK = ("--json", "--no-cross-checks", "--judge", "none")
TRIPLE = "triple works <!-- verify: python3 -B -c 'from calc import triple; assert triple(3) == 9' -->"
CALC = "def double(a):\n    return a * 2\n"
RUNNER = """\
printf '<testsuite>' > "$1"
for each in tests/test_*.py; do
    printf '<testcase classname="%s" name="works">' "$each" >> "$1"
    PYTHONPATH=. python3 -B "$each" || { printf '<failure message="red"/>' >> "$1"; bad=1; }
    printf '</testcase>' >> "$1"
done
printf '</testsuite>' >> "$1"
test -z "$bad"
"""
"""It reports as a test runner does, and costs much less than one."""
TESTS = {"command": ["sh", "tests/run.sh", "{report}"], "role": "tests", "parser": "junit"}
SMALL = r"""
printf 'def triple(a):\n    return a * 3\n' >> calc.py
printf 'from calc import triple\nassert triple(2) == 6\n' > tests/test_two.py
"""
LARGE = r"""
printf 'def triple(a):\n    total = 0\n    for n in range(3):\n        if n < 3 and a:\n' >> calc.py
printf '            total += a\n    if not total:\n        return 0\n    if total or a:\n' >> calc.py
printf '        return total\n' >> calc.py
printf 'from calc import triple\nassert triple(4) == 12\n' > tests/test_four.py
"""
CHEAT = r"""
printf 'def triple(a):\n    return 9\n' > calc.py
echo pass > tests/test_double.py
echo pass > tests/test_nothing.py
"""


def agents(lab: Lab, **scripts: str) -> None:
    """Several agents, each with a script of its own."""
    for name, script in scripts.items():
        lab.agent(script, name=name)


def run(lab: Lab, *names: str, iterations: int = 2) -> None:
    """Let each of the agents work in a worktree of its own, until its run has ended."""
    for name in names:
        line = ("feature-implement", "42", "--loop", "--worktree", "--max-iterations", str(iterations))
        ran = lab.aigon(*line, "--agent", name, timeout=100)
        assert ran.code in (0, 3, 4), ran.out + ran.err


def quick(lab: Lab, *names: str, criterion: str = f"done <!-- verify: {DONE_WHEN} -->", **scripts: str) -> None:
    """A project without tests whose agents have worked, proven in place."""
    lab.config(proof="in-place")
    lab.spec(criterion)
    agents(lab, **scripts)
    lab.commit("a project")
    run(lab, *(names or tuple(scripts)))


def evaluated(lab: Lab, *options: str, code: int) -> dict[str, Any]:
    """What the comparison says as data, without running tests across."""
    ran = lab.aigon(*EVAL, *QUICK, *options)
    assert ran.code == code, ran.out + ran.err
    found: dict[str, Any] = ran.json
    return found


def by_label(found: dict[str, Any]) -> dict[str, Any]:
    """The candidates by label."""
    return {each["label"]: each for each in found["candidates"]}


@pytest.mark.slow
def test_the_honest_smaller_one_wins_and_the_one_that_cheats_never_does(lab: Lab) -> None:
    lab.write("calc.py", CALC)
    lab.write("tests/run.sh", RUNNER)
    lab.write("tests/test_double.py", "from calc import double\nassert double(2) == 4\n")
    lab.spec(TRIPLE, "tests pass <!-- check: tests -->", frontmatter="---\npaths: [calc.py]\n---\n")
    lab.config(checks={"tests": TESTS})
    agents(lab, cheat=CHEAT, large=LARGE, small=SMALL)
    lab.commit("a project")
    run(lab, "small", "large", "cheat", iterations=1)
    lab.write("mine.txt", "a person's\n")
    stage = lab.git("ls-files", "docs/specs")

    ran = lab.aigon(*EVAL, "--judge", "none", timeout=110)
    assert ran.code == 0, ran.out + ran.err
    assert "Proposed: small" in ran.out and max(map(len, ran.out.splitlines())) <= 100
    page = lab.git("show", f"HEAD:{PAGE}")
    assert "**Proposed: small**" in page and "cheat does not pass the gates" in page, page
    assert "| Tests of | on small | on large | on cheat |" in page
    assert lab.subjects()[-1] == "docs(feature-42): evaluation of the arena"
    assert lab.git("show", "--format=", "--name-only", "HEAD") == PAGE
    assert lab.git("status", "--porcelain") == "?? mine.txt"
    assert lab.git("ls-files", "docs/specs") == f"{stage}\n{PAGE}", "the spec stays where it is"

    found = evaluated(lab, "--no-commit", code=0)
    one = by_label(found)
    assert found["order"]["places"][0] == ["small"] and found["order"]["places"][-1] == ["cheat"]
    assert {one["small"]["gates"][key]["result"] for key in one["small"]["gates"]} == {"pass"}
    assert one["cheat"]["gates"]["base-tests"]["result"] == "fail"
    assert one["small"]["change"]["source"]["added"] < one["large"]["change"]["source"]["added"]
    assert one["large"]["new_tests"]["red_on_base"] and one["large"]["change"]["branching"] > 3
    assert one["cheat"]["new_tests"]["green_on_base"] and one["small"]["change"]["outside"] == []


@pytest.mark.slow
def test_the_same_facts_make_no_second_commit_and_new_ones_do(lab: Lab) -> None:
    quick(lab, "one", "two", one="touch done.txt", two="touch done.txt; seq 50 > more.py", three="touch done.txt")
    first = evaluated(lab, code=0)
    assert first["proposal"]["winner"] == "one" and first["commit"] == lab.git("rev-parse", "HEAD")
    again = evaluated(lab, code=0)
    assert again["commit"] is None and again["path"] == PAGE
    assert lab.git("rev-parse", "HEAD") == first["commit"]
    run(lab, "three")
    assert evaluated(lab, code=4)["commit"] == lab.git("rev-parse", "HEAD") != first["commit"]


@pytest.mark.slow
def test_where_nobody_passes_the_gates_there_is_no_winner(lab: Lab) -> None:
    quick(lab, one="touch a", two="touch b")
    ran = lab.aigon(*EVAL, "--no-cross-checks", "--no-commit")
    assert ran.code == 3, ran.out + ran.err
    assert "Nobody: no candidate passes every gate" in ran.out and "0 of 1 passed" in ran.out
    assert not lab.path(PAGE).exists() and "Not written: --no-commit" in ran.out


@pytest.mark.slow
def test_equal_ones_are_a_tie_that_a_person_has_to_decide(lab: Lab) -> None:
    quick(lab, one="touch done.txt", two="touch done.txt")
    found = evaluated(lab, code=4)
    assert sorted(found["proposal"]["tied"]) == ["one", "two"] and found["proposal"]["winner"] == ""
    inside = lab.root.parent / "repo-worktrees"
    place = next(path for path in inside.iterdir() if path.is_dir())
    ran = lab.aigon(*EVAL, *QUICK, cwd=place)
    assert ran.code == 4 and ran.json["commit"] is None, "from a worktree it is the same comparison"


@pytest.mark.slow
def test_a_branch_that_was_changed_after_its_proof_does_not_win(lab: Lab) -> None:
    quick(lab, one="touch done.txt", two="touch done.txt; seq 50 > more.py")
    tip = lab.git("rev-parse", "feature-42-one-dark-mode")
    moved = lab.git("commit-tree", "-p", tip, "-m", "more", f"{tip}^{{tree}}")
    lab.git("update-ref", "refs/heads/feature-42-one-dark-mode", moved)
    found = evaluated(lab, code=0)
    assert found["proposal"]["winner"] == "two"
    assert "changed since it was assessed" in by_label(found)["one"]["gates"]["criteria"]["why"]


@pytest.mark.slow
def test_a_branch_that_is_gone_is_said_and_does_not_win(lab: Lab) -> None:
    quick(lab, one="touch done.txt", two="touch done.txt; seq 50 > more.py")
    lab.git("update-ref", "-d", "refs/heads/feature-42-one-dark-mode")
    found = evaluated(lab, code=0)
    assert found["proposal"]["winner"] == "two" and by_label(found)["one"]["change"] is None


@pytest.mark.slow
def test_while_one_still_runs_the_proposal_is_so_far(lab: Lab) -> None:
    hold = f"touch {lab.home}/working; until test -e {lab.home}/go; do sleep 0.05; done; touch done.txt"
    quick(lab, "one", one="touch done.txt; seq 50 > more.py", two=hold)
    process = lab.start("feature-implement", "42", "--loop", "--worktree", "--agent", "two")
    until(lambda: (lab.home / "working").exists())
    found = evaluated(lab, code=0)
    assert (found["proposal"]["winner"], found["proposal"]["so_far"]) == ("one", True)
    running = by_label(found)["two"]
    assert running["running"] and running["cost"]["usd"] is None and running["iterations"] == 0
    (lab.home / "go").touch()
    assert finish(process).code == 0
    after = evaluated(lab, code=0)
    assert (after["proposal"]["winner"], after["proposal"]["so_far"]) == ("two", False)


def test_before_any_run_it_says_what_to_do(lab: Lab) -> None:
    lab.spec("done <!-- verify: test -f done.txt -->")
    lab.commit("a project")
    ran = lab.aigon(*EVAL)
    assert ran.code == 2 and "Feature 42 has not run yet" in ran.err and "feature-implement 42 --loop" in ran.err
    ran = lab.aigon(*EVAL, "--judge", "nonsense")
    assert ran.code == 2 and "There is no judge backend called 'nonsense'" in ran.err


@pytest.mark.slow
def test_who_works_without_a_worktree_is_compared_with_nobody(lab: Lab) -> None:
    lab.config(proof="in-place")
    lab.spec(f"done <!-- verify: {DONE_WHEN} -->")
    lab.agent("touch done.txt")
    lab.commit("a project")
    assert lab.aigon("feature-implement", "42", "--loop").code == 0
    tip = lab.git("rev-parse", "HEAD")
    found = evaluated(lab, code=0)
    assert found["proposal"]["winner"] == "solo" and "not proven" in found["not_written"]
    assert lab.git("rev-parse", "HEAD") == tip, "a commit on top would undo the proof"
    lab.git("switch", "-q", "main")
    assert evaluated(lab, code=0)["commit"] == lab.git("rev-parse", "HEAD")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["merge", "edited"])
def test_what_a_person_has_under_way_is_left_alone(lab: Lab, how: str) -> None:
    quick(lab, one="touch done.txt")
    evaluated(lab, code=0)
    lab.write(PAGE, "my own words\n")
    if how == "merge":
        lab.git("checkout", "-q", "--", PAGE)
        lab.git("update-ref", "MERGE_HEAD", "HEAD")
    before = lab.fingerprint(), lab.read(PAGE)
    found = evaluated(lab, code=0)
    assert found["commit"] is None and ("merge" if how == "merge" else "not committed") in found["not_written"]
    assert (lab.fingerprint(), lab.read(PAGE)) == before


@pytest.mark.slow
def test_names_that_an_agent_chose_stay_names(lab: Lab) -> None:
    nasty = "x`|](y)<script>.py"
    quick(lab, one=f"touch done.txt '{nasty}'", two="touch done.txt", criterion=f"d <!-- verify: {DONE_WHEN} -->")
    spec = lab.read(SPEC)
    lab.write(SPEC, f"---\npaths: [done.txt]\n---\n{spec}")
    lab.commit("the expected area")
    found = evaluated(lab, code=0)
    assert found["proposal"]["winner"] == "two" and nasty in json.dumps(found)
    assert f"files outside the expected area: ``{nasty}``" in lab.git("show", f"HEAD:{PAGE}")


@pytest.mark.slow
def test_one_ctrl_c_ends_a_comparison_and_nothing_is_written(lab: Lab) -> None:
    hold = f"if test -e '{lab.home}/hold'; then touch '{lab.home}/held'; sleep 60; fi\n"
    lab.write("calc.py", CALC)
    lab.write("tests/run.sh", hold + RUNNER)
    lab.write("tests/test_double.py", "from calc import double\nassert double(2) == 4\n")
    lab.spec(TRIPLE)
    lab.config(checks={"tests": TESTS})
    agents(lab, small=SMALL)
    lab.commit("a project")
    run(lab, "small")
    (lab.home / "hold").touch()
    before = lab.fingerprint()
    process = lab.start(*EVAL)
    until(lambda: (lab.home / "held").exists())
    interrupt(process)
    ran = finish(process)
    assert ran.code == 130 and "nothing was written" in ran.err, ran.out + ran.err
    assert lab.fingerprint() == before
