"""What error messages, statuses and times in them mean, and how records are told from noise."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from aigon.agents.adapters._errors import (
    FARTHEST,
    classify_error,
    find_reset_time,
    find_status,
    parse_retry_after,
    read_error,
    read_stderr,
    unwrap_message,
)
from aigon.agents.adapters._program import last_words
from aigon.agents.adapters._records import is_cut, parse_last_document, parse_records
from aigon.model.turns import ProgramExit, TurnReport
from tests.agents.captured import exited, turn_after, turn_of

NOW = datetime(2026, 11, 20, 9, 0, tzinfo=UTC).timestamp()  # a Friday
HOUR = 3600.0


@pytest.mark.parametrize(
    ("end", "messages"),
    [
        ("usage_limit", """
            You’ve hit your usage limit. Upgrade to Pro or try again later.
            You've hit your 5-hour limit · resets 11:10am (UTC)
            Claude AI usage limit reached|1795173026
            5-hour usage limit reached. It will reset in 2 hours 3 minutes.
            You exceeded your current quota, please check your plan and billing details.
            Quota exceeded. Check your plan and billing details.
            You have exhausted your daily quota on this model.
            You have exhausted your capacity on this model. Your quota will reset after 5h12m30s.
            Your workspace is out of credits. Add credits to continue.
            You hit your spend cap set in your workspace.
            Your credit balance is too low to access the Anthropic API.
            Qwen OAuth quota exceeded: Your free daily quota has been reached.
            free allocated quota exceeded
            You have exceeded your premium request allowance
            Sorry, you have exceeded your Copilot token usage.
            {"error":{"type":"insufficient_quota"}}
            {"type":"error","error":{"type":"GoUsageLimitError"}}
            402 Payment Required
            Credit balance is too low
            You're out of extra usage · resets 3pm (UTC)
            Insufficient Balance"""),
        ("overloaded", """
            You have exceeded your rate limit, try again in 20s
            Rate limit reached for gpt-5 on tokens per min. Please try again in 1.2s.
            exceeded retry limit, last status: 429 Too Many Requests, request id: req_1
            Selected model is at capacity. Please try a different model.
            We’re currently experiencing high demand, which may cause temporary errors.
            Resource has been exhausted (e.g. check quota). (Status: RESOURCE_EXHAUSTED)
            Last error: 500 boom
            529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}
            503 Service Unavailable
            Server is temporarily limiting requests (not your usage limit)
            stream disconnected before completion: Overloaded"""),
        ("unavailable", """
            API Error: Connection refused — a firewall or proxy may be blocking it (ECONNREFUSED)
            API Error: Connection to the API was lost (ECONNRESET). This is usually temporary — try again.
            API Error: Connection dropped (ECONNRESET). Check the gateway set in ANTHROPIC_BASE_URL, then try again.
            API Error: Unable to connect to API (ENOTFOUND)
            Cannot connect to API: other side closed
            Could not connect to local model provider at ******. Check that the service is running.
            exception TypeError: fetch failed sending request
            Reconnecting... waiting for network (Connection failed: error sending request)
            stream disconnected before completion: error sending request
            stream disconnected before completion: stream closed before response.completed
            getaddrinfo EAI_AGAIN api.openai.com
            Connection error.
            Request timed out.
            All connection attempts failed"""),
        ("bad_credentials", """
            unexpected status 401 Unauthorized: Incorrect API key provided
            API key not valid. Please pass a valid API key.
            Missing API key for OpenAI-compatible auth.
            Missing environment variable: `OPENAI_API_KEY`.
            No auth type is selected. Please configure an auth type
            Error: No authentication information found.
            Please set an Auth method in your settings.json
            Invalid auth method selected.
            Not logged in · Please run /login
            Your access token could not be refreshed. Please log out and sign in again.
            invalid x-api-key
            Error: Classic Personal Access Tokens (ghp_) are not supported by Copilot.
            Authentication failed with provider (HTTP 401)."""),
        ("refused", """
            The model response was blocked due to safety settings.
            The response was blocked by the provider's content filter
            This request has been flagged for possible cybersecurity risk.
            API Error: Sonnet 4.5's safeguards flagged this message (https://www.anthropic.com/legal/aup).
            Invalid prompt: we've limited access to this content for safety reasons."""),
        ("failed", """
            400 context too long
            The model `x` does not exist
            You've reached your maximum context limit
            Request exceeds the model's prompt budget after reserving output (191355 tokens; limit 64000).
            Reached max session turns for this session.
            Incomplete response returned, reason: max_output_tokens
            ENOENT: no such file or directory, open '/tmp/429'
            no message"""),
    ],
)  # fmt: skip
def test_a_message_says_how_a_turn_ended(end: str, messages: str) -> None:
    told = [line.strip() for line in messages.strip().splitlines()]
    assert {message: classify_error(message) for message in told} == dict.fromkeys(told, end)


