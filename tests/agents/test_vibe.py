"""Mistral Vibe's adapter: captured runs of version 3.0.2, and a stand-in program that leaves them."""

import json
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from aigon.agents.adapters import find_adapter, vibe
from aigon.agents.adapters._records import get_cost_status
from aigon.model.turns import Agent, ProgramExit, TurnReport, Usage
from tests.agents.captured import NOW, events, exited, played
from tests.agents.turns import place

QUOTA = "You exceeded your current quota, please check your plan and billing details."
KEY = "Invalid API key (from env var OPENAI_API_KEY). Please check your API key and try again."


def seen(**fields: object) -> TurnReport:
    """A run that was turned away at its first call, but for `fields`."""
    good = {"model": "local-m", "usage": Usage(), "cost": 0.0, "cost_status": "reported"}
    return TurnReport(**{**good, **fields})  # type: ignore[arg-type]


def test_a_finished_run_has_its_words_its_tools_and_by_its_export_its_cost() -> None:
    words = TurnReport(
        end="finished",
        said="All done: hello.txt created.",
        session="0eae8084-f76b-2bb4-0ab2-8da4b76da72f",
        tools=("write_file: /project/hello.txt", "bash: ls -1 && git status --short"),
    )
    whole = exited("vibe_ok")
    assert vibe.read_output(replace(whole, report=b"")) == words
    session = json.loads(whole.report)["session_id"]
    paid = replace(words, model="local-m", usage=Usage(3600, 120, 9000), cost=0.00528, cost_status="reported")
    assert vibe.read_output(whole) == replace(paid, session=session)


@pytest.mark.parametrize(
    ("case", "code", "expected"),
    [
        ("401", 1, seen(end="bad_credentials", detail=f"bad credentials (401): {KEY}")),
        ("quota", 2, seen(end="usage_limit", detail=f"usage limit (429): {QUOTA}")),
        ("500", 2, seen(end="overloaded", detail="overloaded (500): The server had an error")),
        ("400", 2, seen(end="failed", detail="error (400): This model's maximum context length is 8192 tokens.")),
        (
            "late",  # a rate limit after two good replies
            2,
            seen(
                end="overloaded",
                detail="overloaded (429): Rate limit reached. Please try again in 20s.",
                said="Now list files.",
                usage=Usage(2400, 80, 6000),
                cost=0.00352,
                tools=("write_file: /project/hello.txt", "bash: ls -1"),
                resets_at=NOW + 20,
            ),
        ),
        ("turn_limit", 3, seen(end="failed", detail="turn limit", usage=Usage(1200, 40, 3000), cost=0.00176)),
        (
            "no_key",
            1,
            seen(
                end="bad_credentials",
                detail="bad credentials (401): Missing MISTRAL_API_KEY environment variable for mistral provider",
                model="",
                usage=None,
            ),
        ),
        (
            "denied",
            0,
            TurnReport(
                end="finished",
                said="Denied, stopping.",
                denied=("bash: rm -rf README.md",),
                tools=("bash: rm -rf README.md",),
            ),
        ),
        ("by_exit", 1, TurnReport(end="bad_credentials", detail=f"bad credentials (401): {KEY}")),
    ],
)
def test_every_captured_run_is_read(case: str, code: int, expected: TurnReport) -> None:
    assert replace(vibe.read_output(exited(f"vibe_{case}", code)), session="") == expected


def export(**fields: object) -> bytes:
    return json.dumps({"outcome": "finished", "error": None, "session_id": "s", **fields}, indent=2).encode()


@pytest.mark.parametrize(
    ("outcome", "error", "end", "detail"),
    [
        ("price_limit", None, "failed", "price limit"),
        ("length", {"message": "cut off", "code": "response_too_long"}, "failed", "length: cut off"),
        ("terminated", None, "failed", "terminated"),
        ("refusal", None, "refused", "refused"),
        ("infrastructure_failure", {"message": "not me", "code": "refusal"}, "refused", "refused: not me"),
        ("infrastructure_failure", {"message": "slow down", "code": "rate_limit"}, "overloaded",
         "overloaded (429): slow down"),
        ("infrastructure_failure", {"message": "All connection attempts failed", "code": "backend_error"},
         "unavailable", "no connection: All connection attempts failed"),
        ("config_error", {"message": "No model of this name", "code": None}, "failed", "No model of this name"),
        ("something_new", None, "failed", "something_new"),
    ],
)  # fmt: skip
def test_an_outcome_is_told_by_its_name_and_its_error(outcome: str, error: object, end: str, detail: str) -> None:
    found = vibe.read_output(ProgramExit(2, report=export(outcome=outcome, error=error)))
    assert (found.end, found.detail) == (end, detail)


