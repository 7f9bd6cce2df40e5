"""`--dry-run`: everything that a run would do, and nothing done."""

import pytest

from aigon.isolation import sandbox
from tests.lab import BRANCH, DONE_WHEN, SPEC, Lab


def planned(lab: Lab) -> None:
    lab.spec(
        f"it is done <!-- verify: {DONE_WHEN} -->",
        "it is long <!-- metric: wc -c < done.txt >= 3 -->",
        "All tests pass",
        "it reads well <!-- human -->",
        "it is elegant",
        extra="## Validation\n\n```bash\ntest -d .\n```\n",
    )
    lab.config(checks={"tests": {"command": "make test", "timeout": "90s"}}, judge={"backend": "none"})
    lab.agent(f"touch {lab.home}/ran")


def test_the_plan_shows_checks_criteria_and_the_whole_first_prompt(lab: Lab) -> None:
    planned(lab)
    before = lab.fingerprint()
    single = lab.aigon("feature-implement", "42", "--dry-run")
    assert "Agent: mine, one turn of 1800 s at most (--loop for more)" in single.out
    ran = lab.aigon("feature-implement", "42", "--loop", "--dry-run", "--max-iterations", "7")
    assert ran.code == 0, ran.err
    for text in (
        f"Branch: {BRANCH}",
        "Agent: mine, up to 7 iterations of 1800 s",
        "Judge: none",
        "tests: make test  (.aigon/config.json, up to 90 s)",
        "spec: test -d .  (## Validation",
        "1. it is done\n     runs `test -f done.txt`, must exit 0",
        "its number must be >= 3",
        "check `tests` must pass",
        "a person (`aigon approve`)",
        "because there is no judge",
        "First prompt (about ",
        "  | # Iteration 1 of at most 7",
        "  | ## Rules",
        "Nothing was changed.",
    ):
        assert text in ran.out, text
    assert lab.fingerprint() == before
    assert not lab.path(".git/aigon").exists() and not (lab.home / "state").exists()
    assert not lab.path(".aigon/runs").exists() and not (lab.home / "ran").exists()


@pytest.mark.skipif(sandbox.choose_mechanism("auto", "open") == "none", reason="there is no sandbox here")
def test_the_plan_says_what_the_sandbox_grants_and_what_of_it_is_not_there(lab: Lab) -> None:
    planned(lab)
    (lab.home / "docs").mkdir()
    lab.config(sandbox={"read": ["~/docs", "~/dosc/", "$NOT_SET"], "write": ["../shared/"]})
    ran = lab.aigon("feature-implement", "42", "--dry-run", env={"AIGON_SANDBOX": "auto"})
    said = "; may write ../shared/; may read ~/docs, ~/dosc/, $NOT_SET; not there: ~/dosc, $NOT_SET"
    assert ran.code == 0 and said in ran.out, ran.out + ran.err
    assert not (lab.root.parent / "shared").exists()


def test_the_plan_as_data_is_what_a_run_then_does(lab: Lab) -> None:
    planned(lab)
    lab.write("Makefile", "test:\n\t@true\n")
    lab.commit("all there")
    plan = lab.aigon("feature-implement", "42", "--dry-run", "--json").json
    assert plan["schema_version"] == 1
    assert [(c["name"], c["role"]) for c in plan["checks"]] == [("tests", "tests"), ("spec", "script")]
    assert [c["kind"] for c in plan["criteria"]] == ["verify", "metric", "check", "human", "judge"]
    assert all(c["decided_by"] for c in plan["criteria"])
    assert (plan["spec"], plan["branch"], plan["agent"]["name"]) == (SPEC, BRANCH, "mine")
    assert len(plan["prompt"]) / plan["estimated_tokens"] > 1 and plan["prompt"].startswith(
        "# Iteration 1 of at most 1"
    )
    assert lab.aigon("feature-implement", "42").code == 3
    (prompt,) = lab.path(".aigon/runs").glob("*/001/prompt.md")
    told = prompt.read_text()
    for section in ("## The spec", "## The checks that run on your work", "## Rules"):
        assert _section(told, section) == _section(plan["prompt"], section), section
    assert "because there is no judge" in told


def _section(prompt: str, title: str) -> str:
    return prompt.split(f"{title}\n", 1)[1].split("\n## ", 1)[0].split("\nThe whole output", 1)[0].strip()


def test_a_plan_refuses_what_the_run_would_refuse(lab: Lab) -> None:
    planned(lab)
    lab.write("mine.txt", "not committed")
    before = lab.fingerprint()
    ran = lab.aigon("feature-implement", "42", "--loop", "--dry-run")
    assert ran.code == 7 and "mine.txt" in ran.err
    assert lab.fingerprint() == before
