"""pi's adapter: captured sessions of version 0.73.1, as its file and as its stream, and a stand-in that leaves them."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from aigon.agents.adapters import pi
from aigon.agents.adapters._records import get_cost_status
from aigon.model.turns import Agent, ProgramExit, TurnReport, Usage
from tests.agents.captured import NOW, events, exited, played
from tests.agents.turns import PROMPT, place

WROTE = "write: /project/hello.txt"
QUOTA = "insufficient_quota: You exceeded your current quota, please check your plan and billing details."
LIMIT = "tokens: Rate limit reached for gpt-4o in organization org-x on tokens per min. Please try again in 20s."


def seen(session: str, **fields: object) -> TurnReport:
    """A session that was turned away at its first call, but for `fields`."""
    good = {"model": "scripted", "usage": Usage(), "cost": 0.0, "cost_status": "reported", "session": session}
    return TurnReport(**{**good, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("case", "code", "expected"),
    [
        (
            "session_ok",
            0,
            seen(
                "01a1fa14-48ff-736d-b4dd-783db3a4b022",
                end="finished",
                said="All done.",
                usage=Usage(3600, 120, 9000),
                cost=0.015299999999999998,
                tools=(WROTE, "bash: ls -1"),
            ),
        ),
        (
            "session_401",
            1,
            seen(
                "01a1fa08-781f-7728-a99e-90431215227b",
                end="bad_credentials",
                detail="bad credentials (401): invalid_request_error: Incorrect API key provided: sk-tes.",
            ),
        ),
        (
            "session_quota",
            1,
            seen("01a1fa08-8e38-7536-8798-7cd08a95998b", end="usage_limit", detail=f"usage limit (429): {QUOTA}"),
        ),
        (
            "session_late",  # a rate limit after two good replies
            1,
            seen(
                "01a1fa15-941d-72b9-987d-8f7c2456bc28",
                end="overloaded",
                detail="overloaded (429): rate_limit_error: Rate limit reached. Please try again in 20s.",
                said="Now list files.",
                usage=Usage(2400, 80, 6000),
                cost=0.010199999999999999,
                tools=(WROTE, "bash: ls -1"),
                resets_at=NOW + 20,
            ),
        ),
        (
            "ok",  # from here as `--mode json` prints it, which exits with 0 whatever happens
            0,
            seen(
                "01a1f84a-370c-7748-8b51-0038d59717c7",
                end="finished",
                said="All done: hello.txt created.",
                usage=Usage(2300, 75, 12900),
                cost=0.01242,
                tools=(WROTE, "bash: ls -1 && git status --short"),
            ),
        ),
        (
            "429",
            0,
            seen(
                "01a1f9f8-62fe-74b4-9d74-201fb862c9c7",
                end="overloaded",
                detail=f"overloaded (429): {LIMIT}",
                resets_at=NOW + 20,
            ),
        ),
        (
            "400",
            0,
            seen(
                "01a1f9f9-7eb5-7378-8a48-b414c482952a",
                end="failed",
                detail="error (400): invalid_request_error: This model's maximum context length is 8192 tokens.",
            ),
        ),
        (
            "length",
            0,
            seen(
                "01a1fa15-72fb-7655-84f5-a1bcb1d39d5c",
                end="failed",
                detail="the last reply was cut off at the model's limit",
                said="cut he",
                usage=Usage(1200, 40, 3000),
                cost=0.0050999999999999995,
            ),
        ),
    ],
)
def test_every_captured_session_is_read(case: str, code: int, expected: TurnReport) -> None:
    assert pi.read_output(exited(f"pi_{case}", code)) == expected


def test_a_stream_without_its_middle_is_read_by_its_end() -> None:
    whole = exited("pi_ok")
    lines = whole.stdout.splitlines(keepends=True)
    cut = b"".join([lines[0], lines[1][:50], b"\n[... 9000000 bytes left out ...]\n", lines[3][50:], *lines[-2:]])
    assert pi.read_output(replace(whole, stdout=cut)) == pi.read_output(whole)
    without = pi.read_output(replace(whole, stdout=b"".join([*lines[:3], b"[... 9 bytes left out ...]\n"])))
    assert (without.end, without.cost, without.usage) == (None, None, None)


def test_a_session_that_stops_at_a_tool_has_no_good_end_unless_its_file_is_too_long() -> None:
    whole = exited("pi_session_ok")
    half = b"".join(line for line in whole.report.splitlines(keepends=True)[:-1])
    assert pi.read_output(replace(whole, report=half)).end is None
    long = replace(whole, report=half + b'{"type":"mess', stdout=b"All done.\n")
    assert (pi.read_output(long).end, pi.read_output(long).cost) == ("finished", None)
    assert pi.read_output(replace(long, exit_code=1)).end is None


def reply(text: str, **fields: object) -> dict[str, object]:
    message = {"role": "assistant", "content": [{"type": "text", "text": text}], "stopReason": "stop", **fields}
    return {"type": "message", "message": message}


def test_the_cost_of_a_model_without_a_price_is_unknown() -> None:
    free = {"input": 10, "output": 5, "cost": {"total": 0}}
    found = pi.read_output(ProgramExit(0, report=events(reply("Hi.", usage=free))))
    assert (found.cost, found.usage) == (None, Usage(10, 5))
    assert get_cost_status(found.cost, found.cost_status) == "unknown"
    twice = events(reply("Hi.", usage=free | {"cost": {"total": 0.5}}), reply("Hi, too.", usage=free))
    assert pi.read_output(ProgramExit(0, report=twice)).cost == 0.5


@pytest.mark.parametrize(
    ("message", "end", "detail"),
    [
        ("You have hit your ChatGPT usage limit (plus plan). Try again in ~37 min.", "usage_limit", "usage limit: "),
        ('529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', "overloaded",
         "overloaded (529): overloaded_error: Overloaded"),
        ("503 {not json}", "overloaded", "overloaded (503): {not json}"),
        ("Provider finish_reason: content_filter", "refused", "refused"),
        ("", "failed", "no message"),
    ],
)  # fmt: skip
def test_an_error_of_the_provider_is_told_by_its_status_and_its_words(message: str, end: str, detail: str) -> None:
    found = pi.read_output(
        ProgramExit(1, report=events(reply("", stopReason="error", errorMessage=message)), ended=NOW)
    )
    assert found.end == end
    assert found.detail.startswith(detail)


def test_the_models_words_are_no_error_and_pis_complaints_before_it_are() -> None:
    words = '429 {"error":{"message":"usage limit reached"}} 401 Unauthorized'
    found = pi.read_output(ProgramExit(0, words.encode(), words.encode(), report=events(reply(words))))
    assert (found.end, found.detail, found.said) == ("finished", "", words)
    stopped = events(reply(words, stopReason="toolUse"))
    assert pi.read_output(ProgramExit(1, b"", words.encode(), report=stopped)).end is None
    assert (
        pi.read_output(ProgramExit(1, b"", b"No API key found for anthropic.\n\nUse /login\n")).end == "bad_credentials"
    )


def test_it_is_run_with_the_prompt_on_standard_input_and_its_session_in_a_file(tmp_path: Path) -> None:
    agent = Agent("mine", "pi", model="anthropic/x", effort="high", args=("--no-extensions",))
    given = played(place(tmp_path), agent, "pi_session_ok")
    assert given.args == ("-p", "--session", given.ask.output_file, "--model", "anthropic/x", "--thinking", "high",
                          "--no-extensions")  # fmt: skip
    assert (given.stdin, given.env["PI_OFFLINE"]) == (PROMPT, "1")
    assert (given.turn.end, given.turn.cost, given.turn.model) == ("finished", 0.015299999999999998, "scripted")
    assert json.loads(Path(given.ask.output_file).read_text().splitlines()[0])["id"] == given.turn.session


def test_a_rate_limit_is_known_although_the_stream_exits_with_0(tmp_path: Path) -> None:
    given = played(place(tmp_path), Agent("mine", "pi", args=("--mode", "json")), "pi_429")
    assert (given.turn.end, given.turn.exit_code) == ("overloaded", 0)
