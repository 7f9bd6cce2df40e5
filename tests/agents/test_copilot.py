"""Copilot CLI's adapter: captured outputs of version 1.0.102, and a stand-in program that prints them."""

import json
from pathlib import Path

import pytest

from aigon.agents.adapters import copilot
from aigon.agents.adapters._records import get_cost_status
from aigon.model.turns import Agent, ProgramExit, Turn, Usage
from tests.agents.captured import NOW, events, exited, played, turn, turn_of
from tests.agents.turns import PROMPT, place

PATCHED, LISTED = "apply_patch: hello.txt", "bash: ls -1 && git status --short"
FAILED = "Failed to get response from the AI model; retried 5 times (total retry wait time:"


def cp(**fields: object) -> Turn:
    return turn("copilot", **fields)


@pytest.mark.parametrize(
    ("case", "code", "expected"),
    [
        (
            "ok",
            0,
            cp(
                model="gpt-4o",
                said="All done: hello.txt created.",
                session="9c963e35-45b4-4ff9-ad6d-81b1ed875375",
                tools=(PATCHED, LISTED),
            ),
        ),
        (
            "429",
            1,
            cp(
                end="overloaded",
                exit_code=1,
                session="67e62782-a11d-495b-9c20-ebeb6e334bcf",
                detail=f"overloaded (429): {FAILED} 5.37 seconds) Last error: 429 This request would exceed your "
                "account's rate limit. Please try again later.",
            ),
        ),
        (
            "500",
            1,
            cp(
                end="overloaded",
                exit_code=1,
                session="6c10c73b-4e43-4c0c-bc81-b95567729632",
                detail=f"overloaded (500): {FAILED} 16.27 seconds) Last error: 500 boom",
            ),
        ),
        (
            "401",
            1,
            cp(
                end="bad_credentials",
                exit_code=1,
                session="c4596a37-6ad3-49dd-b28e-98f55642e1bd",
                detail="bad credentials (401): Authentication failed with provider at http://127.0.0.1:34999/v1 "
                "(HTTP 401). Check your COPILOT_PROVIDER_API_KEY, COPILOT_PROVIDER_API_KEY_COMMAND, or "
                "COPILOT_PROVIDER_BEARER_TOKEN.",
            ),
        ),
        (
            "late401",
            1,
            cp(
                end="bad_credentials",
                exit_code=1,
                model="gpt-4o",
                said="I will create the file.",
                session="0211a3f9-ad7a-4d22-8280-5d2ad5c558a2",
                usage=Usage(1200, 40, 3000),
                detail="bad credentials (401): Authentication failed with provider at http://127.0.0.1:34999/v1 "
                "(HTTP 401). Check your COPILOT_PROVIDER_API_KEY, COPILOT_PROVIDER_API_KEY_COMMAND, or "
                "COPILOT_PROVIDER_BEARER_TOKEN.",
                tools=(PATCHED,),
            ),
        ),
        (
            "denied",
            0,
            cp(
                model="gpt-4o",
                said="All done.",
                session="f9a995db-8a01-4122-a7e6-93e91f6cea0b",
                usage=Usage(1600, 75, 12900),
                denied=(PATCHED,),
                tools=(PATCHED, LISTED),
            ),
        ),
        (
            "nologin",
            1,
            cp(
                end="bad_credentials",
                exit_code=1,
                detail="bad credentials: Error: No authentication information found. Copilot can be authenticated with "
                "GitHub using an OAuth Token or a Fine-Grained Personal Access Token. To authenticate, you can use any "
                "of the following methods: • Start 'copilot' and run the '/login' command • Set the "
                "COPILOT_GITHUB_TOKEN, GH_TOKEN, or GITHUB_TOKEN environment variable • Run 'gh auth login' to "
                "authenticate with the GitHub CLI",
            ),
        ),
    ],
)
def test_every_capture_parses_into_the_right_turn(case: str, code: int, expected: Turn) -> None:
    assert turn_of("copilot", f"copilot_{case}", code) == expected


def said(text: str) -> dict[str, object]:
    return {"type": "assistant.message", "data": {"content": text}}


def error(message: str, **data: object) -> dict[str, object]:
    return {"type": "session.error", "data": {"message": message, **data}}


def result(code: object = 0) -> dict[str, object]:
    return {"type": "result", "sessionId": "s", "exitCode": code}


