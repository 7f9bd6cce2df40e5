"""What the settings of a spec do to a run: mode, stages, a kind's limit over resumes, a checklist."""

from tests.lab import SPEC, Lab
from tests.loop.processes import LOOP, RESUME

IN_PLACE = True
ONE_TURN = ("feature-implement", "42")
KEEP_PROMPT = 'cp "$AIGON_PROMPT_FILE" "$HOME/prompt-$AIGON_ITERATION"\n'


def test_the_mode_ralph_loops_without_a_flag_and_says_so(lab: Lab) -> None:
    lab.spec("done <!-- verify: test -f 2.txt -->", frontmatter="---\nmode: ralph\npromise: BUILT\n---\n")
    lab.agent("touch $AIGON_ITERATION.txt; echo '<promise>BUILT</promise>'")
    lab.config(proof="in-place")
    lab.commit("set up")
    ran = lab.aigon(*ONE_TURN)
    assert ran.code == 0, ran.out + ran.err
    assert "by `mode: ralph` in the spec: --loop, 15 iterations, at most 2h (flags go before it)" in ran.out
    assert [each["promises"] for each in lab.state()["iterations"]][1:] == [
        [{"text": "BUILT", "kept": False, "why": "not passed: criterion 1"}],
        [{"text": "BUILT", "kept": True, "why": ""}],
    ]


def test_a_prompt_names_the_criteria_of_the_current_stage_only(lab: Lab) -> None:
    stages = "---\nstages:\n  - {promise: FIRST_DONE, criteria: 2}\n  - criteria: [1]\n---\n"
    lab.spec("one\n  and more <!-- verify: test -f 2.txt -->", "two <!-- verify: test -f 1.txt -->",
             "three <!-- verify: test -f 3.txt -->", frontmatter=stages)  # fmt: skip
    lab.agent(KEEP_PROMPT + "touch $AIGON_ITERATION.txt; echo '<promise>FIRST_DONE</promise>'")
    lab.config(proof="in-place")
    lab.commit("set up")
    assert lab.aigon(*LOOP).code == 0
    prompts = [(lab.home / f"prompt-{number}").read_text() for number in (1, 2, 3)]
    for prompt, own, others in zip(prompts, ("two", "one", "three"), ("13", "23", "12"), strict=True):
        words = {"1": "one", "2": "two", "3": "three"}
        assert f". [failed] {own}" in prompt and f"- [ ] {own}" in prompt
        assert [word for number in others if f"] {(word := words[number])}" in prompt] == []
    assert "When the stage FIRST_DONE is reached" in prompts[0] and "COMPLETE</promise>" not in prompts[0]
    assert "FIRST_DONE" not in prompts[1].partition("COMPLETION CRITERIA")[2]


def test_a_kind_counts_iterations_over_resumes_until_a_flag_says_more(lab: Lab) -> None:
    lab.spec("never <!-- verify: false -->", frontmatter="---\nkind: build\n---\n")
    lab.agent("echo $AIGON_ITERATION >> work.txt")
    lab.config(proof="in-place", kinds={"build": {"iterations": 2}}, guards={"repeatedError": 0})
    lab.commit("set up")
    ran = lab.aigon(*LOOP)
    assert (ran.code, lab.read("work.txt")) == (3, "1\n2\n")
    used = "2 of 2 iterations of this build task are used; --max-iterations N goes on"
    assert used in " ".join(ran.out.split())
    assert "no criterion has what shows the success of a build task, such as <!-- check: tests -->" in ran.out
    again = lab.aigon(*RESUME)
    assert (again.code, lab.read("work.txt")) == (3, "1\n2\n")
    assert used in " ".join(again.out.split())
    assert "Next: aigon feature-implement 42 --resume --max-iterations N" in again.out
    assert lab.aigon(*RESUME, "--max-iterations", "1").code == 3
    assert lab.read("work.txt") == "1\n2\n3\n"


LAUNCH = "# Launch\n\n- [x] told the press\n- [ ] told friends\n\n```\n- [ ] not a box\n```\n"


def test_a_checklist_is_met_once_people_have_ticked_it(lab: Lab) -> None:
    lab.write("launch.md", LAUNCH)
    lab.spec("launched <!-- checklist: launch.md -->")
    lab.agent("touch done.txt")
    lab.commit("set up")
    assert lab.aigon(*LOOP, "--max-iterations", "1").code == 3
    found = lab.state()["criteria"][0]
    assert found["verdict"] == "unmet"
    assert found["reason"] == "1 of 2 boxes of launch.md not ticked, the first: told friends"
    lab.write("launch.md", LAUNCH.replace("[ ] told", "[x] told"))
    lab.commit("told them")
    assert lab.aigon(*RESUME).code == 0


def test_ticks_of_an_agent_in_a_checklist_are_a_review(lab: Lab) -> None:
    lab.write("launch.md", LAUNCH)
    lab.spec("launched <!-- checklist: launch.md -->")
    lab.agent("sed -i 's/\\[ \\] told/[x] told/' launch.md")
    lab.commit("set up")
    ran = lab.aigon(*LOOP)
    assert ran.code == 4, ran.out + ran.err
    assert "launch.md" in ran.out and "aigon approve 42 protected" in ran.out


def test_a_spec_with_bad_settings_starts_nothing(lab: Lab) -> None:
    lab.spec("done <!-- verify: test -f done.txt -->", frontmatter="---\nkind: biuld\n---\n")
    lab.agent("touch done.txt")
    lab.commit("set up")
    before = lab.fingerprint()
    ran = lab.aigon(*LOOP)
    assert (ran.code, lab.fingerprint()) == (2, before)
    assert f"{SPEC}: line 2" in ran.err and "Did you mean 'build'?" in ran.err


def test_a_dry_run_says_what_past_features_needed_and_what_is_missing(lab: Lab) -> None:
    lab.spec("done <!-- verify: test -f 2.txt -->", frontmatter="---\nkind: research\n---\n")
    other = "docs/specs/features/02-backlog/feature-43-more.md"
    lab.spec("more", name=other, frontmatter="---\nkind: research\ndepends_on: [42]\n---\n")
    lab.agent("touch $AIGON_ITERATION.txt")
    lab.config(proof="in-place")
    lab.commit("set up")
    assert lab.aigon(*LOOP).code == 0
    plan = lab.aigon("feature-implement", "43", "--loop", "--dry-run")
    assert plan.code == 0, plan.err
    assert "Past: 1 proven run of the kind research needed 2 iterations per criterion" in plan.out
    assert "Note: by `kind: research` in the spec: 5 iterations, at most 4h (flags go before it)" in plan.out
    assert "Note: this feature depends on feature 42, which is in the stage in-progress" in plan.out
    lab.spec("more", name=other, frontmatter="---\ndepends_on: [44]\n---\n")
    ran = lab.aigon("feature-implement", "43", "--loop", "--dry-run")
    assert ran.code == 2 and f"{other}: line 2" in ran.err and "There is no feature '44'" in ran.err
