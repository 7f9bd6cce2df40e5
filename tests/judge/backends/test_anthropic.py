"""The Anthropic judge against a real HTTP server on loopback."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from aigon.judge.backends import anthropic
from aigon.judge.reply import Decisions, build_schema
from aigon.model.requests import JudgeAnswer, JudgeQuestion, JudgeSettings
from aigon.model.turns import Usage
from tests.model_server import ModelServer, Reply, message, refusal
from tests.scripted_judges import decision, decisions

KEY = "sk-ant-fake-for-loopback"
MET = decisions(decision(1))
ASKED = JudgeQuestion("RULES", "SHARED", "TASK", build_schema(Decisions), {})
Serve = Callable[..., ModelServer]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Starts a scripted server and points the SDK's own environment variable at it."""
    for name in ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS", "HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with ExitStack() as stack:

        def start(*replies: Reply) -> ModelServer:
            server = stack.enter_context(ModelServer(*replies))
            monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
            monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
            return server

        yield start


def settings(timeout: float = 10.0, model: str = "claude-sonnet-5-5") -> JudgeSettings:
    return JudgeSettings("anthropic", model=model, timeout=timeout)


def failure(answer: JudgeAnswer) -> str:
    """Why there is no answer; there must be none then."""
    assert answer.failure and not answer.text
    return answer.failure


def test_the_text_of_the_reply_is_the_answer_as_it_came(serve: Serve) -> None:
    server = serve(message("  {not even JSON "), message(MET, thinking="Let me see whether this is met."))
    assert anthropic.ask(ASKED, settings()).text == "  {not even JSON "
    assert anthropic.ask(ASKED, settings()) == JudgeAnswer(MET, "", 0.003, "estimated", Usage(1000, 100))
    assert len(server.requests) == 2


def test_the_call_asks_for_the_format_and_forces_no_tool(serve: Serve) -> None:
    server = serve(message(MET))
    anthropic.ask(ASKED, settings())
    [sent] = server.requests
    assert sent.path == "/v1/messages"
    assert KEY in (sent.headers.get("x-api-key", ""), sent.headers.get("authorization", "").removeprefix("Bearer "))
    assert sent.body["model"] == "claude-sonnet-5-5"
    form = sent.body["output_config"]["format"]
    one = form["schema"]["properties"]["verdicts"]["items"]
    assert form["type"] == "json_schema" and one["properties"]["status"]["enum"] == ["met", "unclear", "unmet"]
    assert one["required"] == ["criterion", "quotes", "missing", "reason", "status"]
    assert "tool_choice" not in sent.body
    assert not sent.body.get("stream")


def test_what_all_calls_share_comes_first_and_is_cached(serve: Serve) -> None:
    server = serve(message(MET))
    anthropic.ask(ASKED, settings())
    [sent] = server.requests
    assert sent.body["system"] == "RULES"
    assert sent.body["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "SHARED", "cache_control": {"type": "ephemeral"}},
                {"type": "text", "text": "TASK"},
            ],
        }
    ]


def test_the_cost_is_estimated_from_the_tokens(serve: Serve) -> None:
    serve(message(MET, cache_creation_input_tokens=400, cache_read_input_tokens=1000))
    answer = anthropic.ask(ASKED, settings())
    assert answer.usage == Usage(input=1400, output=100, cached=1000)
    assert answer.cost == pytest.approx((1000 * 2 + 400 * 2.5 + 1000 * 0.2 + 100 * 10) / 1_000_000)
    assert answer.cost_status == "estimated"


def test_the_cost_of_a_model_without_a_price_is_unknown(serve: Serve) -> None:
    serve(message(MET))
    answer = anthropic.ask(ASKED, settings(model="claude-next"))
    assert (answer.cost, answer.cost_status) == (None, "unknown")
    assert answer.usage == Usage(input=1000, output=100)


@pytest.mark.parametrize(
    ("stop_reason", "says"),
    [("max_tokens", "cut at 8,000 tokens"), ("refusal", "refused"), ("pause_turn", "ended early (pause_turn)")],
)
def test_a_whole_answer_in_a_reply_that_did_not_end_well_is_none(serve: Serve, stop_reason: str, says: str) -> None:
    serve(message(MET, stop_reason=stop_reason))
    answer = anthropic.ask(ASKED, settings())
    assert says in failure(answer)
    assert answer.available and answer.cost is not None, "it has been paid for all the same"


@pytest.mark.parametrize("body", [b"", b"[]", b"<html>", b'{"content": 1}', b'{"type": "message"}', b"\xff\xfe"])
def test_a_body_that_is_no_message_is_no_answer(serve: Serve, body: bytes) -> None:
    serve(Reply(body))
    answer = anthropic.ask(ASKED, settings())
    assert failure(answer)
    assert (answer.cost, answer.cost_status, answer.available) == (None, "unknown", True)


def test_a_reply_without_usage_costs_nobody_knows_what(serve: Serve) -> None:
    body = message(MET).body.replace(b'"usage"', b'"used"')
    serve(Reply(body))
    answer = anthropic.ask(ASKED, settings())
    assert (answer.text, answer.cost, answer.usage) == (MET, None, None)


