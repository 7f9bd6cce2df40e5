"""Whole sessions against a real server on loopback: what the model gets, what is counted, how it ends."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agents.api.sessions import Desk
from tests.agents.api.streaming import bash, cut, dropped, edit, ending, results, streamed, stumbling, text, use
from tests.model_server import Reply, Request, refusal


def test_a_session_edits_runs_and_ends_with_a_claim_and_records_each_tool_use(desk: Desk) -> None:
    s = desk.ask(
        streamed(
            text("I begin"), edit("create", 1, path="a/b.sh", file_text="echo 41\n"), cache_creation_input_tokens=50
        ),
        streamed(
            edit("str_replace", 2, path="a/b.sh", old_str="41", new_str="42"), use("bash", 3, command="sh a/b.sh")
        ),
        bash("exit 3", 4),
        ending(),
    )
    assert (s.ending.end, s.ending.action) == ("finished", "DONE") and "it is there" in s.ending.said
    assert (desk.workspace / "a/b.sh").read_text() == "echo 42\n"
    assert s.answers(2)[1] == "42" and "[exit 3]" in s.answers(3)[0]
    assert [(t["tool"], t["exit"], t["failed"], t["turn"]) for t in s.tools][2:] == [
        ("bash", 0, False, 2),
        ("bash", 3, False, 3),
    ]
    assert s.tools[2]["output"] == "42" and s.tools[2]["seconds"] > 0
    assert s.of("tool")[0]["line"] == "edit: create a/b.sh"
    assert [c["input"] for c in s.of("call")] == [1000] * 4 and s.of("call")[0]["cache_write"] == 50
    assert sum(c["cost"] for c in s.of("call")) == pytest.approx((4 * 1000 * 2 + 50 * 2.5 + 4 * 100 * 10) / 1e6)


def test_system_tools_and_last_message_are_cached_and_effort_is_asked_for(desk: Desk) -> None:
    s = desk.ask(bash("true"), ending(), effort="high")
    body = s.requests[-1].body
    assert (
        body["system"][-1]["cache_control"]
        == body["messages"][-1]["content"][-1]["cache_control"]
        == {"type": "ephemeral"}
    )
    assert "cache_control" not in json.dumps(body["messages"][:-1]) and body["stream"] is True
    assert body["output_config"]["effort"] == "high" and body["output_config"]["format"]["type"] == "json_schema"
    assert {tool["type"] for tool in body["tools"]} == {"bash_20250124", "text_editor_20250728"}
    assert "tool_choice" not in body and "thread" not in body


def test_what_passes_is_retried_with_the_same_conversation_and_losses_are_counted(desk: Desk) -> None:
    s = desk.ask(
        bash("echo once >>log"),
        refusal(429, retry_after="0"), refusal(529), refusal(500), refusal(408),
        cut(text("half a sentence")), dropped(text("another")), stumbling("overloaded_error", text("a third")),
        ending(), attempts=9,
    )  # fmt: skip
    assert s.ending.end == "finished" and (desk.workspace / "log").read_text() == "once\n"
    again = [request.body["messages"] for request in s.requests[1:]]
    assert len(again) == 8 and all(messages == again[0] for messages in again)
    assert [c["stopped"] for c in s.of("call")].count("broken off") >= 2 and len(s.of("retry")) == 7
    assert all(c["cost"] > 0 for c in s.of("call"))


@pytest.mark.parametrize(
    ("reply", "end", "asked"),
    [
        (refusal(429, retry_after="3600"), "overloaded", 1),
        (refusal(529), "overloaded", 3),
        (stumbling("api_error", text("a")), "overloaded", 3),
        (cut(text("a")), "overloaded", 3),
        (cut(events=0), "overloaded", 3),
        (refusal(429, code="spend_limit_exceeded"), "usage_limit", 1),
        (refusal(400, "Your credit balance is too low to access the API"), "usage_limit", 1),
        (refusal(402), "usage_limit", 1),
        (refusal(401, "invalid x-api-key"), "bad_credentials", 1),
        (refusal(403), "bad_credentials", 1),
        (stumbling("authentication_error", text("a")), "bad_credentials", 1),
        (refusal(404, "model: nothing of that name"), "failed", 1),
        (refusal(400, "messages: something is wrong"), "failed", 1),
        (streamed(text("I will not"), stop="refusal"), "refused", 1),
        (Reply(b"<html>a proxy</html>", headers={"content-type": "text/html"}), "overloaded", 3),
    ],
)  # fmt: skip
def test_an_error_that_stays_ends_the_session_as_what_it_is(desk: Desk, reply: Reply, end: str, asked: int) -> None:
    s = desk.ask(reply, attempts=3)
    assert (s.ending.end, len(s.requests)) == (end, asked) and s.ending.detail
    assert (s.ending.resets_at is not None) == (reply.headers.get("retry-after") == "3600")


def test_an_address_where_nobody_answers_is_unavailable(desk: Desk) -> None:
    s = desk.ask(ending(), url="http://127.0.0.1:9", attempts=2)
    assert s.ending.end == "unavailable" and s.requests == [] and len(s.of("retry")) == 1


def test_a_server_that_never_answers_is_not_waited_for_without_end(desk: Desk) -> None:
    s = desk.ask(streamed(text("late"), delay=30), attempts=2, patience=0.3)
    assert s.ending.end in ("unavailable", "overloaded") and len(s.requests) == 2


@pytest.mark.parametrize(
    "raw", ['{"command": }', '{"command": "touch bad', '["touch bad"]', '{"command" "touch bad"}', "touch"]
)
def test_input_that_is_no_json_goes_back_to_the_model_and_nothing_is_run(desk: Desk, raw: str) -> None:
    s = desk.ask(streamed(text("so"), use("bash", 1, raw=raw)), bash("touch good", 2), ending())
    assert s.ending.action == "DONE" and [path.name for path in desk.workspace.iterdir()] == ["good"]
    [error] = results(s.requests[1])
    assert error["is_error"] and "JSON" in error["content"] and error["tool_use_id"] == "toolu_bash_1"
    [asked] = [b for b in s.requests[1].body["messages"][1]["content"] if b["type"] == "tool_use"]
    assert list(asked["input"]) == ["INVALID_JSON"]


def test_a_tool_that_is_not_there_and_one_that_breaks_are_errors_that_the_model_sees(desk: Desk) -> None:
    s = desk.ask(streamed(use("browser", 1), use("bash", 2, command=7), use("bash", 3, command="echo on")), ending())
    missing, broken, fine = results(s.requests[1])
    assert missing["is_error"] and "browser" in missing["content"] and "bash" in missing["content"]
    assert broken["is_error"] and "`command` has to be a text" in broken["content"]
    assert fine["content"] == "on" and "is_error" not in fine and len(s.tools) == 3


@pytest.mark.parametrize(
    ("caps", "said", "asked"),
    [
        ({"max_turns": 2}, "cap of 2 turns", 2),
        ({"max_tokens": 3000}, "cap of 3000 tokens", 2),
        ({"max_cost": 0.02}, "cap of $0.02", 4),
        ({"max_cost": 0.0}, "cap of $0", 0),
    ],
)
def test_a_session_stops_at_its_caps_and_says_at_which(desk: Desk, caps: dict[str, Any], said: str, asked: int) -> None:
    s = desk.ask(bash("true"), **caps)
    assert s.ending.end == "finished" and said in s.ending.detail and len(s.requests) == asked


def test_replies_shrink_with_the_money_left_and_a_cap_without_a_price_is_none(
    desk: Desk,
) -> None:
    s = desk.ask(ending(), max_cost=0.05)
    assert s.requests[0].body["max_tokens"] == 5000
    unpriced = desk.ask(ending(), model="a-model-of-nobodys", max_cost=0.05)
    assert "cannot be kept" in unpriced.of("note")[0]["text"] and unpriced.of("call")[0]["cost"] is None


def test_a_reply_cut_off_at_its_limit_is_not_carried_out(desk: Desk) -> None:
    half = streamed(text("now"), use("bash", 1, raw='{"command": "touch cut"}'), stop="max_tokens")
    s = desk.ask(half, ending())
    assert s.ending.action == "DONE" and not [*desk.workspace.iterdir()]
    assert [m["role"] for m in s.requests[1].body["messages"]] == ["user", "assistant", "user"]
    assert "smaller steps" in json.dumps(s.requests[1].body["messages"][-1])
    assert "cut off" in desk.ask(half).ending.detail


def test_old_outputs_go_before_the_context_is_full_and_every_result_keeps_its_use(desk: Desk) -> None:
    def grown(request: Request) -> Reply:
        count = len(request.body["messages"])
        if count > 24:
            return ending()
        used = len(json.dumps(request.body["messages"])) // 3
        return streamed(use("bash", count, command="seq 4000"), input_tokens=used, output_tokens=20)

    s = desk.ask(grown, context=20_000)
    sizes = [len(json.dumps(request.body["messages"])) // 3 for request in s.requests]
    assert s.ending.action == "DONE" and max(sizes) < 22_000 and "no longer shown" in json.dumps(s.requests[-1].body)
    for request in s.requests:
        asked = [
            b["id"]
            for m in request.body["messages"]
            for b in m["content"]
            if isinstance(b, dict) and b["type"] == "tool_use"
        ]
        told = [
            b["tool_use_id"]
            for m in request.body["messages"]
            for b in m["content"]
            if isinstance(b, dict) and b["type"] == "tool_result"
        ]
        assert asked == told and request.body["messages"][0]["role"] == "user"


def test_a_prompt_that_is_too_long_is_shortened_and_refused_parts_are_left_out(desk: Desk) -> None:
    s = desk.ask(bash("seq 3000"), refusal(400, "prompt is too long: 210000 tokens > 200000 maximum"), ending())
    before, after = (len(json.dumps(request.body["messages"])) for request in s.requests[1:])
    assert s.ending.action == "DONE" and after < before * 0.7
    plain = desk.ask(
        refusal(400, "output_config.format: not supported"),
        refusal(400, "effort is no parameter"),
        ending(),
        effort="low",
    )
    assert plain.ending.action == "DONE" and "output_config" not in plain.requests[-1].body


def test_a_pause_is_gone_on_from_and_thoughts_are_sent_back_as_they_were(desk: Desk) -> None:
    s = desk.ask(streamed(text("wait"), stop="pause_turn"), ending())
    assert [m["role"] for m in s.requests[1].body["messages"]] == ["user", "assistant"] and s.ending.action == "DONE"


def test_secrets_of_the_environment_are_in_no_record(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MY_API_KEY", "very-secret-value-1")
    (tmp_path / "work/leak").write_text("very-secret-value-1")
    s = desk.ask(bash("cat leak; echo $MY_API_KEY; env"), ending())
    assert "very-secret" not in json.dumps([s.records, s.tools, [r.body for r in s.requests]])
    assert "[redacted]" in s.answers()[0]
