"""The trajectory of mini-swe-agent: one JSON document with `info` and `messages`, whole or cut off at its end."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from aigon.agents.adapters._errors import TURNED_AWAY, read_exception, read_stderr
from aigon.agents.adapters._program import LAST_WORDS, parse_dollars
from aigon.agents.adapters._records import Record, count_at, describe_use, list_at, text_at, value_at
from aigon.model.turns import ProgramExit, TurnReport, Usage
from aigon.text.fingerprints import strip_escapes

_BEGINS = re.compile(r'^[ \t]*"messages":[ \t]*\[', re.M)
_INFO = re.compile(r'^[ \t]*"info":[ \t]*', re.M)
_BETWEEN = re.compile(r"[\s,]*")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Trajectory:
    """`info` has cost, exit_status, submission and model, and nothing at all where there is no trajectory."""

    info: Mapping[str, object] = field(default_factory=dict)
    messages: tuple[Record, ...] = ()


def parse_trajectory(report: bytes) -> Trajectory:
    """What is in the file. It is written in place: a program that was killed, or a very long one, leaves a part."""
    text = report.decode("utf-8", "replace")
    document = _parse_whole(text) or _parse_parts(text)
    if _SURROGATE.search(text):
        document = _make_storable(document)
    info = value_at(document, "info")
    if not isinstance(info, Mapping) or not isinstance(value_at(info, "model_stats"), Mapping):
        return Trajectory()
    messages = tuple(one for one in list_at(document, "messages") if isinstance(one, dict))
    return Trajectory(
        {
            "cost": value_at(info, "model_stats", "instance_cost"),
            "exit_status": text_at(info, "exit_status"),
            "submission": text_at(info, "submission"),
            "model": text_at(info, "config", "model", "model_name"),
        },
        messages,
    )


def _parse_whole(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _parse_parts(text: str) -> object:
    """The info, which stands first, and the messages up to the first that is not whole."""
    info, messages = _INFO.search(text), _BEGINS.search(text)
    found = next(_values(text, info.end()), None) if info else None
    return {"info": found, "messages": list(_values(text, messages.end())) if messages else []}


def _values(text: str, place: int) -> Iterator[object]:
    while True:
        between = _BETWEEN.match(text, place)
        try:
            value, place = _DECODER.raw_decode(text, between.end() if between else place)
        except (ValueError, RecursionError):
            return
        yield value


def _make_storable(value: object) -> object:
    """Half a surrogate pair, which JSON can spell and no file can hold, becomes a question mark."""
    try:
        return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


_STEP = re.compile(r"^mini-swe-agent \(step \d+, \$(\d{1,9}\.\d\d)\):$", re.M)
_NEXT = re.compile(r"^(?:```|(?:Tool|User|Exit|System):$)", re.M)
_LIMITS = ("LimitsExceeded", "TimeExceeded", "RepeatedFormatError")
_ERROR = re.compile(r"litellm\.([A-Z]\w+): ")


def _read_screen(exited: ProgramExit) -> TurnReport:
    """The turn by what was printed. Its sum only grows, so that the largest is the last, whatever a model prints."""
    text = strip_escapes(exited.stdout.decode("utf-8", "replace"))
    steps = list(_STEP.finditer(text))
    if not steps and "\nExit:\n" not in text:
        return read_stderr(exited)
    cost = max((float(step[1]) for step in steps), default=0.0)
    said = _NEXT.split(text[steps[-1].end() :], maxsplit=1)[0].strip() if steps else ""
    ended = _screen_end(text, exited)
    known = cost > 0 or (not steps and ended.end in TURNED_AWAY)
    return replace(
        ended,
        said=said[-LAST_WORDS:],
        cost=cost if known else None,
        cost_status="reported" if known else "unknown",
    )


def _screen_end(text: str, exited: ProgramExit) -> TurnReport:
    """A submission is told from an error by the exit and by the word that the trajectory was saved."""
    last = text.rpartition("\nExit:\n")[2].strip() if "\nExit:\n" in text else ""
    error = _ERROR.match(last)
    if error and (exited.exit_code or 0) > 0:
        return read_exception(error[1], last, exited.ended)
    submitted, saved, _ = last.rpartition("Saved trajectory to")
    if not saved or exited.exit_code:
        return TurnReport()
    limit = submitted.strip()
    return TurnReport(end="failed", detail=limit) if limit in _LIMITS else TurnReport(end="finished")


_LIMIT_WORDS = {
    "LimitsExceeded": "its limit of steps or of cost is reached",
    "TimeExceeded": "its limit of time is reached",
    "RepeatedFormatError": "the model did not call a tool, again and again",
}


def read_output(exited: ProgramExit) -> TurnReport:
    """The turn by its trajectory."""
    run = parse_trajectory(exited.report)
    if not run.info:
        return _read_screen(exited)
    usage, cost = _usage(run), parse_dollars(run.info.get("cost"))
    if not cost and usage and (usage.input or usage.output or usage.cached):
        cost = None  # what it says of a model whose price it does not know
    return replace(
        _trajectory_end(run, exited.ended),
        said=_last_text(run)[-LAST_WORDS:],
        model=text_at(run.info, "model"),
        usage=usage,
        cost=cost,
        cost_status="unknown" if cost is None else "reported",
        tools=_tools(run),
    )


def _trajectory_end(run: Trajectory, now: float) -> TurnReport:
    status = text_at(run.info, "exit_status")
    message = next((text_at(one, "content") for one in run.messages[::-1] if one.get("role") == "exit"), "")
    if status == "Submitted":
        return TurnReport(end="finished")
    if not status:
        return TurnReport(detail="stopped in the middle of its work")
    if status in _LIMIT_WORDS:
        return TurnReport(end="failed", detail=_LIMIT_WORDS[status])
    return read_exception(status, message, now)


def _last_text(run: Trajectory) -> str:
    """The last text of the model; what calls no tool stands beside the complaint about it."""
    texts = (_text(one) for one in run.messages[::-1])
    return next((text for text in texts if text), text_at(run.info, "submission"))


def _text(message: object) -> str:
    if text_at(message, "role") == "assistant":
        parts = (text_at(part, "text") for part in list_at(message, "content"))
        return text_at(message, "content") or "\n".join(filter(None, parts))
    answers = list_at(message, "extra", "response", "choices")
    return text_at(answers[0], "message", "content") if answers else ""


def _tools(run: Trajectory) -> tuple[str, ...]:
    actions = [action for one in run.messages for action in list_at(one, "extra", "actions")]
    return tuple(describe_use("bash", action) for action in actions)


def _usage(run: Trajectory) -> Usage | None:
    """Of all calls together. What was read from a cache is among the tokens of the prompt."""
    told = [one for one in run.messages if count_at(one, "extra", "response", "usage", "prompt_tokens")]
    if not told:
        return None
    place = ("extra", "response", "usage")
    cached = sum(count_at(one, *place, "prompt_tokens_details", "cached_tokens") for one in told)
    sent = sum(count_at(one, *place, "prompt_tokens") for one in told)
    return Usage.of_whole(sent, sum(count_at(one, *place, "completion_tokens") for one in told), cached)
