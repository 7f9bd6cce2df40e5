"""What pi leaves: its session file, a record for each message; else what `--mode json` prints, with the same messages.

Written against version 0.73.1. With `--mode json` it exits with 0 on a bad key and on a rate limit: how a session ended
is the `stopReason` of the model's last message. Its `input` is without what was read from or written to a cache.
"""

import json
import re
from dataclasses import replace

from aigon.agents.adapters._errors import LONGEST_DETAIL, read_error, read_stderr
from aigon.agents.adapters._program import LAST_WORDS, last_words, parse_dollars
from aigon.agents.adapters._records import (
    Record,
    count_at,
    describe_use,
    filter_type,
    is_cut,
    list_at,
    parse_records,
    text_at,
    value_at,
)
from aigon.model.turns import ProgramExit, TurnReport, Usage

_MESSAGES = ("message", "message_end", "agent_end")
_HTTP = re.compile(r"([45]\d\d) (?P<body>\{.*\})", re.S)


def read_output(exited: ProgramExit) -> TurnReport:
    """Return the turn by the messages of the model."""
    found = parse_records(exited.report) or parse_records(exited.stdout)
    replies = _list_replies(found)
    texts = [text for reply in replies[::-1] if (text := _text(reply))]
    usage, cost = (None, None) if _is_incomplete(exited, found) else (_usage(replies), _cost(replies))
    return replace(
        _read_end(replies, exited) if replies else read_stderr(exited),
        said=(texts[0] if texts else "")[-LAST_WORDS:],
        model=next((text_at(reply, "model") for reply in replies[::-1]), ""),
        session=next((text_at(one, "id") for one in filter_type(found, "session")), ""),
        usage=usage,
        cost=cost,
        cost_status="unknown" if cost is None else "reported",
        tools=tuple(_describe_tool(part) for reply in replies for part in _parts(reply, "toolCall")),
    )


def _list_replies(found: list[Record]) -> list[Record]:
    """Return the messages of the model, each once: a stream has them when they are whole, and all again at its end."""
    each: dict[str, Record] = {}
    for one in filter_type(found, *_MESSAGES):
        for message in (one.get("message"), *list_at(one, "messages")):
            if isinstance(message, dict) and message.get("role") == "assistant":
                each.pop(name := _identify(message), None)  # the last place is the right one where a middle is left out
                each[name] = message
    return list(each.values())


def _identify(message: Record) -> str:
    """When it began and what the provider calls it; all of it where it has neither."""
    named = value_at(message, "timestamp"), text_at(message, "responseId")
    return repr(named if any(named) else message)


def _is_incomplete(exited: ProgramExit, found: list[Record]) -> bool:
    """Whether messages may be missing: the middle of a stream, unless its end has them all; the end of a file."""
    if exited.report:
        return not exited.report.endswith(b"\n")
    return is_cut(exited.stdout) and not filter_type(found, "agent_end")


def _read_end(replies: list[Record], exited: ProgramExit) -> TurnReport:
    match text_at(replies[-1], "stopReason"):
        case "stop":
            return TurnReport(end="finished")
        case "error":
            return _read_api_error(text_at(replies[-1], "errorMessage"), exited.ended)
        case "length":
            return TurnReport(end="failed", detail="the last reply was cut off at the model's limit")
        case "aborted":
            return TurnReport(end="failed", detail="aborted")
    if exited.report and not exited.report.endswith(b"\n") and exited.exit_code == 0 and last_words(exited.stdout):
        return TurnReport(end="finished")  # a file too long to be read to its end; without an answer it exits with 1
    return TurnReport(detail="stopped in the middle of its work")


def _read_api_error(message: str, now: float) -> TurnReport:
    """Read an API error, a status and a body: `429 {"type":"error","error":{"message":"..."}}`."""
    http = _HTTP.match(message)
    if http is None:
        return read_error(message, now=now)
    try:
        error = value_at(json.loads(http["body"]), "error")
    except (ValueError, RecursionError):
        error = None
    told = ": ".join(filter(None, (text_at(error, "type"), text_at(error, "message"))))
    return read_error(told or http["body"][:LONGEST_DETAIL], int(http[1]), now=now)


def _text(reply: Record) -> str:
    return "\n".join(filter(None, (text_at(part, "text") for part in _parts(reply, "text")))).strip()


def _parts(reply: Record, kind: str) -> list[object]:
    return [part for part in list_at(reply, "content") if text_at(part, "type") == kind]


def _describe_tool(part: object) -> str:
    return describe_use(value_at(part, "name"), value_at(part, "arguments"))


def _usage(replies: list[Record]) -> Usage | None:
    """Of all messages together. What was written to a cache was read by the model for the first time."""
    told = [reply for reply in replies if isinstance(reply.get("usage"), dict)]
    if not told:
        return None

    def total(key: str) -> int:
        return sum(count_at(reply, "usage", key) for reply in told)

    return Usage(total("input") + total("cacheWrite"), total("output"), total("cacheRead"))


def _cost(replies: list[Record]) -> float | None:
    """Return what it made of its own table of prices; unknown for a model that has none there."""
    told = [parse_dollars(value_at(reply, "usage", "cost", "total")) for reply in replies]
    usage = _usage(replies)
    cost = parse_dollars(sum(one for one in told if one is not None))
    spent = usage is not None and (usage.input or usage.output or usage.cached)
    return None if not told or None in told or (spent and not cost) else cost
