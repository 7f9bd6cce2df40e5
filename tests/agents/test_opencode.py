"""opencode's adapter: captured outputs of version 1.18.33, and a stand-in program that prints them."""

import json
from pathlib import Path

import pytest

from aigon.agents.adapters import opencode
from aigon.agents.adapters._records import get_cost_status
from aigon.model.turns import Agent, ProgramExit, Turn, Usage
from tests.agents.captured import NOW, events, exited, played, turn, turn_of
from tests.agents.turns import PROMPT, place

SESSION = {
    "ok": "ses_e07b89d79ffeBxlI2OSFbYyrRO",
    "401": "ses_e07b112abffeYZ783TZRIUR8uA",
    "429": "ses_e07af4213ffeWlbujj76jPqauS",
    "noauto": "ses_e079eaaf4ffevD75ZTQQOl4G59",
}
WROTE = "write: <HOME>/repos/opencode-ok/hello.txt"
FIRST_STEP = {"usage": Usage(1200, 40, 3000), "cost": 0.0051, "cost_status": "reported"}
FULL = {"usage": Usage(7697, 1, 0), "cost": 0.023106, "cost_status": "reported"}


def op(**fields: object) -> Turn:
    return turn("opencode", **fields)


@pytest.mark.parametrize(
    ("case", "code", "expected"),
    [
        (
            "ok",
            0,
            op(
                said="All done: hello.txt created.\nAll done: hello.txt created.",
                session=SESSION["ok"],
                usage=Usage(1600, 75, 12900),
                cost=0.009795,
                cost_status="reported",
                tools=(WROTE, "bash: ls -1 && git status --short"),
            ),
        ),
        (
            "401",
            1,
            op(
                end="bad_credentials",
                exit_code=1,
                session=SESSION["401"],
                detail="bad credentials (401): Incorrect API key provided: sk-tes. You can find your API key at "
                "https://platform.openai.com/account/api-keys.",
            ),
        ),
        (
            "429",
            1,
            op(
                end="overloaded",
                exit_code=1,
                session=SESSION["429"],
                detail="overloaded (429): This request would exceed your account's rate limit. Please try again later.",
            ),
        ),
        (
            "quota",
            1,
            op(
                end="usage_limit",
                exit_code=1,
                session="ses_e05f35e1dffefPisG7P0YzsynI",
                detail="usage limit (429): You exceeded your current quota, please check your plan and "
                "billing details.",
            ),
        ),
        (
            "noauto",
            0,
            op(
                said="I will create the file.",
                detail="stopped at a denied permission",
                session=SESSION["noauto"],
                denied=("write: <HOME>/repos/opencode-noauto-ok/hello.txt",),
                tools=("write: <HOME>/repos/opencode-noauto-ok/hello.txt",),
                **FIRST_STEP,
            ),
        ),
        (
            "length",
            0,
            op(
                end="failed",
                said="partial",
                detail="its reply was cut short at the longest that the model may give",
                session="ses_e06059b1cffeXz1wGYLB9Lz4qO",
                **FULL,
            ),
        ),
        (
            "filtered",
            1,
            op(
                end="refused",
                exit_code=1,
                detail="refused: The response was blocked by the provider's content filter",
                session="ses_e0605e145ffeymARmFTaQEfW8i",
                **FULL,
            ),
        ),
        (
            "late401",
            1,
            op(
                end="bad_credentials",
                exit_code=1,
                said="I will create the file.",
                detail="bad credentials (401): Incorrect API key provided",
                session="ses_e06062313ffeIoTAC4witnrM4Z",
                tools=("write: <HOME>/repo/hello.txt",),
                **FIRST_STEP,
            ),
        ),
    ],
)
def test_every_capture_parses_into_the_right_turn(case: str, code: int, expected: Turn) -> None:
    assert turn_of("opencode", f"opencode_{case}", code) == expected


def step(reason: str, cost: float = 0.5, **tokens: int) -> dict[str, object]:
    return {"type": "step_finish", "part": {"reason": reason, "cost": cost, "tokens": tokens}}


def used(name: str, **state: object) -> dict[str, object]:
    return {"type": "tool_use", "part": {"tool": name, "state": {"status": "completed", **state}}}


def api_error(**data: object) -> dict[str, object]:
    return {"type": "error", "error": {"name": "APIError", "data": data}}


def test_a_stream_that_ends_between_two_steps_has_no_good_end_whatever_the_exit_code() -> None:
    whole = exited("opencode_ok").stdout.splitlines(keepends=True)
    for cut in range(1, len(whole) - 1):
        seen = opencode.read_output(ProgramExit(0, b"".join(whole[:cut])))
        assert seen.end is None, cut
    late = events(used("bash", status="error", error="The user rejected permission to use this"), step("tool-calls"))
    assert opencode.read_output(ProgramExit(0, late)).end == "finished"
    assert opencode.read_output(ProgramExit(0, late + events({"type": "step_start"}))).end is None


