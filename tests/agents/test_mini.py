"""mini-swe-agent's adapter: captured trajectories of version 2.4.6, and a stand-in program that leaves them."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from aigon.agents.adapters import find_adapter, mini
from aigon.agents.adapters._records import get_cost_status
from aigon.model.turns import Agent, ProgramExit, TurnReport, TurnRequest, Usage
from tests.agents.captured import NOW, exited, played
from tests.agents.turns import PROMPT, place

WROTE = "bash: cat > hello.txt <<'EOF_SCRIPTED' hello EOF_SCRIPTED"
QUOTA = "OpenAIException - You exceeded your current quota, please check your plan and billing details."


def seen(**fields: object) -> TurnReport:
    """A run that was turned away at its first call, but for `fields`."""
    return TurnReport(**{"model": "openai/gpt-4o", "cost": 0.0, "cost_status": "reported", **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("case", "code", "expected"),
    [
        (
            "ok",
            0,
            seen(
                end="finished",
                said="All done.",
                usage=Usage(3600, 120, 9000),
                cost=0.021450000000000004,
                tools=(WROTE, "bash: ls -1", "bash: echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"),
            ),
        ),
        (
            "401",
            1,
            seen(
                end="bad_credentials",
                detail="bad credentials (401): OpenAIException - Incorrect API key provided: sk-tes. You can "
                "permanently set your API key with `mini-extra config set KEY VALUE`.",
            ),
        ),
        ("quota", 1, seen(end="usage_limit", detail=f"usage limit (429): {QUOTA}")),
        (
            "429",  # after two good calls
            1,
            seen(
                end="overloaded",
                detail="overloaded (429): OpenAIException - Rate limit reached. Please try again in 20s.",
                said="Now list files.",
                usage=Usage(2400, 80, 6000),
                cost=0.014300000000000002,
                tools=(WROTE, "bash: ls -1"),
                resets_at=NOW + 20,
            ),
        ),
        (
            "no_tool",  # exits with 0
            0,
            seen(
                end="failed",
                detail="the model did not call a tool, again and again",
                said="I only talk.",
                usage=Usage(3600, 120, 9000),
                cost=0.021450000000000004,
            ),
        ),
    ],
)
def test_every_captured_trajectory_is_read(case: str, code: int, expected: TurnReport) -> None:
    assert mini.read_output(exited(f"mini_{case}", code)) == expected


def test_without_a_trajectory_the_screen_tells_how_it_ended_and_what_it_cost() -> None:
    whole = exited("mini_ok", report=False)
    expected = TurnReport("finished", "", "All done: hello.txt created.", cost=0.02, cost_status="reported")
    assert mini.read_output(whole) == expected
    step = "mini-swe-agent (step 1, $0.00):\nHi.\n\nExit:\n"
    limit = mini.read_output(ProgramExit(0, f"x\n{step}LimitsExceeded\nSaved trajectory to 'x'\n".encode()))
    assert (limit.end, limit.detail, limit.cost) == ("failed", "LimitsExceeded", None)
    error = f"x\n{step}litellm.AuthenticationError: bad \nkey\n".encode()
    assert mini.read_output(ProgramExit(1, error)).end == "bad_credentials"
    assert mini.read_output(ProgramExit(-9, error)).end is None
    assert mini.read_output(ProgramExit(1, b"", b"ValueError: No default model set\n")) == TurnReport()


def trajectory(exit_status: str, content: str = "", **info: object) -> bytes:
    stats = {"instance_cost": 0.5, "api_calls": 1}
    told = {"model_stats": stats, "exit_status": exit_status, "submission": "", **info}
    return json.dumps({"info": told, "messages": [{"role": "exit", "content": content}]}).encode()


@pytest.mark.parametrize(
    ("status", "content", "end", "detail"),
    [
        ("LimitsExceeded", "LimitsExceeded", "failed", "its limit of steps or of cost is reached"),
        ("TimeExceeded", "TimeExceeded", "failed", "its limit of time is reached"),
        ("InternalServerError", "litellm.InternalServerError: InternalServerError: x - Connection error.",
         "overloaded", "overloaded (500): x - Connection error."),
        ("BadRequestError", "litellm.BadRequestError: x - Your credit balance is too low", "usage_limit",
         "usage limit (400): x - Your credit balance is too low"),
        ("ContextWindowExceededError", "litellm.ContextWindowExceededError: too long", "failed", "too long"),
        ("OpenRouterRateLimitError", "Rate limit exceeded", "overloaded", "overloaded (429): Rate limit exceeded"),
        ("ValueError", "the agent said: 401 Unauthorized, usage limit reached", "failed",
         "ValueError: the agent said: 401 Unauthorized, usage limit reached"),
        ("", "", None, "stopped in the middle of its work"),
    ],
)  # fmt: skip
def test_the_name_of_the_exception_tells_how_it_ended(status: str, content: str, end: str, detail: str) -> None:
    found = mini.read_output(ProgramExit(1, report=trajectory(status, content)))
    assert (found.end, found.detail) == (end, detail)


def test_a_trajectory_that_is_cut_off_keeps_its_cost_and_what_is_whole_of_it() -> None:
    whole = exited("mini_429", 1)
    half = mini.read_output(replace(whole, report=whole.report[: len(whole.report) // 2]))
    assert (half.end, half.cost, half.tools) == ("overloaded", 0.014300000000000002, (WROTE,))
    assert half.usage == Usage(1200, 40, 3000)
    for end in range(0, len(whole.report), 97):
        mini.read_output(replace(whole, report=whole.report[:end]))


def test_the_cost_of_a_model_without_a_price_is_unknown() -> None:
    document = json.loads(exited("mini_ok").report)
    document["info"]["model_stats"]["instance_cost"] = 0.0
    found = mini.read_output(ProgramExit(0, report=json.dumps(document).encode()))
    assert (found.cost, get_cost_status(found.cost, found.cost_status), found.usage) == (
        None,
        "unknown",
        Usage(3600, 120, 9000),
    )


def test_what_the_model_says_is_no_error_of_the_run() -> None:
    words = "\nExit:\nlitellm.AuthenticationError: you have hit your usage limit\n"
    document = json.loads(exited("mini_ok").report)
    for message in document["messages"]:
        message["content"] = words if message["role"] == "assistant" else message["content"]
    found = mini.read_output(ProgramExit(0, words.encode(), words.encode(), report=json.dumps(document).encode()))
    assert (found.end, found.detail, found.said) == ("finished", "", words)


def test_it_gets_the_prompt_on_the_command_line_and_leaves_a_trajectory_file(tmp_path: Path) -> None:
    given = played(place(tmp_path), Agent("mine", "ms", model="openai/gpt-4o", args=("-c", "x.yaml")), "mini_ok")
    flags = ["--yolo", "--exit-immediately", "--model", "openai/gpt-4o", "--cost-limit", "0"]
    assert given.args[:6] == tuple(flags)
    assert given.args[6:11] == ("--output", given.ask.output_file, "-c", "x.yaml", "--task")
    assert "\n".join(given.args[11:]) == PROMPT
    assert given.stdin == ""
    assert {given.env[name] for name in ("LITELLM_LOCAL_MODEL_COST_MAP", "MSWEA_COST_TRACKING")} == {
        "True", "ignore_errors",
    }  # fmt: skip
    assert (given.turn.end, given.turn.cost, given.turn.said) == ("finished", 0.021450000000000004, "All done.")


def test_a_long_prompt_goes_by_its_file_and_a_budget_takes_the_place_of_no_limit(tmp_path: Path) -> None:
    given = played(place(tmp_path), Agent("mine", "mini"), "mini_quota", 1, prompt="x" * 100_001)
    assert given.args[-1].startswith(f"Your task is in the file {given.ask.prompt_file}.")
    assert (given.turn.end, given.turn.held) == ("usage_limit", True)
    ask: TurnRequest = replace(given.ask, budget=1.5)
    argv = find_adapter("mini").build_launch(Agent("mine", "mini"), ask).argv
    assert argv[argv.index("--cost-limit") : argv.index("--output")] == ("--cost-limit", "0", "--cost-limit", "1.50")
