"""The built-in agent as an adapter: when it is ready, how it is started, what its records mean."""

import json

import pytest
from msgspec.structs import replace

from aigon.agents.adapters import find_adapter, find_type
from aigon.agents.adapters.api import read_output
from aigon.model.turns import Agent, ProgramExit, TurnRequest

AGENT = Agent("api", "api")
ASK = TurnRequest(2, "42", "run", "/w", "/c", "/w/spec.md", "/c/.aigon/runs/1/002/prompt.md")
CALL = {
    "type": "call",
    "model": "claude-sonnet-5-5",
    "input": 10,
    "output": 5,
    "cache_write": 3,
    "cache_read": 7,
    "cost": 0.25,
}


def exited(*records: object, code: int = 0) -> ProgramExit:
    """What a session left."""
    return ProgramExit(code, stdout="\n".join(json.dumps(record) for record in records).encode())


def test_it_is_ready_with_a_key_and_says_what_to_do_without_one() -> None:

    def find(_name: str) -> None:
        return None

    assert find_adapter("builtin").kind == find_type("api") == find_adapter("api").kind
    assert find_adapter("api").explain_unready(AGENT, find, {"ANTHROPIC_API_KEY": "k"}) == ""
    assert find_adapter("api").explain_unready(replace(AGENT, env={"ANTHROPIC_AUTH_TOKEN": "k"}), find, {}) == ""
    said = find_adapter("api").explain_unready(AGENT, find, {"ANTHROPIC_API_KEY": " "})
    assert "ANTHROPIC_API_KEY" in said and "export" in said


def test_it_is_started_as_a_program_of_its_own_with_places_model_effort_and_money() -> None:
    agent = replace(AGENT, model="claude-opus-5-5", effort="max", args=("--max-turns", "7"))
    launch = find_adapter("api").build_launch(agent, replace(ASK, budget=1.5))
    assert launch.argv[1] == "-I" and launch.argv[2].endswith("__main__.py") and launch.stdin == "prompt"
    rest = list(launch.argv[3:])
    assert rest[:6] == ["--workspace", "/w", "--checkout", "/c", "--folder", "/c/.aigon/runs/1/002"]
    assert rest[6:] == ["--model", "claude-opus-5-5", "--effort", "max", "--max-cost", "1.50", "--max-turns", "7"]
    assert find_adapter("api").build_launch(AGENT, ASK).argv[9:] == ()


def test_the_lower_of_two_sums_of_money_holds_and_of_anything_else_the_last() -> None:
    from aigon.agents.api_agent.settings import parse_settings

    places = ["--workspace", "/w", "--checkout", "/c"]
    given = parse_settings([*places, "--max-cost", "1.50", "--max-turns", "9", "--max-cost", "9", "--max-turns", "7"])
    assert (given.max_cost, given.max_turns, parse_settings(places).max_cost) == (1.5, 7, None)
    for wrong in (
        ["--max-turns", "x"],
        ["--max-cost", "nan"],
        ["--max-cost", "-1"],
        ["--no-such", "1"],
        ["--effort", "huge"],
    ):
        with pytest.raises(SystemExit):
            parse_settings([*places, *wrong])


def test_records_become_a_turn_with_tokens_cost_and_tools() -> None:
    result = {"type": "result", "end": "finished", "detail": "", "said": "so", "resets_at": None}
    found = read_output(
        exited({"type": "start", "model": "m"}, CALL, {"type": "tool", "line": "bash: ls"}, CALL, result)
    )
    assert (found.end, found.said, found.model, found.tools) == ("finished", "so", "m", ("bash: ls",))
    assert found.usage and (found.usage.input, found.usage.output, found.usage.cached) == (26, 10, 14)
    assert (found.cost, found.cost_status) == (0.5, "estimated")


def test_spend_is_unknown_if_the_last_record_is_missing_and_no_price_is_no_zero() -> None:
    killed = read_output(exited({"type": "start", "model": "m"}, CALL, {"type": "text", "text": "half"}))
    assert (killed.end, killed.said, killed.cost) == (None, "half", 0.25)
    assert read_output(exited(CALL, {**CALL, "cost": None})).cost is None
    assert read_output(exited({"type": "start"})).cost is None
    refused = read_output(exited({"type": "result", "end": "bad_credentials", "detail": "no"}))
    assert (refused.end, refused.cost) == ("bad_credentials", 0.0)
    assert read_output(exited({"type": "result", "end": "overloaded", "resets_at": 5.5})).resets_at == 5.5
    for noise in (b"", b"Traceback", b'{"type": "result", "end": "perfect"}', b"\xff[{}]"):
        assert read_output(ProgramExit(1, stdout=noise)).end is None
