"""Qwen Code's adapter: captured outputs of version 0.24.4, and a stand-in program that prints them."""

from pathlib import Path

import pytest

from aigon.agents.adapters import find_adapter, qwen
from aigon.model.turns import Agent, ProgramExit, Turn, Usage
from tests.agents.captured import NOW, events, exited, played, turn, turn_after, turn_of
from tests.agents.turns import PROMPT, place


def qw(**fields: object) -> Turn:
    return turn("qwen", **fields)


@pytest.mark.parametrize(
    ("case", "code", "expected"),
    [
        (
            "ok",
            0,
            qw(
                model="scripted",
                said="All done: hello.txt created.\nAll done: hello.txt created.",
                session="78b8df1d-a477-4a4f-bade-5dd29cf6dee8",
                usage=Usage(1600, 75, 12900),
                tools=(
                    "write_file: <HOME>/repos/qwen-ok/hello.txt",
                    "run_shell_command: ls -1 && git status --short",
                ),
            ),
        ),
        (
            "401",
            1,
            qw(
                end="bad_credentials",
                exit_code=1,
                model="scripted",
                session="dbd5f1f5-95f4-44c0-9b8f-6ae4d4b29b45",
                usage=Usage(),
                detail="bad credentials (401): 401 Incorrect API key provided: sk-tes.",
            ),
        ),
        (
            "late401",
            1,
            qw(
                end="bad_credentials",
                exit_code=1,
                model="scripted",
                said="I will create the file.",
                session="15e25118-2bb8-43e4-9310-9a0419b8414b",
                usage=Usage(1200, 40, 3000),
                detail="bad credentials (401): 401 Incorrect API key provided",
                tools=("write_file: <HOME>/repo/hello.txt",),
            ),
        ),
        (
            "cut",
            1,
            qw(
                end="unavailable",
                exit_code=1,
                model="scripted",
                said="cut mid-stream text that goes on",
                session="c73775fc-03ae-4498-8e8a-cc70f74b7c43",
                usage=Usage(),
                detail="no connection: Model stream ended without a finish reason.",
            ),
        ),
        (
            "nologin",
            1,
            qw(
                end="bad_credentials",
                exit_code=1,
                session="2359e4fc-e903-42ba-887b-a1fd7b0f0c38",
                usage=Usage(),
                detail="bad credentials: Missing API key for OpenAI-compatible auth. Set settings.security.auth.apiKey"
                ", or set the 'OPENAI_API_KEY' environment variable.",
            ),
        ),
        (
            "tool_failed",
            0,
            qw(
                model="scripted",
                said="It failed.",
                session="93dd7bc9-ad52-4e5c-994b-f177b54adade",
                usage=Usage(39341, 19, 0),
                tools=("run_shell_command: echo nope >&2; exit 3",),
            ),
        ),
    ],
)
def test_every_capture_parses_into_the_right_turn(case: str, code: int, expected: Turn) -> None:
    assert turn_of("qwen", f"qwen_{case}", code) == expected


def said(text: str, **more: object) -> dict[str, object]:
    return {"type": "assistant", "message": {"content": [{"type": "text", "text": text}], **more}}


def failed(message: str, subtype: str = "error_during_execution") -> dict[str, object]:
    return {"type": "result", "subtype": subtype, "is_error": True, "error": {"message": message}}


GOOD = {"type": "result", "subtype": "success", "is_error": False, "result": "Done."}


@pytest.mark.parametrize(
    ("message", "end", "wait"),
    [
        ("[API Error: 429 Too many requests]", "overloaded", None),
        ("[API Error: 429 quota exceeded. Please retry in 2 hours]", "usage_limit", 7200),
        ("Qwen OAuth quota exceeded: Your free daily quota has been reached.", "usage_limit", None),
        ("[API Error: 503 Service Unavailable]\nPlease wait and try again later.", "overloaded", None),
        ("Reached max session turns for this session.", "failed", None),
        ("", "failed", None),
    ],
)
def test_an_error_is_what_the_result_says_it_is(message: str, end: str, wait: float | None) -> None:
    seen = qwen.read_output(ProgramExit(1, events(failed(message)), ended=NOW))
    assert (seen.end, seen.resets_at) == (end, None if wait is None else NOW + wait)
    assert seen.detail