@pytest.mark.parametrize(
    ("data", "end", "wait"),
    [
        (
            error("Sorry, you've hit a rate limit. Please try again in 3 hours", errorType="rate_limit"),
            "overloaded",
            10800,
        ),
        (error("You have exceeded your premium request allowance.", errorType="quota"), "usage_limit", None),
        (error("402 Payment required", errorType="query", statusCode=402), "usage_limit", None),
        (error("no", errorType="authorization"), "bad_credentials", None),
        (error("no", errorType="authentication"), "bad_credentials", None),
        (error("400 context too long", errorType="query", statusCode=400), "failed", None),
        (error("Last error: Failed to finalize stream: missing finish_reason", errorType="query"), "failed", None),
    ],
)
def test_an_error_is_what_its_type_status_and_message_say(
    data: dict[str, object], end: str, wait: float | None
) -> None:
    seen = copilot.read_output(ProgramExit(1, events(said("Working."), data, result(1)), ended=NOW))
    assert (seen.end, seen.resets_at) == (end, None if wait is None else NOW + wait)


def test_the_exit_code_in_the_result_and_the_error_before_it_decide_together() -> None:
    assert copilot.read_output(ProgramExit(0, events(said("x"), result(0)))).end == "finished"
    assert (
        copilot.read_output(ProgramExit(0, events(said("x"), result(3)))).detail
        == "ended with exit code 3 and without an error"
    )
    assert (
        copilot.read_output(ProgramExit(0, events(error("429", statusCode=429), said("x"), result(0)))).end
        == "finished"
    )
    assert (
        copilot.read_output(ProgramExit(0, events(said("x"), error("slow down", statusCode=429), result(0)))).end
        == "overloaded"
    )
    mild = copilot.read_output(ProgramExit(0, events(said("x"), error("A server did not start"), result(0))))
    assert (mild.end, mild.detail) == ("finished", "A server did not start")
    for odd in (True, None, "0", 0.0):
        assert copilot.read_output(ProgramExit(0, events(said("x"), result(odd)))).end is None, odd
    cut = b"".join(exited("copilot_ok").stdout.splitlines(keepends=True)[:-1])
    assert copilot.read_output(ProgramExit(0, cut)).end is None


def test_tokens_of_all_models_are_those_of_its_report() -> None:
    one = {"usage": {"inputTokens": 100, "outputTokens": 10, "cacheReadTokens": 40}}
    report = json.dumps({"modelMetrics": {"a": one, "b": one, "c": 7}, "currentModel": "a"}, indent=2).encode()
    seen = copilot.read_output(ProgramExit(0, events(result(0)), report=report))
    assert (seen.usage, seen.model, seen.cost) == (Usage(120, 20, 80), "a", None)
    assert get_cost_status(seen.cost, seen.cost_status) == "unknown"
    assert copilot.read_output(ProgramExit(0, events(result(0)), report=b"{")).usage is None


def test_an_agent_that_speaks_of_limits_is_not_taken_at_its_word() -> None:
    words = "429 Too many requests: you have hit your usage limit, please log in again"
    start = {
        "type": "tool.execution_start",
        "data": {"toolCallId": "1", "toolName": "bash", "arguments": {"command": "x"}},
    }
    ended = {
        "type": "tool.execution_complete",
        "data": {"toolCallId": "1", "success": False, "error": {"message": words}},
    }
    seen = copilot.read_output(ProgramExit(0, events(said(words), start, ended, result(0)), words.encode()))
    assert (seen.end, seen.detail, seen.denied, seen.tools) == ("finished", "", (), ("bash: x",))
    assert copilot.read_output(ProgramExit(1, events(said(words)), words.encode())).end is None


def test_it_is_run_with_the_prompt_on_standard_input_and_leaves_a_report(tmp_path: Path) -> None:
    there = place(tmp_path)
    agent = Agent("mine", "copilot", model="gpt-5.4", effort="high", args=("--deny-tool", "shell"))
    seen = played(there, agent, "copilot_denied")
    given = f"--output-format json --usage-output-file {seen.ask.output_file} --no-color --no-ask-user --yolo"
    assert seen.args == (*given.split(), "--model", "gpt-5.4", "--reasoning-effort", "high", "--deny-tool", "shell")
    assert (seen.stdin, seen.env["COPILOT_AUTO_UPDATE"]) == (PROMPT, "false")
    assert (seen.turn.end, seen.turn.usage, seen.turn.denied) == ("finished", Usage(1600, 75, 12900), (PATCHED,))


def test_a_missing_login_of_a_real_process_is_known_with_the_persons_permissions(
    tmp_path: Path,
) -> None:
    agent = Agent("mine", "copilot", args=("--allow-tool=write",))
    seen = played(place(tmp_path), agent, "copilot_nologin", 1)
    assert (seen.turn.end, seen.turn.failed) == ("bad_credentials", True)
    assert "--yolo" not in seen.args
    assert seen.args[-1] == "--allow-tool=write"