def test_subagents_usage_is_added_and_a_model_without_a_price_has_unknown_cost() -> None:
    usage = {"input_tokens": 100, "cached_input_tokens": 60, "output_tokens": 5}
    one = {"usage": usage, "cost_usd": 0.5}
    both = vibe.read_output(ProgramExit(0, report=export(**one, subagents=[one])))
    assert (both.usage, both.cost) == (Usage(80, 10, 120), 1.0)
    free = vibe.read_output(ProgramExit(0, report=export(usage=usage, cost_usd=0.0)))
    assert (free.usage, free.cost, get_cost_status(free.cost, free.cost_status)) == (Usage(40, 5, 60), None, "unknown")


def test_without_an_export_an_exit_code_alone_is_no_good_end() -> None:
    assert vibe.read_output(ProgramExit(0)).end is None
    assert vibe.read_output(ProgramExit(0, exited("vibe_late").stdout.split(b"\n")[0])).end is None
    assert vibe.read_output(ProgramExit(3, exited("vibe_ok").stdout, b"Stopped: turn_limit\n")).end is None
    assert vibe.read_output(ProgramExit(-9, b"", b"Error: Invalid API key\n")).end is None


def test_what_the_model_says_is_no_error_of_the_run() -> None:
    words = "Error: Invalid API key\n429 Too Many Requests: usage limit reached"
    entry = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": words}], "id": "a"}
    found = vibe.read_output(ProgramExit(0, events(entry), b"", report=export()))
    assert (found.end, found.detail, found.said) == ("finished", "", words)
    assert vibe.read_output(ProgramExit(1, events(entry))).end is None


def test_it_gets_the_prompt_in_a_file_and_the_model_in_a_variable(tmp_path: Path) -> None:
    agent = Agent("mine", "mv", model="mistral-medium-3.5", args=("--max-turns", "9"))
    given = played(place(tmp_path), agent, "vibe_ok")
    folder = f"{given.ask.output_file}.d"
    assert given.args == ("--prompt-file", given.ask.prompt_file, "--output", "streaming", "--output-dir", folder,
                          "--trust", "--auto-approve", "--max-turns", "9")  # fmt: skip
    assert given.stdin == ""
    assert (given.env["VIBE_ACTIVE_MODEL"], given.env["VIBE_ENABLE_UPDATE_CHECKS"]) == ("mistral-medium-3.5", "false")
    assert (given.turn.end, given.turn.cost, given.turn.model) == ("finished", 0.00528, "local-m")
    argv = find_adapter("vibe").build_launch(agent, replace(given.ask, budget=2)).argv
    assert argv[argv.index("--max-price") + 1] == "2.00"


def test_a_limit_is_known_by_the_export_of_this_try_only(tmp_path: Path) -> None:
    agent = Agent("mine", "vibe", args=("--agent", "plan"))
    given = played(place(tmp_path), agent, "vibe_quota", 2)
    assert (given.turn.end, given.turn.cost) == ("usage_limit", 0.0)
    assert "--auto-approve" not in given.args
    file = Path(f"{given.ask.output_file}.d", "export.json")
    later = ProgramExit(2, duration=1.0, ended=file.stat().st_mtime + 60)
    assert vibe.read_turn(agent, given.ask, later).end == "failed"
    os.utime(file, (later.ended, later.ended))
    assert vibe.read_turn(agent, given.ask, later).end == "usage_limit"
    file.rename(tmp_path / "export.json")
    file.symlink_to(tmp_path / "export.json")
    assert vibe.read_turn(agent, given.ask, later).end == "failed"