@pytest.mark.parametrize(
    ("status", "message", "end"),
    [
        (401, "no", "bad_credentials"),
        (403, "no", "bad_credentials"),
        (403, "You have exceeded a secondary rate limit", "overloaded"),
        (400, "API key not valid", "bad_credentials"),
        (400, "the tool `unauthorized_rate_limit` has no schema", "failed"),
        (404, "API key not valid", "failed"),
        (402, "no", "usage_limit"),
        (429, "no", "overloaded"),
        (404, "fetch failed", "failed"),
        (400, "the tool `connect` says: connection refused", "failed"),
        (429, "insufficient_quota", "usage_limit"),
        (500, "no", "overloaded"),
        (529, "no", "overloaded"),
        (422, "no", "failed"),
        (400, "content_policy_violation", "refused"),
        (999, "no", "failed"),
    ],
)
def test_a_status_weighs_more_than_most_words(status: int, message: str, end: str) -> None:
    assert classify_error(message, status) == end


@pytest.mark.parametrize(
    ("message", "status"),
    [
        ("unexpected status 401 Unauthorized: ...", 401),
        ("exceeded retry limit, last status: 429 Too Many Requests", 429),
        ("[API Error: 400 context too long]", 400),
        ('{"error":{"code":503,"message":"x"}}', 503),
        ("at http://127.0.0.1:500/v1 (HTTP 404).", 404),
        ("500 boom", 500),
        ("exit code 429, 400 files", 0),
        ("retried 500 times", 0),
        ("", 0),
    ],
)
def test_a_status_is_found_in_a_message_only_where_it_is_called_one(message: str, status: int) -> None:
    assert find_status(message) == status


@pytest.mark.parametrize(
    ("message", "when"),
    [
        ("try again at 11:10 AM (UTC)", datetime(2026, 11, 20, 11, 10, tzinfo=UTC)),
        ("resets 8:59am (UTC)", datetime(2026, 11, 21, 8, 59, tzinfo=UTC)),
        ("resets 12am (UTC)", datetime(2026, 11, 21, tzinfo=UTC)),
        ("resets 12:30pm (UTC)", datetime(2026, 11, 20, 12, 30, tzinfo=UTC)),
        ("available again at 17:05 UTC", datetime(2026, 11, 20, 17, 5, tzinfo=UTC)),
        ("resets 3pm (Europe/Berlin)", datetime(2026, 11, 20, 14, 0, tzinfo=UTC)),
        ("Try again at Nov 21st, 2026 11:10 AM (UTC).", datetime(2026, 11, 21, 11, 10, tzinfo=UTC)),
        ("resets Nov 24, 3pm (UTC)", datetime(2026, 11, 24, 15, 0, tzinfo=UTC)),
        ("resets Jan 2 at 3pm (UTC)", datetime(2027, 1, 2, 15, 0, tzinfo=UTC)),
        ("resets Mon 12:00 AM (UTC)", datetime(2026, 11, 23, tzinfo=UTC)),
        ("resets Friday 8am (UTC)", datetime(2026, 11, 27, 8, 0, tzinfo=UTC)),
        ("Your limit resets at 2026-11-21T03:00:00Z", datetime(2026, 11, 21, 3, 0, tzinfo=UTC)),
        ("retry after 2026-11-20 11:00:00+01:00", datetime(2026, 11, 20, 10, 0, tzinfo=UTC)),
        ("limit reached|1795173026", datetime(2026, 11, 20, 11, 10, 26, tzinfo=UTC)),
        ('"resets_at": 1795173026000', datetime(2026, 11, 20, 11, 10, 26, tzinfo=UTC)),
    ],
)
def test_a_time_is_read_as_people_and_servers_write_it(message: str, when: datetime) -> None:
    assert find_reset_time(message, NOW) == when.timestamp()


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("Please try again in 1.5s.", 1.5),
        ("try again in 3 hours 20 minutes", 12_000.0),
        ("try again in 2 days, 1 hour and 5 minutes", 176_700.0),
        ("Your quota will reset after 5h12m30s.", 18_750.0),
        ("Suggested retry after 60s.", 60.0),
        ('{"details":[{"retryDelay":"90s"}]}', 90.0),
        ("resets in 1 week", 604_800.0),
    ],
)
def test_a_span_counts_from_when_it_was_said(message: str, seconds: float) -> None:
    assert find_reset_time(message, NOW) == NOW + seconds
    assert find_reset_time(message, 0.0) is None