def test_an_overloaded_server_is_asked_again(serve: Serve) -> None:
    server = serve(refusal(529, "overloaded", retry_after="0"), refusal(500, "oops"), message(MET))
    assert anthropic.ask(ASKED, settings()).text == MET
    assert len(server.requests) == 3


def test_a_rate_limit_is_waited_for_as_long_as_the_server_asks(serve: Serve) -> None:
    server = serve(refusal(429, "slow down", retry_after="1"), message(MET))
    began = time.monotonic()
    assert anthropic.ask(ASKED, settings()).text == MET
    assert time.monotonic() - began >= 1
    assert len(server.requests) == 2


def test_a_server_that_asks_for_a_long_wait_is_not_asked_again(serve: Serve) -> None:
    server = serve(refusal(429, "slow down", retry_after="3600"))
    began = time.monotonic()
    answer = anthropic.ask(ASKED, settings(timeout=100_000))
    assert failure(answer) == "the judge could not be asked: 429 slow down, asked to wait 3600 s"
    assert answer.available
    assert time.monotonic() - began < 30
    assert len(server.requests) == 1


def test_a_wait_that_would_end_after_the_timeout_is_not_begun(serve: Serve) -> None:
    server = serve(refusal(429, retry_after="15"), message(MET))
    began = time.monotonic()
    assert "429" in failure(anthropic.ask(ASKED, settings(timeout=3)))
    assert time.monotonic() - began < 13
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [500, 529])
def test_three_attempts_are_all(serve: Serve, status: int) -> None:
    server = serve(refusal(status, "broken", retry_after="0"))
    answer = anthropic.ask(ASKED, settings())
    assert f"{status} broken" in failure(answer)
    assert answer.available
    assert answer.cost is None
    assert len(server.requests) == 3


def test_a_spend_limit_is_not_asked_again_and_makes_the_judge_unavailable(serve: Serve) -> None:
    server = serve(refusal(429, "limit reached", code="enforced_spend_limit_reached", retry_after="1"))
    answer = anthropic.ask(ASKED, settings())
    assert "limit reached" in failure(answer)
    assert not answer.available
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_key_that_is_refused_makes_the_judge_unavailable_and_is_never_shown(serve: Serve, status: int) -> None:
    server = serve(refusal(status, "not allowed"))
    answer = anthropic.ask(ASKED, settings())
    assert f"{status} not allowed" in failure(answer)
    assert (answer.available, answer.cost) == (False, 0)
    assert KEY not in repr(answer)
    assert len(server.requests) == 1


def test_a_key_that_no_header_can_hold_is_never_shown(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(message(MET))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-broken\nin-two")
    answer = anthropic.ask(ASKED, settings(timeout=5))
    assert failure(answer)
    assert "sk-ant" not in repr(answer)


def test_a_bad_request_is_not_asked_again(serve: Serve) -> None:
    server = serve(refusal(400, "prompt is too long"))
    answer = anthropic.ask(ASKED, settings())
    assert "400 prompt is too long" in failure(answer)
    assert answer.available
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "late", [message(MET, delay=30), Reply(message(MET).body, pause=0.1)], ids=["silent", "a byte at a time"]
)
def test_an_answer_that_comes_too_late_is_none(serve: Serve, late: Reply) -> None:
    serve(late)
    began = time.monotonic()
    answer = anthropic.ask(ASKED, settings(timeout=1))
    assert failure(answer) == "the judge did not answer within 1 s"
    assert (answer.cost, answer.cost_status, answer.available) == (None, "unknown", True)
    assert time.monotonic() - began < 20  # the first import of the SDK is in it


def test_nobody_at_the_other_end_is_no_answer(serve: Serve) -> None:
    server = serve(message(MET))
    server.__exit__(None, None, None)
    answer = anthropic.ask(ASKED, settings(timeout=5))
    assert "Connection error" in failure(answer)
    assert answer.available


def test_a_token_is_sent_where_there_is_no_key(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve(message(MET))
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "fake-token")
    anthropic.ask(ASKED, settings())
    assert server.requests[0].headers["authorization"] == "Bearer fake-token"


def test_without_a_key_the_judge_is_unavailable_and_looks_nowhere_else(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(message(MET))
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    answer = anthropic.ask(ASKED, settings())
    assert "ANTHROPIC_API_KEY" in failure(answer)
    assert not answer.available
    assert server.requests == []


def test_it_is_ready_with_a_key_or_a_token_and_says_how_to_get_ready() -> None:
    assert anthropic.explain_unready(settings(), {"ANTHROPIC_API_KEY": KEY}) == ""
    assert anthropic.explain_unready(settings(), {"ANTHROPIC_AUTH_TOKEN": "t"}) == ""
    missing = anthropic.explain_unready(settings(), {"ANTHROPIC_API_KEY": ""})
    assert "ANTHROPIC_API_KEY" in missing
    assert "Export one" in missing
