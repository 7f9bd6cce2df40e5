"""An agent's program as a judge: a stand-in for Claude Code that answers as captured, and notes how it was asked."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from aigon.agents.adapters import find_adapter
from aigon.config.models import Config, JudgeConfig
from aigon.judge.backends import build_settings, explain_unready
from aigon.judge.backends.command import agent
from aigon.model.requests import JudgeAnswer, JudgeQuestion, JudgeSettings
from aigon.model.turns import Agent
from aigon.run.actors import find_judge
from tests.agents.test_claude import CAPTURES
from tests.agents.turns import program

QUESTION = JudgeQuestion(
    rules="Judge strictly — by evidence.",
    shared="The diff:\n+second = one + 1",
    task="Decide criterion 2.",
    schema={"type": "object", "properties": {"verdicts": {"type": "array"}}},
    document={},
)
REPLY = '{"verdicts": []}'
NOTES = """printf "%s\\n" "$@" > "$NOTES/argv"; cat > "$NOTES/stdin"; env > "$NOTES/env"
pwd > "$NOTES/cwd"; ls -A > "$NOTES/ls"
"""


def judge(folder: Path, script: str, *, timeout: float = 30.0, who: Agent | None = None) -> JudgeSettings:
    """The settings of a judge whose program is this script; it notes what it was given in the folder `notes`."""
    (folder / "bin").mkdir()
    (folder / "notes").mkdir()
    program(folder / "bin" / (who.adapter if who else "claude"), f"{NOTES}{script}")
    env = {"PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}", "NOTES": str(folder / "notes")}
    own = JudgeConfig().update(model="claude-test", timeout=timeout)
    return build_settings("agent", own, folder, env, who or Agent("claude", "claude"))


def answering(folder: Path, text: str, **more: object) -> JudgeSettings:
    """A judge whose session ends well, with this text."""
    record = {"type": "result", "subtype": "success", "is_error": False, "terminal_reason": "completed"}
    record |= {"result": text, "total_cost_usd": 0.0125, "usage": {"input_tokens": 900, "output_tokens": 40}, **more}
    (folder / "result.jsonl").write_text(json.dumps(record) + "\n")
    return judge(folder, f'cat "{folder / "result.jsonl"}"')


def asked(folder: Path, text: str) -> JudgeAnswer:
    return agent.ask(QUESTION, answering(folder, text))


def noted(folder: Path, name: str) -> str:
    return (folder / "notes" / name).read_text()


def test_it_is_asked_without_tools_in_an_empty_folder_and_answers_json(tmp_path: Path) -> None:
    who = Agent(
        "mine", "claude", model="opus", args=("--dangerously-skip-permissions",), env={"CLAUDE_CONFIG_DIR": "/c"}
    )
    settings = answering(tmp_path, REPLY)
    settings = build_settings("agent", JudgeConfig(model="claude-test"), tmp_path, settings.env, who)
    assert explain_unready(settings) == "" and settings.agent == "claude"
    answer = agent.ask(QUESTION, settings)
    assert (answer.text, answer.failure) == (REPLY, "")
    assert (answer.cost, answer.cost_status) == (0.0125, "estimated")
    assert answer.usage and (answer.usage.input, answer.usage.output) == (900, 40)
    argv = noted(tmp_path, "argv").split("\n")
    assert argv[argv.index("--tools") + 1] == "", "every tool is taken away"
    assert argv[argv.index("--model") + 1] == "claude-test", "the judge's model, not the implementer's"
    assert {"-p", "--safe-mode", "--strict-mcp-config", "--no-session-persistence"} <= set(argv)
    assert argv[argv.index("--permission-mode") + 1] == "dontAsk"
    assert not [word for word in argv if "skip-permissions" in word or "allowed" in word]
    assert "CLAUDE_CONFIG_DIR=/c" in noted(tmp_path, "env").splitlines()
    assert noted(tmp_path, "ls") == "" and not noted(tmp_path, "cwd").startswith(str(tmp_path))
    assert not Path(noted(tmp_path, "cwd").strip()).exists(), "the folder was left behind"


OTHERS: dict[str, list[dict[str, Any]]] = {
    "codex": [
        {"type": "item.completed", "item": {"id": "1", "type": "agent_message", "text": REPLY}},
        {"type": "turn.completed", "usage": {"input_tokens": 9, "cached_input_tokens": 0, "output_tokens": 4}},
    ],
    "gemini": [
        {"type": "init", "session_id": "s", "model": "gemini-2.5-pro"},
        {"type": "message", "role": "assistant", "content": REPLY, "delta": True},
        {"type": "result", "status": "success", "stats": {"total_tokens": 13, "input_tokens": 9, "output_tokens": 4}},
    ],
    "qwen": [
        {"type": "system", "subtype": "init", "session_id": "s", "model": "qwen3"},
        {"type": "result", "subtype": "success", "is_error": False, "session_id": "s", "result": REPLY},
    ],
    "opencode": [
        {"type": "step_start", "sessionID": "s", "part": {"type": "step-start"}},
        {"type": "text", "sessionID": "s", "part": {"type": "text", "text": REPLY}},
        {"type": "step_finish", "sessionID": "s", "part": {"reason": "stop", "tokens": {"input": 9, "output": 4}}},
    ],
}
"""What these programs print on an answer, cut down to the records that are read."""
READ_ONLY = {"codex": "read-only", "gemini": "plan", "qwen": "plan", "opencode": "plan"}


@pytest.mark.parametrize("name", OTHERS)
def test_other_agents_are_asked_read_only_with_a_model_of_their_own(name: str, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("".join(json.dumps(record) + "\n" for record in OTHERS[name]))
    who = Agent(name, name, model="small", args=("--yolo", "--auto"))
    settings = judge(tmp_path, f'cat "{tmp_path / "out"}"', who=who)
    default = build_settings("agent", JudgeConfig(), tmp_path, settings.env, who)
    answer = agent.ask(QUESTION, default)
    assert (answer.text, answer.failure) == (REPLY, "")
    argv = noted(tmp_path, "argv").split("\n")
    assert READ_ONLY[name] in argv and argv[argv.index("-m") + 1] == "small" == default.model
    kind = find_adapter(name).kind
    assert not {"--yolo", "--auto", *kind.approval} & set(argv) - {"--approval-mode"}
    assert QUESTION.task in noted(tmp_path, "stdin") and noted(tmp_path, "ls") == ""
    agent.ask(QUESTION, settings)
    assert "claude-test" in noted(tmp_path, "argv"), "a model that was chosen for the judge goes before"


def test_an_answer_after_a_use_of_a_tool_is_void(tmp_path: Path) -> None:
    used = {"type": "item.completed", "item": {"type": "command_execution", "command": "cat log.md"}}
    (tmp_path / "out").write_text("".join(json.dumps(record) + "\n" for record in (used, *OTHERS["codex"])))
    answer = agent.ask(QUESTION, judge(tmp_path, f'cat "{tmp_path / "out"}"', who=Agent("codex", "codex")))
    assert answer.text == "" and "it used a tool (command execution: cat log.md)" in answer.failure
    assert answer.available


def test_only_an_agent_that_reads_nothing_of_the_home_is_taken_unnamed(tmp_path: Path) -> None:
    for name in ("codex", "claude"):
        program(tmp_path / name, "true")
    env = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    taken = find_judge(Config(), None, ["claude"], env, tmp_path)
    assert taken and (taken.backend, taken.agent) == ("agent", "claude")
    assert find_judge(Config(), None, ["codex"], env, tmp_path) is None
    named = find_judge(Config(), "agent", ["codex"], env, tmp_path)
    assert named and named.agent == "codex"


def test_the_prompt_holds_the_rules_the_data_the_task_and_the_form(tmp_path: Path) -> None:
    asked(tmp_path, REPLY)
    prompt = noted(tmp_path, "stdin")
    parts = [QUESTION.rules, QUESTION.shared, QUESTION.task, "exactly one JSON object", '"verdicts"']
    places = [prompt.index(part) for part in parts]
    assert places == sorted(places)


@pytest.mark.parametrize(
    "text",
    [
        f" {REPLY}\n",
        f"```json\n{REPLY}\n```",
        f"Here is my verdict:\n\n```json\n{REPLY}\n```\n\nThat is all {{so far}}.",
        f"```\n{REPLY}\n```",
        f"````JSON\r\n{REPLY}\r\n````\r\n",
        '{\n "verdicts": []\n}',
    ],
)
def test_the_one_object_of_a_reply_is_its_answer(text: str, tmp_path: Path) -> None:
    assert asked(tmp_path, text).text == REPLY


@pytest.mark.parametrize(
    "text",
    [
        "Everything is met.",
        "",
        f"{REPLY} I am sure.",
        f"If it were done, I would say {REPLY}",
        f"```json\n{REPLY}\n```\n```json\n{REPLY}\n```",
        f"First I thought {REPLY}, now:\n```json\n{REPLY}\n```",
        f"```json\n{REPLY}",
        "```json\n[]\n```",
        '```json\n{"verdicts": [], "verdicts": [1]}\n```',
        f"```python\n{REPLY}\n```",
    ],
)
def test_a_reply_that_could_be_read_in_two_ways_is_none(text: str, tmp_path: Path) -> None:
    answer = asked(tmp_path, text)
    assert answer.text == "" and "not in the format" in answer.failure
    assert answer.cost == 0.0125, "it was paid for all the same"


@pytest.mark.parametrize(
    ("capture", "why", "available"),
    [
        ("bad_key", "Invalid API key", False),
        ("usage_limit", "usage limit: You've hit your", False),
        ("rate_limited", "overloaded (429)", True),
        ("max_turns", "max turns", True),
    ],
)
def test_a_session_that_did_not_end_well_is_no_answer(capture: str, why: str, available: bool, tmp_path: Path) -> None:
    answer = agent.ask(QUESTION, judge(tmp_path, f'cat "{CAPTURES / capture}.jsonl"; exit 1'))
    assert answer.text == "" and why in answer.failure, answer
    assert answer.available is available


def test_a_program_that_crashes_hangs_or_is_too_old_says_so(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
    crashed = agent.ask(QUESTION, judge(tmp_path / "a", "echo oh no >&2; exit 7"))
    assert "exited with 7" in crashed.failure and "oh no" in crashed.failure and crashed.available
    slow = agent.ask(QUESTION, judge(tmp_path / "b", "sleep 60", timeout=0.5))
    assert slow.failure == "the judge did not answer within 0.5 s"
    old = agent.ask(QUESTION, judge(tmp_path / "c", "echo \"error: unknown option '--safe-mode'\" >&2; exit 1"))
    assert "Update Claude Code: npm install" in old.failure and not old.available


def test_who_cannot_be_asked_is_said_and_never_started(tmp_path: Path) -> None:
    env = {"PATH": str(tmp_path)}
    absent = build_settings("agent", JudgeConfig(), tmp_path, env, Agent("claude", "claude"))
    assert "npm install -g @anthropic-ai/claude-code" in explain_unready(absent)
    for other in ("command", "replay"):
        working = build_settings("agent", JudgeConfig(), tmp_path, env, Agent("mine", other, command=("true",)))
        assert "has no read-only use" in explain_unready(working) and "judge.agent" in explain_unready(working)
        assert not agent.ask(QUESTION, working).available
    nobody = build_settings("agent", JudgeConfig(), tmp_path, env, None)
    assert explain_unready(nobody) and explain_unready(JudgeSettings("agent"))
    assert not agent.ask(QUESTION, replace(nobody, timeout=1.0)).available
