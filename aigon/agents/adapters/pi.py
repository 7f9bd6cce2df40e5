"""Read pi's session file, a record for each message, else `--mode json`, which prints the same messages.

Written against version 0.73.1. With `--mode json` it exits with 0 on a bad key and on a rate limit: how a session ended
is the `stopReason` of the model's last message. Its `input` is without what was read from or written to a cache.
"""

import json
import re

from msgspec.structs import replace

from aigon.agents.adapters._errors import read_error, read_stderr
from aigon.agents.adapters._program import LONGEST_DETAIL, last_words
from aigon.agents.adapters._records import (
    Record,
    RecordList,
    drop_free_cost,
    is_cut,
    join_texts,
    objects_at,
    parse_dollars,
    parse_records,
    sum_usage,
)
from aigon.model.turns import ProgramExit, TurnReport, Usage
from aigon.text.patterns import compile_re
from aigon.text.untrusted import list_at, text_at, value_at

_HTTP = compile_re(r"([45]\d\d) (?P<body>\{.*\})", re.S)


def read_output(exited: ProgramExit) -> TurnReport:
    """Return the turn by the messages of the model."""
    records = parse_records(exited.report) or parse_records(exited.stdout)
    replies = _list_replies(records)
    parts = [objects_at(reply, "content") for reply in replies]
    texts = [text for some in parts[::-1] if (text := join_texts(some.of("text")))]
    calls = RecordList(part for some in parts for part in some.of("toolCall"))
    usage = cost = None
    if not _is_incomplete(exited, records):
        # What was written to a cache was read by the model for the first time.
        counts = (value_at(reply, "usage") for reply in replies)
        usage = sum_usage(counts, "input cacheWrite", "output", "cacheRead", input_holds_cached=False)
        cost = _cost(replies, usage)
    return replace(
        _read_end(replies, exited) if replies else read_stderr(exited),
        said=next(iter(texts), ""),
        model=text_at(replies[-1], "model") if replies else "",
        session=records.of("session").first_text("id"),
        usage=usage,
        cost=cost,
        tools=calls.describe_uses("name", "arguments"),
    )


def _list_replies(records: RecordList) -> RecordList:
    """Return the messages of the model, each once: a stream has them when they are whole, and all again at its end."""
    replies: dict[str, Record] = {}
    for record in records.of("message", "message_end", "agent_end"):
        for message in (record.get("message"), *list_at(record, "messages")):
            if isinstance(message, dict) and message.get("role") == "assistant":
                # When it began and what the provider calls it name a message; all of it if it has neither.
                name = value_at(message, "timestamp"), text_at(message, "responseId")
                key = repr(name if any(name) else message)
                replies.pop(key, None)  # the last place is the right one if a middle is left out
                replies[key] = message
    return RecordList(replies.values())


def _is_incomplete(exited: ProgramExit, records: RecordList) -> bool:
    """Return whether messages may be missing: a stream's middle, unless its end has them all; the end of a file."""
    if exited.report:
        return not exited.report.endswith(b"\n")
    return is_cut(exited.stdout) and not records.of("agent_end")


def _read_end(replies: RecordList, exited: ProgramExit) -> TurnReport:
    match text_at(replies[-1], "stopReason"):
        case "stop":
            return TurnReport("finished")
        case "error":
            return _read_api_error(text_at(replies[-1], "errorMessage"), exited.ended)
        case "length":
            return TurnReport("failed", "the last reply was cut off at the model's limit")
        case "aborted":
            return TurnReport("failed", "aborted")
    if exited.report and not exited.report.endswith(b"\n") and exited.exit_code == 0 and last_words(exited.stdout):
        return TurnReport("finished")  # a file too long to be read to its end; without an answer pi exits with 1
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


def _cost(replies: RecordList, usage: Usage | None) -> float | None:
    """Return the cost by pi's own table of prices; None for a model that has none there."""
    costs = [parse_dollars(value_at(reply, "usage", "cost", "total")) for reply in replies]
    if not costs or None in costs:
        return None
    return drop_free_cost(parse_dollars(sum(cost for cost in costs if cost is not None)), usage)
