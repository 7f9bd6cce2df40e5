"""Gemini CLI's adapter: captured outputs of version 0.61.0, and a stand-in program that prints them."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from aigon.agents.adapters import gemini
from aigon.config.prices import load_shipped_prices
from aigon.journal.spending import price_turn
from aigon.model.turns import Agent, ModelUsage, ProgramExit, Turn, Usage
from tests.agents.captured import NOW, events, exited, played, turn, turn_of
from tests.agents.turns import PROMPT, place

PRO = "gemini-2.5-pro"


def gg(**fields: object) -> Turn:
    return turn("gemini", **fields)


@pytest.mark.parametrize(
    ("case", "code", "expected"),
    [
        (
            "stream",
            0,
            gg(
                model=PRO,
                said="All done: hello.txt created.",
                session="4e81bda3-389c-4bd9-a91d-9f63ebb37eb2",
                usage=Usage(1600, 75, 12900),
                tools=(
                    "write_file: <HOME>/repos/gemini-stream-ok/hello.txt",
                    "run_shell_command: ls -1 && git status --short",
                ),
            ),
        ),
        (
            "ok",  # -o json
            0,
            gg(
                model=PRO,
                said="All done.",
                session="68bf1f59-d3cf-494e-9e83-f2a9ac60f815",
                usage=Usage(1600, 75, 12900),
                tools=("write_file", "run_shell_command"),
            ),
        ),
        (
            "noyolo",  # -o json: the tools are not even offered
            0,
            gg(
                model=PRO,
                said="I will create the file.\n\nhello.txt\n```\nhello\n```",
                session="f588ab7b-40ef-4e28-894c-05bf511a040f",
                usage=Usage(1200, 40, 3000),
            ),
        ),
        (
            "401",  # -o json: the error is on standard error, and 144 is 400 modulo 256
            144,
            gg(
                end="bad_credentials",
                exit_code=144,
                session="b5771f37-fc8d-43af-87cd-34959e5b8253",
                detail="bad credentials (400): API key not valid. Please pass a valid API key.",
            ),
        ),
        (
            "429",  # it was ended from outside while it waited for its sixth attempt
            -9,
            gg(
                end="overloaded",
                exit_code=-9,
                detail="ended while trying again: overloaded (429): This request would exceed your account's rate "
                "limit. Please try again later.",
            ),
        ),
        (
            "overloaded",  # after ten attempts, 203 s; 173 is 429 modulo 256
            173,
            gg(
                end="overloaded",
                exit_code=173,
                model=PRO,
                session="495c4fc5-f0b4-442c-aa10-920b24af7b81",
                detail="overloaded (429): This request would exceed your account's rate limit. Please try again later. "
                "Please wait and try again later. To increase your limits, request a quota increase through AI Studio, "
                "or switch to another /auth method",
                usage=Usage(),
            ),
        ),
        (
            "late401",
            145,
            gg(
                end="bad_credentials",
                exit_code=145,
                model=PRO,
                said="I will create the file.",
                session="be42aa34-e17d-4d52-9fc8-1be918835428",
                detail="bad credentials (401): Incorrect API key provided",
                usage=Usage(1200, 40, 3000),
                tools=("write_file: <HOME>/repo/hello.txt",),
            ),
        ),
        (
            "refused",
            0,
            gg(
                end="refused",
                model=PRO,
                session="58ee1fd6-cacf-41a7-ba7d-eee405287b33",
                detail="refused: The model response was blocked due to safety settings.",
                usage=Usage(48868, 4, 0),
            ),
        ),
        (
            "404",
            1,
            gg(
                end="failed",
                exit_code=1,
                model=PRO,
                session="aed56dd0-d8ec-45d7-96a1-8040fe572bb5",
                detail="The model `x` does not exist",
                usage=Usage(),
            ),
        ),
        (
            "nologin",
            41,
            gg(
                end="bad_credentials",
                exit_code=41,
                detail="bad credentials: Please set an Auth method in your <HOME>/.gemini/settings.json or specify one "
                "of the following environment variables before running: GEMINI_API_KEY, GOOGLE_GENAI_USE_VERTEXAI, "
                "GOOGLE_GENAI_USE_GCA",
            ),
        ),
    ],
)
def test_every_capture_parses_into_the_right_turn(case: str, code: int, expected: Turn) -> None:
    assert turn_of("gemini", f"gemini_{case}", code) == expected


def test_each_model_that_auto_chose_has_its_tokens_and_its_price() -> None:
    turn = turn_of("gemini", "gemini_auto")
    assert turn.model == "gemini-3.8-flash"
    assert turn.usage_by_model == (
        ModelUsage("gemini-3.5-flash-lite", Usage(890, 14, 0)),
        ModelUsage("gemini-3.8-flash", Usage(13331, 42, 300)),
    )
    assert turn.usage == Usage.of_all(share.usage for share in turn.usage_by_model)
    known = price_turn(turn, load_shipped_prices())
    assert known.cost == pytest.approx((890 * 0.30 + 14 * 2.50 + 13331 * 0.75 + 42 * 3.75 + 300 * 0.075) / 1e6)
    assert known.cost_status == "estimated"
    odd = replace(turn, usage_by_model=(*turn.usage_by_model, ModelUsage("gemini-of-tomorrow", Usage(1, 1, 0))))
    assert (price_turn(odd, load_shipped_prices()).cost, price_turn(odd, load_shipped_prices()).cost_status) == (
        None,
        "unknown",
    )


def failing(message: str = "") -> dict[str, object]:
    return {"type": "result", "status": "error", **({"error": {"message": message}} if message else {})}


@pytest.mark.parametrize(
    ("code", "message", "end", "wait"),
    [
        (173, "[API Error: Resource has been exhausted (e.g. check quota).]", "overloaded", None),
        (173, "[API Error: Please retry in 41.5s.]\nPlease wait and try again later.", "overloaded", 41.5),
        (173, "[API Error: You have exhausted your daily quota on this model.]", "usage_limit", None),
        (173, "[API Error: You have exhausted your capacity on this model. Your quota will reset after 5h12m30s.]",
         "usage_limit", 18750),
        (173, '[API Error: {"error":{"code":429,"message":"{\\"error\\":{\\"message\\":\\"Quota exceeded\\"}}",'
         '"details":[{"retryDelay":"90s"}]}}]', "usage_limit", 90),
        (244, "[API Error: An unknown error occurred.]", "overloaded", None),
        (17, "[API Error: The model is overloaded.]", "overloaded", None),
        (147, "[API Error: Permission denied.]", "bad_credentials", None),
        (53, "[API Error: Reached max session turns for this session.]", "failed", None),
    ],
)  # fmt: skip
def test_the_exit_code_adds_the_status_that_an_error_record_leaves_out(
    code: int, message: str, end: str, wait: float | None
) -> None:
    seen = gemini.read_output(ProgramExit(code, events(failing(message)), ended=NOW))
    assert (seen.end, seen.resets_at) == (end, None if wait is None else NOW + wait)
    assert "API Error" not in seen.detail


def test_an_exit_code_alone_says_nothing() -> None:
    cut = b"".join(exited("gemini_stream").stdout.splitlines(keepends=True)[:-1])
    for code in (0, 173, 145, 41):
        assert (
            gemini.read_output(
                ProgramExit(code, cut, b"Attempt 1 failed with status 429. Retrying with backoff...")
            ).end
            is None
        )
    assert gemini.read_output(ProgramExit(173)).end is None


def test_an_error_event_counts_where_nothing_came_after_it() -> None:
    loop = {"type": "error", "severity": "warning", "message": "Loop detected, stopping execution"}
    turns = {"type": "error", "severity": "error", "message": "Maximum session turns exceeded"}
    spoke = {"type": "message", "role": "assistant", "content": "on"}
    good = {"type": "result", "status": "success"}
    assert gemini.read_output(ProgramExit(0, events(loop, good))).detail == "Loop detected, stopping execution"
    assert gemini.read_output(ProgramExit(0, events(turns, good))).end == "failed"
    assert gemini.read_output(ProgramExit(0, events(turns, spoke, good))).end == "finished"


def test_the_last_words_are_put_together_and_thoughts_are_output() -> None:
    pieces = [
        {"type": "message", "role": "assistant", "content": text, "delta": True} for text in ("All ", "done", ".")
    ]
    tool = [{"type": "tool_use", "tool_name": "x", "tool_id": "1"}, {"type": "tool_result", "tool_id": "1"}]
    stats = {"total_tokens": 150, "input_tokens": 100, "output_tokens": 20, "cached": 60}
    result = {"type": "result", "status": "success", "stats": stats}
    seen = gemini.read_output(
        ProgramExit(0, events({"type": "message", "role": "user", "content": "Do"}, *pieces, *tool, result))
    )
    assert (seen.said, seen.usage) == ("All done.", Usage(40, 50, 60))


def test_a_denied_permission_is_told_with_what_it_was_for() -> None:
    use = {"type": "tool_use", "tool_name": "run_shell_command", "tool_id": "7", "parameters": {"command": "rm x"}}
    denied = {"type": "tool_result", "tool_id": "7", "status": "error", "error": {"type": "policy_violation"}}
    broken = {"type": "tool_result", "tool_id": "7", "status": "error", "error": {"type": "shell_execute_error"}}
    good = {"type": "result", "status": "success"}
    assert gemini.read_output(ProgramExit(0, events(use, denied, good))).denied == ("run_shell_command: rm x",)
    assert gemini.read_output(ProgramExit(0, events(use, broken, good))).denied == ()


def test_an_agent_that_speaks_of_limits_is_not_taken_at_its_word() -> None:
    words = 'Attempt 9 failed with status 429. {"session_id": "x", "error": {"message": "quota exceeded"}}'
    spoke = {"type": "message", "role": "assistant", "content": words}
    seen = gemini.read_output(ProgramExit(0, events(spoke, {"type": "result", "status": "success"})))
    assert (seen.end, seen.detail, seen.said) == ("finished", "", words)
    assert gemini.read_output(ProgramExit(1, events(spoke), words.encode())).end is None


def test_it_is_run_with_the_prompt_on_standard_input(tmp_path: Path) -> None:
    seen = played(place(tmp_path), Agent("mine", "gemini", model=PRO), "gemini_stream")
    assert (seen.args, seen.stdin) == (
        ("-o", "stream-json", "--skip-trust", "--approval-mode", "yolo", "-m", PRO),
        PROMPT,
    )
    assert (seen.turn.end, seen.turn.usage) == ("finished", Usage(1600, 75, 12900))


def test_a_refused_key_of_a_real_process_is_known_with_the_persons_permissions(
    tmp_path: Path,
) -> None:
    agent = Agent("mine", "gemini", args=("--approval-mode=plan",))
    seen = played(place(tmp_path), agent, "gemini_401", 144)
    assert (seen.turn.end, seen.turn.exit_code) == ("bad_credentials", 144)
    assert seen.args == ("-o", "stream-json", "--skip-trust", "--approval-mode=plan")