def test_a_result_decides_and_the_last_one_does() -> None:
    assert qwen.read_output(ProgramExit(0, events(failed("a sub-agent's error"), GOOD))).end == "finished"
    assert qwen.read_output(ProgramExit(0, events(GOOD | {"is_error": True}))).end == "failed"
    assert qwen.read_output(ProgramExit(0, events(GOOD | {"subtype": "error_max_turns"}))).detail == "error max turns"
    cut = b"".join(exited("qwen_ok").stdout.splitlines(keepends=True)[:-1])
    seen = qwen.read_output(ProgramExit(0, cut))
    assert (seen.end, seen.usage) == (None, Usage(1600, 75, 12900))


def test_denied_permissions_are_listed_once() -> None:
    denial = {"tool_name": "run_shell_command", "tool_use_id": "1", "tool_input": {"command": "npm publish"}}
    seen = turn_after("qwen", ProgramExit(0, events(GOOD | {"permission_denials": [denial, denial, 7]})))
    assert (seen.end, seen.denied) == ("finished", ("run_shell_command: npm publish",))


def test_an_agent_that_speaks_of_limits_is_not_taken_at_its_word() -> None:
    words = "[API Error: 429 quota exceeded] Please log in again"
    seen = qwen.read_output(ProgramExit(0, events(said(words), GOOD | {"result": words}), words.encode()))
    assert (seen.end, seen.detail, seen.said) == ("finished", "", words)
    assert qwen.read_output(ProgramExit(1, events(said(words)), words.encode())).end is None


def test_a_sub_agents_words_are_not_the_agents() -> None:
    other = said("inner") | {"parent_tool_use_id": "call_1"}
    assert qwen.read_output(ProgramExit(1, events(said("outer"), other, failed("boom")))).said == "outer"


def test_it_is_run_with_the_prompt_on_standard_input(tmp_path: Path) -> None:
    agent = Agent("mine", "qwen", model="big", args=("--auth-type", "anthropic"), env={"QWEN_HOME": str(tmp_path)})
    seen = played(place(tmp_path), agent, "qwen_ok")
    given = "-o stream-json --approval-mode yolo -m big --auth-type anthropic"
    assert (seen.args, seen.stdin) == (tuple(given.split()), PROMPT)
    assert seen.env["QWEN_CODE_SUPPRESS_YOLO_WARNING"] == "1"
    assert (seen.turn.end, seen.turn.usage) == ("finished", Usage(1600, 75, 12900))


def test_a_refused_key_of_a_real_process_is_known_with_the_persons_permissions(
    tmp_path: Path,
) -> None:
    agent = Agent("mine", "qwen", args=("-y",), env={"QWEN_HOME": str(tmp_path), "OPENAI_API_KEY": ""})
    seen = played(place(tmp_path), agent, "qwen_401", 1)
    assert (seen.turn.end, seen.args) == ("bad_credentials", ("-o", "stream-json", "-y"))


@pytest.mark.parametrize(
    ("key", "settings", "args", "last"),
    [
        ("sk-test", False, (), ("--auth-type", "openai")),
        ("sk-test", True, (), ("--approval-mode", "yolo")),
        ("", False, (), ("--approval-mode", "yolo")),
        ("sk-test", False, ("--auth-type=gemini",), ("yolo", "--auth-type=gemini")),
    ],
)
def test_a_key_without_settings_is_made_a_login(
    tmp_path: Path, key: str, settings: bool, args: tuple[str, ...], last: tuple[str, ...]
) -> None:
    if settings:
        (tmp_path / "settings.json").write_text("{}")
    agent = Agent("mine", "qwen", args=args, env={"QWEN_HOME": str(tmp_path), "OPENAI_API_KEY": key})
    assert find_adapter("qwen").build_launch(agent, place(tmp_path).ask()).argv[-2:] == last
