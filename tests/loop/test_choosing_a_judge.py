"""Who judges: the one that was named, the first that is ready, or nobody; and a program or an agent in a real loop."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from tests.judge.backends.test_agent import NOTES
from tests.lab import BRANCH, DONE_WHEN, Lab, Ran

IN_PLACE = True
SCRIPT = str(Path(__file__).parents[1] / "judge" / "backends" / "scripted.py")
WORKS = f"it works <!-- verify: {DONE_WHEN} -->"
OPEN = "it answers with forty-two"
WORK = "printf 'def answer(sixes=6):\\n    return sixes * 7\\n' > answer.py; touch done.txt"
NO_KEY = {"ANTHROPIC_API_KEY": "", "ANTHROPIC_AUTH_TOKEN": ""}


def project(lab: Lab, **judge: Any) -> None:
    """A feature with one open criterion and one check that is red until the agent has worked."""
    lab.spec(WORKS, OPEN)
    lab.config(checks={"tests": {"command": DONE_WHEN}}, proof="in-place")
    lab.agent(WORK)
    if judge:
        lab.config(judge=judge)


def looped(lab: Lab, *options: str, **env: str) -> Ran:
    return lab.aigon("feature-implement", "42", "--loop", *options, env={**NO_KEY, **env})


def claude(lab: Lab, name: str = "claude") -> dict[str, str]:
    """A stand-in for Claude Code that works when it has tools, and judges by quoting the second line of answer.py."""
    quote = {"source": "diff", "path": "answer.py", "line": 2, "text": "return sixes * 7"}
    decided = {"criterion": 2, "quotes": [quote], "missing": "", "reason": "6 * 7 is 42", "status": "met"}
    replies = {
        "decide": {"verdicts": [decided]},
        "refute": {"refutations": [{"criterion": 2, "quotes": [], "reason": "it stands", "refuted": False}]},
    }
    ending = {"type": "result", "is_error": False, "terminal_reason": "completed", "total_cost_usd": 0.01}
    for task, reply in replies.items():
        (lab.home / task).write_text(json.dumps({**ending, "result": f"```json\n{json.dumps(reply)}\n```"}) + "\n")
    (lab.home / "worked").write_text(json.dumps({**ending, "result": "Done."}) + "\n")
    program = lab.home / "bin" / name
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/bash\nif [[ "$*" != *--tools* ]]; then cat > /dev/null; {WORK}; cat "{lab.home}/worked"; exit; fi\n'
        f'{NOTES}grep -q refutations "$NOTES/stdin" && cat "{lab.home}/refute" || cat "{lab.home}/decide"\n'
    )
    program.chmod(0o755)
    return {"PATH": f"{program.parent}{os.pathsep}{lab.env['PATH']}", "NOTES": str(lab.home)}


def test_a_program_judges_what_no_command_decides(lab: Lab) -> None:
    project(lab, backend="command", command=[sys.executable, SCRIPT, "priced"])
    ran = looped(lab)
    assert ran.code == 0, ran.out + ran.err
    assert lab.boxes() == "xx"
    assert "judge: command (" in ran.out and "scripted.py priced) for 2" in ran.out
    state = lab.state()
    assert state["criteria"][1]["method"] == "judge"
    assert state["spend"]["usd"] == 0.04, "one call that decides and one that refutes"
    lab.sound()


def test_a_program_that_lies_or_fails_leaves_the_criterion_to_a_person(lab: Lab) -> None:
    project(lab, backend="command", command=[sys.executable, SCRIPT, "invented"])
    ran = looped(lab)
    assert ran.code == 4, ran.out + ran.err
    assert "is not there" in lab.state()["criteria"][1]["reason"]
    lab.config(judge={"command": [sys.executable, SCRIPT, "failing"]})
    lab.git("checkout", "-q", BRANCH)
    again = lab.aigon("feature-validate", "42")
    assert again.code != 0 and "exited with 3: no quota left" in again.out, again.out + again.err


def test_an_agent_that_works_with_a_subscription_judges_too_and_is_named(lab: Lab) -> None:
    project(lab)
    env = claude(lab)
    ran = looped(lab, "--agent", "claude", **env)
    assert ran.code == 0, ran.out + ran.err
    assert "judge: agent (claude-sonnet-5-5) for 2" in ran.out
    assert lab.boxes() == "xx" and lab.state()["criteria"][1]["method"] == "judge"
    assert str(lab.root) not in (lab.home / "cwd").read_text(), "it was asked where the work is"
    argv = (lab.home / "argv").read_text().split("\n")
    assert argv[argv.index("--model") + 1] == "claude-sonnet-5-5"
    lab.sound()


def test_a_judge_of_its_own_model_may_be_another_agent_than_the_one_that_works(lab: Lab) -> None:
    project(lab, backend="agent", agent="reviewer", model="opus")
    lab.config(agents={"reviewer": {"adapter": "claude", "env": {"REVIEWER": "yes"}, "args": ["--verbose"]}})
    ran = looped(lab, **claude(lab))
    assert ran.code == 0, ran.out + ran.err
    assert "judge: agent (opus) for 2" in ran.out
    assert "REVIEWER=yes" in (lab.home / "env").read_text().splitlines()


def test_where_no_judge_is_chosen_the_first_that_is_ready_is_taken(lab: Lab) -> None:
    project(lab)
    env = claude(lab)

    def judge(*options: str, **more: str) -> str:
        planned = lab.aigon("feature-implement", "42", "--dry-run", "--json", *options, env={**NO_KEY, **env, **more})
        assert planned.code == 0, planned.out + planned.err
        return str(planned.json["judge"])

    assert judge("--agent", "claude", ANTHROPIC_API_KEY="not-a-key") == "agent", "the agent goes before the API"
    assert judge(ANTHROPIC_API_KEY="not-a-key") == "anthropic", "the command agent has no read-only use"
    assert judge() == "none"
    assert judge("--agent", "claude", "--judge", "none") == "none"
    lab.config(judge={"model": "opus", "command": [sys.executable, SCRIPT, "yes"]})
    assert judge("--agent", "claude") == "command", "who gives a command wants it asked"


def test_a_judge_that_cannot_be_is_refused_before_anything_is_changed(lab: Lab) -> None:
    project(lab, backend="command")
    before = lab.fingerprint()

    def refused(code: int, *words: str) -> None:
        ran = looped(lab)
        assert ran.code == code, ran.out + ran.err
        assert [word for word in words if word not in ran.err] == [], ran.err
        assert lab.fingerprint() == before

    refused(2, "The judge command needs a command", "judge.command")
    lab.config(judge={"backend": "command", "command": "./no-such-judge"})
    before = lab.fingerprint()
    refused(6, "The judge command cannot be asked", "./no-such-judge was not found")
    lab.config(judge={"backend": "agent"})
    before = lab.fingerprint()
    refused(6, "The judge agent cannot be asked", "mine has no read-only use", "judge.agent")
    lab.config(judge={"backend": "agent", "agent": "cluade"})
    before = lab.fingerprint()
    refused(2, "There is no agent called 'cluade'", "judge.agent in .aigon/config.json")


def test_a_program_that_answers_in_another_format_ends_the_run_before_another_turn(lab: Lab) -> None:
    project(lab, backend="command", command=["sh", "-c", 'cat > /dev/null; echo \'{"verdicts": [{"id": 1}]}\''])
    ran = looped(lab)
    assert ran.code == 6, ran.out + ran.err
    assert "not in the format that was asked for" in ran.out and "docs/judges.md" in ran.out
    assert "iteration 2" not in ran.out