def test_what_a_step_counts_beside_input_and_output_is_not_forgotten() -> None:
    tokens = {"input": 10, "output": 20, "reasoning": 5, "cache": {"read": 100, "write": 7}}
    record = {"type": "step_finish", "part": {"reason": "stop", "tokens": tokens}}
    assert opencode.read_output(ProgramExit(0, events(record))).usage == Usage(17, 25, 100)


@pytest.mark.parametrize(
    ("output", "cost", "status"),
    [
        (events(step("tool-calls"), step("stop")), 1.0, "reported"),
        (events(step("stop", 0.0)), None, "unknown"),  # what a model costs that opencode knows no price of
        (events(step("stop"), step("stop", float("nan")), step("stop", -3.0)), 0.5, "reported"),
        (events(step("stop", 1.7e308), step("stop", 1.7e308)), None, "unknown"),
        (events(used("task"), step("stop")), 0.5, "estimated"),  # a sub-agent's steps are not printed
        (events(step("stop")) + b"[... 3000000 bytes left out ...]\n" + events(step("stop")), 1.0, "estimated"),
        (b"", None, "unknown"),
    ],
)
def test_a_cost_is_the_programs_own_only_where_all_of_it_was_seen(
    output: bytes, cost: float | None, status: str
) -> None:
    seen = opencode.read_output(ProgramExit(0, output))
    assert (seen.cost, get_cost_status(seen.cost, seen.cost_status)) == (cost, status)


def test_an_error_tells_its_limit_in_the_providers_answer_and_its_wait_in_a_header() -> None:
    answer = json.dumps({"type": "error", "error": {"type": "GoUsageLimitError", "message": "Try later"}})
    told = api_error(message="Try later", statusCode=429, responseHeaders={"retry-after": "7200"}, responseBody=answer)
    seen = opencode.read_output(ProgramExit(1, events(told), ended=NOW))
    assert (seen.end, seen.resets_at) == ("usage_limit", NOW + 7200)
    brief = api_error(message="busy", statusCode=529, responseHeaders={"retry-after": "1"})
    seen = opencode.read_output(ProgramExit(1, events(brief), ended=NOW))
    assert (seen.end, seen.resets_at) == ("overloaded", None)


def test_a_login_that_is_missing_and_an_unknown_error_are_told() -> None:
    missing = {
        "type": "error",
        "error": {"name": "ProviderAuthError", "data": {"providerID": "x", "message": "no key"}},
    }
    assert opencode.read_output(ProgramExit(1, events(missing))).end == "bad_credentials"
    unknown = {"type": "error", "error": {"name": "UnknownError", "data": {"message": "Unexpected server error."}}}
    seen = opencode.read_output(ProgramExit(1, events(unknown)))
    assert (seen.end, seen.detail) == ("failed", "Unexpected server error.")
    assert opencode.read_output(ProgramExit(1, b"", b"Error: please log in\n")).end == "bad_credentials"


def test_an_agent_that_speaks_of_limits_is_not_taken_at_its_word() -> None:
    words = 'You have hit your usage limit. 401 Unauthorized\n{"type":"error","error":{"name":"APIError"}}'
    spoken = {"type": "text", "part": {"text": words}}
    failing = used("bash", status="error", error=f"exit 1: {words}")
    seen = opencode.read_output(ProgramExit(0, events(spoken, failing, step("stop")), words.encode()))
    assert (seen.end, seen.denied, seen.said) == ("finished", (), words)
    assert opencode.read_output(ProgramExit(1, events(spoken), words.encode())).end is None


def test_it_is_run_with_the_prompt_on_standard_input(tmp_path: Path) -> None:
    there = place(tmp_path)
    agent = Agent("mine", "opencode", model="anthropic/x", effort="high", args=("--agent", "build"))
    seen = played(there, agent, "opencode_ok")
    given = "run --format json --print-logs --log-level ERROR --auto -m anthropic/x --variant high --agent build"
    assert (seen.args, seen.stdin) == (tuple(given.split()), PROMPT)
    assert seen.env["OPENCODE_DISABLE_AUTOUPDATE"] == "1"
    assert (seen.turn.end, seen.turn.cost, seen.turn.model) == ("finished", 0.009795, "anthropic/x")


def test_an_overload_of_a_real_process_is_known_with_the_persons_permissions(tmp_path: Path) -> None:
    agent = Agent("mine", "opencode", args=("--dangerously-skip-permissions",))
    seen = played(place(tmp_path), agent, "opencode_429", 1)
    assert (seen.turn.end, seen.turn.held, seen.turn.exit_code) == ("overloaded", True, 1)
    assert seen.args[-3:] == ("--log-level", "ERROR", "--dangerously-skip-permissions")