@pytest.mark.parametrize(
    "message",
    [
        *("try again later", "retried 5 times, try again 3 more", "until 5 files", "resets 25:00", "resets 13:61", ""),
        *("resets Feb 31, 3pm (UTC)", "try again in 500ms", "try again in 99999999 days", "resets in 3 months"),
        *("resets at 2026-99-99T00:00:00Z", "resets at 1949-01-01T00:00:00Z", "|1749924000"),
    ],
)
def test_what_says_no_time_or_one_that_cannot_be_is_none(message: str) -> None:
    assert find_reset_time(message, NOW) is None


def test_a_time_in_an_unknown_zone_is_this_machines() -> None:
    here = datetime.fromtimestamp(NOW).astimezone()
    then = (here + timedelta(hours=2)).replace(minute=30, second=0, microsecond=0)
    for zone in ("", " (No/Where)", " (PST8)"):
        assert find_reset_time(f"resets {then:%H:%M}{zone}", NOW) == then.timestamp()


@pytest.mark.parametrize(
    ("header", "when"),
    [
        ("7200", NOW + 7200),
        ("90.5", NOW + 90.5),
        ("Fri, 20 Nov 2026 11:00:00 GMT", NOW + 2 * HOUR),
        ("1", None),  # what a program waits for by itself
        ("-5", None),
        ("999999999", None),
        ("soon", None),
        ("", None),
        ("Fri, 99 Nov 2026", None),
    ],
)
def test_a_header_tells_of_a_wait_that_is_worth_one(header: str, when: float | None) -> None:
    assert parse_retry_after(header, NOW) == when
    assert parse_retry_after(header, 0.0) is None


def test_trouble_is_one_short_line_with_the_status_and_what_was_packed_inside() -> None:
    packed = json.dumps({"error": {"code": 429, "message": json.dumps({"error": {"message": "slow\ndown"}})}})
    assert read_error(f"[API Error: {packed}]\nPlease wait") == TurnReport("overloaded", "overloaded (429): slow down")
    assert read_error("") == TurnReport("failed", "no message")
    assert read_error("boom", 400).detail == "error (400): boom"
    assert len(read_error("x" * 10_000).detail) == 500
    assert read_error("rate limit", 429, now=NOW, retry_after="3600").resets_at == NOW + HOUR
    assert read_error("401: try again in 2 hours", 401, now=NOW).resets_at is None


def test_only_json_of_an_api_is_unpacked() -> None:
    for plain in ("no {json} here", "{", "}{", '{"a": 1}', '{"error": "text"}', "[1, 2]"):
        assert unwrap_message(plain) == plain
    assert unwrap_message('{"message": "inside"}') == "inside"


def test_standard_error_counts_only_if_a_program_failed_and_for_what_it_can_mean() -> None:
    assert read_stderr(ProgramExit(1, b"", b"Error: please log in\n")).end == "bad_credentials"
    assert (
        read_stderr(ProgramExit(1, b"", b"Error: rate limit, try again in 2 hours\n", ended=NOW)).resets_at
        == NOW + 2 * HOUR
    )
    for silent in (
        ProgramExit(0, b"", b"please log in"),
        ProgramExit(-9, b"", b"please log in"),
        ProgramExit(1, b"", b"ENOENT"),
    ):
        assert read_stderr(silent) == TurnReport()


def test_records_are_told_from_noise_and_can_be_written_down() -> None:
    noise = b'npm warn {\n{"type": "cut\n[... 12 bytes left out ...]\n[1, {"a": 1}]\r\n\xff{"b": 2}\n{"c": "\xff"}\n7\n'
    assert parse_records(noise) == [{"a": 1}, {"c": "\N{REPLACEMENT CHARACTER}"}]
    assert parse_records(b'{\n  "a": {\n "b": 1}\n}\n') == [{"a": {"b": 1}}]
    (odd,) = parse_records(b'{"lone": "\\ud800x", "pair": "\\ud83d\\ude00", "\xed\xa0\x80": 1}')
    assert json.dumps(odd, ensure_ascii=False).encode()
    assert (odd["lone"], odd["pair"]) == ("?x", "\N{GRINNING FACE}")
    assert is_cut(noise)
    assert not is_cut(b'{"text": "[... 12 bytes left out ...]"}')


