"""Codex CLI's adapter: captured outputs of version 0.169.0, and a stand-in program that prints them."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from aigon.agents.adapters import codex, find_adapter
from aigon.model.turns import Agent, ProgramExit, Turn, TurnRequest, Usage
from tests.agents.captured import NOW, events, exited, played, turn, turn_of
from tests.agents.turns import PROMPT, place

LISTED = "command execution: /bin/bash -lc 'ls -1 && git status --short'"
BAD_KEY = (
    "bad credentials (401): unexpected status 401 Unauthorized: Incorrect API key provided: sk-tes. You can find your "
    "API key at https://platform.openai.com/account/api-keys., url: http://127.0.0.1:46011/v1/responses, request id: "
    "req_000012003f29d724"
)
SPENT = (
    "usage limit: You’ve hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit "
    "https://chatgpt.com/settings/usage to purchase more credits or try again later."
)


def cx(**fields: object) -> Turn:
    return turn("codex", **fields)


def cx_failed(end: str, session: str, detail: str, **fields: object) -> Turn:
    return cx(end=end, exit_code=1, session=session, detail=detail, **fields)


@pytest.mark.parametrize(
    ("case", "code", "expected"),
    [
        (
            "ok",
            0,
            cx(
                said="All done: hello.txt created.\nAll done: hello.txt created.",
                session="01a1f847-3635-72b2-b889-ba11507ed990",
                usage=Usage(1600, 75, 12900),
                tools=(
                    "command execution: /bin/bash -lc \"cat > hello.txt <<'EOF_SCRIPTED' hello EOF_SCRIPTED\"",
                    LISTED,
                ),
            ),
        ),
        (
            "tool_failed",
            0,
            cx(
                said="It failed.",
                session="01a1f9ff-daa1-7c22-9a96-3f2024ee56d0",
                usage=Usage(20003, 10, 0),
                tools=("command execution: /bin/bash -lc 'echo nope >&2; exit 3'",),
            ),
        ),
        ("401", 1, cx_failed("bad_credentials", "01a1f84d-cf99-7d22-8d78-1d11b3878427", BAD_KEY)),
        (
            "429",
            1,
            cx_failed(
                "overloaded",
                "01a1f852-5f44-7d32-bb5a-59946926a0cb",
                "overloaded (429): exceeded retry limit, last status: 429 Too Many Requests, request id: "
                "req_0000129c2ec986c4",
            ),
        ),
        ("usage_limit", 1, cx_failed("usage_limit", "01a1f852-7712-76d3-b649-18f59f58da7e", SPENT)),
        (
            "quota",
            1,
            cx_failed(
                "usage_limit",
                "01a1f9f7-1cce-7b82-bff8-f669db1851c9",
                "usage limit: Quota exceeded. Check your plan and billing details.",
            ),
        ),
        (
            "500",
            1,
            cx_failed(
                "overloaded",
                "01a1f9ff-6afd-7e52-961d-cf010514da34",
                "overloaded: We’re currently experiencing high demand, which may cause temporary errors.",
            ),
        ),
        ("400", 1, cx_failed("failed", "01a1f9fe-a771-7e73-b997-3eb80a05fb74", "context too long")),
        (
            "max_output",
            1,
            cx_failed(
                "failed",
                "01a1f9ff-119f-7240-80e6-f5554c2180a7",
                "Incomplete response returned, reason: max_output_tokens",
                said="partial",
            ),
        ),
        (
            "nologin",
            1,
            cx_failed(
                "bad_credentials",
                "01a1fa06-4aec-7173-91cf-b7185a7e4e67",
                "bad credentials: Missing environment variable: `OPENAI_API_KEY`.",
            ),
        ),
    ],
)
def test_every_capture_parses_into_the_right_turn(case: str, code: int, expected: Turn) -> None:
    assert turn_of("codex", f"codex_{case}", code) == expected


def item(kind: str, **fields: object) -> dict[str, object]:
    return {"type": "item.completed", "item": {"type": kind, **fields}}


def failed(message: str) -> dict[str, object]:
    return {"type": "turn.failed", "error": {"message": message}}


DONE = {"type": "turn.completed", "usage": {"input_tokens": 9, "cached_input_tokens": 4, "output_tokens": 2}}


@pytest.mark.parametrize(
    ("message", "end", "when"),
    [
        ("You’ve hit your usage limit. … try again in 3 hours 20 minutes.", "usage_limit", NOW + 12_000),
        ("You've hit your usage limit. Try again at Nov 21st, 2026 11:10 AM (UTC).", "usage_limit",
         datetime(2026, 11, 21, 11, 10, tzinfo=UTC).timestamp()),
        ("Your workspace is out of credits. Add credits to continue.", "usage_limit", None),
        ("You hit your spend cap set in your workspace.", "usage_limit", None),
        ("Selected model is at capacity. Please try a different model.", "overloaded", None),
        ("This request has been flagged for possible cybersecurity risk.", "refused", None),
        ("Your access token could not be refreshed. Please log out and sign in again.", "bad_credentials", None),
    ],
)  # fmt: skip
def test_a_failed_turn_is_what_its_message_says(message: str, end: str, when: float | None) -> None:
    seen = codex.read_output(ProgramExit(1, events({"type": "error", "message": message}, failed(message)), ended=NOW))
    assert (seen.end, seen.resets_at) == (end, when)


def test_a_clock_without_a_zone_is_this_machines() -> None:
    seen = codex.read_output(
        ProgramExit(1, events(failed("You’ve hit your usage limit. try again at 11:10 AM.")), ended=NOW)
    )
    assert seen.resets_at is not None
    at = datetime.fromtimestamp(seen.resets_at).astimezone()
    assert (at.hour, at.minute, at.second) == (11, 10, 0)
    assert 0 < seen.resets_at - NOW <= 86_400


def test_an_attempt_that_it_makes_again_is_no_end_while_something_follows() -> None:
    again = {"type": "error", "message": "Reconnecting... 1/5 (unexpected status 401 Unauthorized)"}
    assert codex.read_output(ProgramExit(1, events(again, item("agent_message", text="so")))).end is None
    assert (
        codex.read_output(ProgramExit(1, events(again))).detail
        == "bad credentials (401): unexpected status 401 Unauthorized"
    )
    assert codex.read_output(ProgramExit(0, events(again, DONE))).end == "finished"
    assert (
        codex.read_output(ProgramExit(1, events(again, {"type": "error", "message": "rate limit"}))).end == "overloaded"
    )
    cut = b"".join(exited("codex_ok").stdout.splitlines(keepends=True)[:-1])
    assert codex.read_output(ProgramExit(0, cut)).end is None


def test_the_model_of_a_session_is_read_where_codex_keeps_it(tmp_path: Path) -> None:
    thread = "01a20408-fdd4-7e01-94c6-2d13c69da696"
    said = events({"type": "thread.started", "thread_id": thread}, DONE)
    place = tmp_path / "sessions" / "2026" / "11" / "22"
    place.mkdir(parents=True)
    kept = {"type": "turn_context", "payload": {"model": "gpt-6.1-sol", "effort": "low"}}
    (place / f"rollout-2026-11-22T16-13-38-{thread}.jsonl").write_bytes(
        events({"type": "session_meta", "payload": {"id": thread, "model_provider": "openai"}}, kept)
    )
    nowhere = TurnRequest(1, "42", "run", "/w", "/c", "/w/spec.md", "/c/prompt.md")
    agent = Agent("cx", "codex", env={"CODEX_HOME": str(tmp_path)})
    turn = find_adapter("codex").read_turn(agent, nowhere, ProgramExit(0, said))
    assert turn.model == "gpt-6.1-sol"
    asked = find_adapter("codex").read_turn(replace(agent, model="gpt-5.5"), nowhere, ProgramExit(0, said))
    assert asked.model == "gpt-5.5"
    (place / f"rollout-2026-11-22T16-13-38-{thread}.jsonl").unlink()
    os.mkfifo(place / f"rollout-2026-11-22T16-13-38-{thread}.jsonl")
    assert find_adapter("codex").read_turn(agent, nowhere, ProgramExit(0, said)).model == ""


def test_usage_is_that_of_the_whole_session_and_told_once() -> None:
    more = {"type": "turn.completed", "usage": {"input_tokens": 30, "cached_input_tokens": 10, "output_tokens": 5}}
    assert codex.read_output(ProgramExit(0, events(DONE, more))).usage == Usage(20, 5, 10)
    odd = {"type": "turn.completed", "usage": {"input_tokens": 3, "cached_input_tokens": 10, "output_tokens": -5}}
    assert codex.read_output(ProgramExit(0, events(odd))).usage == Usage(0, 0, 10)


def test_what_it_used_and_what_was_declined_is_told() -> None:
    found = codex.read_output(
        ProgramExit(0, events(
            item("command_execution", command="rm -rf /", status="declined"),
            item("file_change", changes=[{"path": "a.py", "kind": "add"}, {"path": "b.py"}, 7], status="completed"),
            item("mcp_tool_call", server="odoo", tool="create", status="failed"),
            item("web_search", query="how"),
            item("reasoning", text="hm"),
            DONE,
        ))
    )  # fmt: skip
    assert found.denied == ("command execution: rm -rf /",)
    assert found.tools[1:] == ("file change: a.py, b.py", "mcp tool call: odoo.create", "web search: how")


def test_an_agent_that_speaks_of_limits_is_not_taken_at_its_word() -> None:
    words = 'You’ve hit your usage limit.\n{"type":"turn.failed","error":{"message":"401 Unauthorized"}}'
    seen = codex.read_output(ProgramExit(0, events(item("agent_message", text=words), DONE), words.encode()))
    assert (seen.end, seen.said, seen.resets_at) == ("finished", words, None)
    assert codex.read_output(ProgramExit(1, events(item("agent_message", text=words)), words.encode())).end is None
    warned = item("error", message="You’re close to your usage limit")
    assert codex.read_output(ProgramExit(0, events(warned, DONE))).end == "finished"


def test_it_is_run_with_the_prompt_on_standard_input(tmp_path: Path) -> None:
    agent = Agent("mine", "codex", model="gpt-5.4", effort="high", args=("-c", "model_provider=local"))
    seen = played(place(tmp_path), agent, "codex_ok")
    given = (
        "exec --json --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox -c analytics.enabled=false "
        "-m gpt-5.4 -c model_reasoning_effort=high -c model_provider=local -"
    )
    assert (seen.args, seen.stdin) == (tuple(given.split()), PROMPT)
    assert (seen.turn.end, seen.turn.model, seen.turn.usage) == ("finished", "gpt-5.4", Usage(1600, 75, 12900))


def test_a_usage_limit_of_a_real_process_is_known_with_the_persons_permissions(
    tmp_path: Path,
) -> None:
    seen = played(place(tmp_path), Agent("mine", "codex", args=("-s", "workspace-write")), "codex_usage_limit", 1)
    assert (seen.turn.end, seen.turn.held) == ("usage_limit", True)
    assert "--dangerously-bypass-approvals-and-sandbox" not in seen.args
    assert seen.args[-3:] == ("-s", "workspace-write", "-")
