"""The adapter of Cursor's CLI, which was never run here: records as its documentation has them, and a stand-in."""

from pathlib import Path

import pytest

from aigon.agents.adapters import cursor
from aigon.model.turns import Agent, ProgramExit, TurnReport
from tests.agents.captured import events, exited, played
from tests.agents.turns import PROMPT, place

SESSION = "c6b62c6f-7ead-4fd6-9922-e952131177ff"


def seen(**fields: object) -> TurnReport:
    return TurnReport(**{"end": "finished", "model": "Claude 4 Sonnet", "session": SESSION, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("case", "code", "expected"),
    [
        ("ok", 0, seen(said="All done.", tools=("write: hello.txt", "shell: ls -1"))),
        ("denied", 0, seen(said="I may not run the tests.", denied=("shell: npm test",), tools=("shell: npm test",))),
        ("cut", 1, seen(end=None, said="I will create the file.", tools=("write: hello.txt",))),
    ],
)
def test_records_as_documented_are_read(case: str, code: int, expected: TurnReport) -> None:
    assert cursor.read_output(exited(f"cursor_{case}", code)) == expected


@pytest.mark.parametrize(
    ("stderr", "end"),
    [
        (b"ActionRequiredError: You've hit your usage limit. Upgrade to Pro\n", "usage_limit"),
        (b"Retry attempt 1...\nError: 429 Too Many Requests\n", "overloaded"),
        (b"Error: Authentication required. Please run 'cursor-agent login' first\n", "bad_credentials"),
        (b"Error: the model of this name is not there\n", "failed"),
        (b"the usage limit of this project's tests is 3\n", None),
    ],
)
def test_a_run_that_fails_says_so_on_standard_error(stderr: bytes, end: str | None) -> None:
    begun = exited("cursor_cut").stdout
    assert cursor.read_output(ProgramExit(1, begun, stderr)).end == end
    assert cursor.read_output(ProgramExit(0, begun, stderr)).end is None
    assert cursor.read_output(ProgramExit(-15, begun, stderr)).end is None


def test_a_result_that_is_an_error_is_one() -> None:
    failed = events({"type": "result", "is_error": True, "result": "overloaded", "session_id": SESSION})
    assert (cursor.read_output(ProgramExit(0, failed)).end, cursor.read_output(ProgramExit(0, failed)).session) == (
        "overloaded",
        SESSION,
    )


def test_what_the_model_says_is_no_error_of_the_run() -> None:
    words = "Error: You've hit your usage limit"
    said = {"type": "assistant", "message": {"content": [{"type": "text", "text": words}]}}
    done = {"type": "result", "is_error": False, "result": words}
    assert cursor.read_output(ProgramExit(0, events(said, done))).end == "finished"
    assert cursor.read_output(ProgramExit(1, events(said))).end is None


def test_tools_without_a_name_of_their_own_are_told_by_their_function() -> None:
    call = {"type": "tool_call", "call_id": "1", "tool_call": {"function": {"name": "grep", "arguments": "TODO"}}}
    assert cursor.read_output(ProgramExit(0, events(call))).tools == ("grep: TODO",)


def test_it_is_run_with_the_prompt_on_standard_input(tmp_path: Path) -> None:
    given = played(place(tmp_path), Agent("mine", "cu", model="gpt-5", args=("--sandbox", "enabled")), "cursor_ok")
    flags = "-p --output-format stream-json --trust --force --model gpt-5 --sandbox enabled"
    assert (given.args, given.stdin) == (tuple(flags.split()), PROMPT)
    assert (given.turn.end, given.turn.cost, given.turn.cost_status) == ("finished", None, "unknown")


def test_a_person_who_wants_it_to_plan_gets_no_force(tmp_path: Path) -> None:
    given = played(place(tmp_path), Agent("mine", "cursor", args=("--mode=plan",)), "cursor_denied")
    assert "--force" not in given.args
    assert given.turn.denied == ("shell: npm test",)