def test_the_last_document_is_found_behind_a_log_and_before_more_of_it() -> None:
    log = b'Warning {\n{"first": 1}\nError {"inline": 2}\n{\n "error": {\n  "code": 4\n }\n}\nbye }\n{ not json\n'
    assert parse_last_document(log) == {"error": {"code": 4}}
    assert parse_last_document(b"{" * 3000) == {}
    assert parse_last_document(b"") == {}


@pytest.mark.parametrize(
    ("kind", "name", "code", "end", "detail"),
    [
        ("claude", "claude_credit", 1, "usage_limit", "usage limit (400): Credit balance is too low"),
        ("claude", "claude_refused", 1, "unavailable", "(ECONNREFUSED)"),
        ("claude", "claude_cut", 1, "unavailable", "(ECONNRESET). This is usually temporary"),
        ("codex", "codex_midover", 1, "overloaded", "stream disconnected before completion: Overloaded"),
        ("copilot", "copilot_classic_pat", 1, "bad_credentials", "bad credentials: Error: Classic Personal Access"),
    ],
)
def test_what_a_real_program_meets_is_held_up_or_bad_credentials_and_no_failure(
    kind: str, name: str, code: int, end: str, detail: str
) -> None:
    turn = turn_of(kind, name, code)
    assert turn.end == end and detail in turn.detail


DEADLINE = "(timed out after 3 s)"


@pytest.mark.parametrize(
    ("kind", "name", "end", "detail"),
    [
        ("codex", "codex_429_waiting", "overloaded", f"request id: req_0000123f90162149 {DEADLINE}"),
        ("codex", "codex_refused", "unavailable", f"no connection: waiting for network (Connection failed: error "
         f"sending request) {DEADLINE}"),
        ("gemini", "gemini_refused_network", "unavailable", "fetch failed sending request"),
    ],
)  # fmt: skip
def test_a_deadline_while_a_program_waits_for_its_model_is_no_failure(
    kind: str, name: str, end: str, detail: str
) -> None:
    turn = turn_after(kind, replace(exited(name, -2), timed_out=True))
    assert (turn.end, turn.failed) == (end, False)
    assert detail in turn.detail and turn.detail.endswith(DEADLINE)


def test_a_deadline_keeps_what_the_program_said_last() -> None:
    retrying = b"Retrying in 60s: 429 Too Many Requests\n"
    assert turn_after("qwen", ProgramExit(-2, b"", retrying, timed_out=True, ended=NOW)).end == "overloaded"
    busy = b'{"type":"system","subtype":"api_retry","attempt":1,"error_status":429,"error":"rate_limit"}\n'
    assert turn_after("claude", ProgramExit(143, busy, timed_out=True)).end == "overloaded"
    logged = (
        b'timestamp=2026-11-20T10:00:00.481Z level=ERROR run=1 message="stream error" providerID=local '
        b'error.error="AI_APICallError: Rate limit reached, please slow down"\n'
    )
    for begun, end in ((1_795_168_790_000, "overloaded"), (1_795_168_810_000, "timed_out")):
        step = b'{"type":"step_start","timestamp":%d,"part":{}}\n' % begun
        assert turn_after("opencode", ProgramExit(-2, step, logged, timed_out=True)).end == end
    unsaid = logged.replace(b"Rate limit reached, please slow down", b"no")
    assert turn_after("opencode", ProgramExit(-2, b"", unsaid, timed_out=True)).end == "overloaded"
    worked = b'{"type":"assistant","message":{"content":[{"type":"text","text":"so"}]}}\n'
    turn = turn_after("claude", ProgramExit(143, busy + worked, b"disk full\n", timed_out=True, duration=9.0))
    assert (turn.end, turn.detail) == ("timed_out", "timed out after 9 s: disk full")


def test_the_end_of_a_long_message_begins_with_a_whole_line_or_word() -> None:
    lines = b"first line of it\n" * 40 + b"the end"
    assert last_words(lines, 100).startswith("…first line of it\n")
    words = b"Copilot refuses a classic token " * 40
    assert re.match(r"…(Copilot|refuses|a|classic|token)\b", last_words(words, 100))
    assert last_words(b"x" * 200, 100) == "…" + "x" * 99


def test_no_wait_is_longer_than_a_year() -> None:
    assert find_reset_time("try again in 365 days", NOW) == NOW + 365 * 86_400
    assert find_reset_time("try again in 367 days", NOW) is None
    assert FARTHEST == 366 * 86_400
