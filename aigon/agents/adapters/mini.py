"""Read the trajectory of mini-swe-agent, a JSON file that it writes anew after every step.

Written against version 2.4.6, which goes through litellm. Without the file (`--output` of a person's own), its screen
tells how it ended and what it cost: each message under a heading, the last of them `Exit:`.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from aigon.agents.adapters._errors import LITELLM_ERROR, TURNED_AWAY, read_exception, read_stderr
from aigon.agents.adapters._records import (
    Record,
    describe_use,
    drop_free_cost,
    join_texts,
    make_storable,
    objects_at,
    parse_dollars,
    sum_usage,
)
from aigon.model.turns import ProgramExit, TurnReport
from aigon.text.patterns import compile_re
from aigon.text.quoting import strip_escapes
from aigon.text.untrusted import count_at, list_at, text_at, value_at

_BEGINS = compile_re(r'^[ \t]*"messages":[ \t]*\[', re.M)
_INFO = compile_re(r'^[ \t]*"info":[ \t]*', re.M)
_BETWEEN = compile_re(r"[\s,]*")
_STEP = compile_re(r"^mini-swe-agent \(step \d+, \$(\d{1,9}\.\d\d)\):$", re.M)
_NEXT = compile_re(r"^(?:```|(?:Tool|User|Exit|System):$)", re.M)
_LIMITS = {
    "LimitsExceeded": "its limit of steps or of cost is reached",
    "TimeExceeded": "its limit of time is reached",
    "RepeatedFormatError": "the model did not call a tool, again and again",
}


def read_output(exited: ProgramExit) -> TurnReport:
    """Return the turn by its trajectory if it has one, else by the screen."""
    document = _parse_trajectory(exited.report)
    info, messages = value_at(document, "info"), objects_at(document, "messages")
    if not isinstance(value_at(info, "model_stats"), Mapping):
        return _read_screen(exited)
    counts = (value_at(message, "extra", "response", "usage") for message in messages)
    told = [count for count in counts if count_at(count, "prompt_tokens")]
    usage = sum_usage(told, "prompt_tokens", "completion_tokens", "prompt_tokens_details.cached_tokens")
    cost = drop_free_cost(parse_dollars(value_at(info, "model_stats", "instance_cost")), usage)
    actions = [action for message in messages for action in list_at(message, "extra", "actions")]
    return replace(
        _trajectory_end(text_at(info, "exit_status"), messages, exited.ended),
        said=next((text for message in messages[::-1] if (text := _text(message))), text_at(info, "submission")),
        model=text_at(info, "config", "model", "model_name"),
        usage=usage,
        cost=cost,
        tools=tuple(describe_use("bash", action) for action in actions),
    )


def _parse_trajectory(report: bytes) -> object:
    """Return the document. It is written in place: a program that was killed, or a very long one, leaves a part."""
    text = report.decode("utf-8", "replace")
    try:
        return make_storable(json.loads(text), text)
    except (ValueError, RecursionError):
        pass
    info, messages = _INFO.search(text), _BEGINS.search(text)
    parts = {
        "info": next(_parse_values(text, info.end()), None) if info else None,
        "messages": list(_parse_values(text, messages.end())) if messages else [],
    }
    try:
        return make_storable(parts, text)
    except (ValueError, RecursionError):
        return None


def _parse_values(text: str, place: int) -> Iterator[object]:
    """Yield the values of a list up to the first that is not whole."""
    while True:
        between = _BETWEEN.match(text, place)
        try:
            value, place = json.JSONDecoder().raw_decode(text, between.end() if between else place)
        except (ValueError, RecursionError):
            return
        yield value


def _trajectory_end(status: str, messages: Sequence[Record], now: float) -> TurnReport:
    if status == "Submitted":
        return TurnReport("finished")
    if not status:
        return TurnReport(detail="stopped in the middle of its work")
    if status in _LIMITS:
        return TurnReport("failed", _LIMITS[status])
    message = next((text_at(one, "content") for one in messages[::-1] if one.get("role") == "exit"), "")
    return read_exception(status, message, now)


def _text(message: Record) -> str:
    """Return what the model said in a message. A reply that calls no tool comes with a complaint about it."""
    if text_at(message, "role") == "assistant":
        return text_at(message, "content") or join_texts(list_at(message, "content"))
    answers = list_at(message, "extra", "response", "choices")
    return text_at(answers[0], "message", "content") if answers else ""


def _read_screen(exited: ProgramExit) -> TurnReport:
    """Return the turn by what was printed. Its sum only grows, so the largest is the last, whatever a model prints."""
    text = strip_escapes(exited.stdout.decode("utf-8", "replace"))
    steps = list(_STEP.finditer(text))
    if not steps and "\nExit:\n" not in text:
        return read_stderr(exited)
    cost = max((float(step[1]) for step in steps), default=0.0)
    said = _NEXT.split(text[steps[-1].end() :], maxsplit=1)[0].strip() if steps else ""
    report = replace(_screen_end(text, exited), said=said)
    known = cost > 0 or (not steps and report.end in TURNED_AWAY)
    return replace(report, cost=cost) if known else report


def _screen_end(text: str, exited: ProgramExit) -> TurnReport:
    """Tell a submission from an error by the exit code and by the word that the trajectory was saved."""
    last = text.rpartition("\nExit:\n")[2].strip() if "\nExit:\n" in text else ""
    error = LITELLM_ERROR.match(last)
    if error and (exited.exit_code or 0) > 0:
        return read_exception(error["name"], last, exited.ended)
    submitted, saved, _ = last.rpartition("Saved trajectory to")
    if not saved or exited.exit_code:
        return TurnReport()
    limit = submitted.strip()
    return TurnReport("failed", limit) if limit in _LIMITS else TurnReport("finished")
