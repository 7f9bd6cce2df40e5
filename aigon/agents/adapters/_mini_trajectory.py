"""The trajectory of mini-swe-agent: one JSON document with `info` and `messages`, whole or cut off at its end."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from aigon.agents.adapters._records import Record, at, list_at, text_at

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


def trajectory(report: bytes) -> Trajectory:
    """What is in the file. It is written in place: a program that was killed, or a very long one, leaves a part."""
    text = report.decode("utf-8", "replace")
    document = _whole(text) or _parts(text)
    if _SURROGATE.search(text):
        document = _storable(document)
    info = at(document, "info")
    if not isinstance(info, Mapping) or not isinstance(at(info, "model_stats"), Mapping):
        return Trajectory()
    messages = tuple(one for one in list_at(document, "messages") if isinstance(one, dict))
    return Trajectory(
        {
            "cost": at(info, "model_stats", "instance_cost"),
            "exit_status": text_at(info, "exit_status"),
            "submission": text_at(info, "submission"),
            "model": text_at(info, "config", "model", "model_name"),
        },
        messages,
    )


def _whole(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _parts(text: str) -> object:
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


def _storable(value: object) -> object:
    """Half a surrogate pair, which JSON can spell and no file can hold, becomes a question mark."""
    try:
        return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
