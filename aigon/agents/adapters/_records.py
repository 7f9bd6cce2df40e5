"""Parse the JSON records that programs print, one per line or one document over several lines."""

import json
import re
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from aigon.model.turns import CostStatus, Usage
from aigon.text.patterns import compile_re
from aigon.text.untrusted import count_at, list_at, look_up, text_at

LONGEST_LINE = 8 * 1024 * 1024
"""Bytes of the longest line that is read; no record that is needed here is longer."""
LONGEST_DOCUMENT = 1024 * 1024
"""Bytes at the end of an output in which a document over several lines is looked for."""
_SURROGATE = compile_re(r"\\u[dD][89a-fA-F]")
_TRIES = 50
_GAP = compile_re(rb"^\[\.\.\. \d+ bytes left out \.\.\.\]\r?$", re.M)
_LONGEST_USE = 200
_PATCHED = compile_re(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_TOLD_BY = ("command", "cmd", "file_path", "path", "filePath", "absolute_path", "filename", "url", "pattern", "query")

Record = Mapping[str, Any]


class RecordList(list[Record]):
    """Records of one output, or of one list in a record, in their order."""

    def of(self, *types: str) -> "RecordList":
        """Return the records whose `type` is one of these."""
        return RecordList(record for record in self if record.get("type") in types)

    def last(self, *types: str) -> Record:
        """Return the last record of one of these types, or an empty one."""
        return next((record for record in reversed(self) if record.get("type") in types), {})

    def first_text(self, *path: str) -> str:
        """Return the first text at `path` that is not blank."""
        return next((text for record in self if (text := text_at(record, *path).strip())), "")

    def last_text(self, *path: str) -> str:
        """Return the last text at `path` that is not blank."""
        return next((text for record in reversed(self) if (text := text_at(record, *path).strip())), "")

    def describe_uses(self, name: str, given: str) -> tuple[str, ...]:
        """Describe each use of a tool; `name` and `given` are keys, or lead into nested objects: `part.tool`."""
        return tuple(describe_use(look_up(use, name), look_up(use, given)) for use in self)


def parse_records(output: bytes) -> RecordList:
    """Return every JSON object in `output`: one per line, else those of one document (an object, or a list of them)."""
    found = RecordList(record for line in output.split(b"\n") for record in parse_line(line))
    return found or _objects(_parse(output))


def parse_line(line: bytes) -> RecordList:
    """Return the JSON objects on one line of an output."""
    return _objects(_parse(line))


def parse_last_document(output: bytes) -> Record:
    """Return the last JSON object that begins a line, whatever follows it, or an empty one."""
    text = output[-LONGEST_DOCUMENT:].decode("utf-8", "replace")
    for match in [*re.finditer(r"^\{", text, re.M)][: -_TRIES - 1 : -1]:
        try:
            value, end = json.JSONDecoder().raw_decode(text, match.start())
            found = _objects(make_storable(value, text[match.start() : end]))
        except (ValueError, RecursionError):
            continue
        if found:
            return found[0]
    return {}


def _parse(text: bytes) -> object:
    """Return the JSON value in `text`. A byte that is not UTF-8 is replaced, so that it does not cost the record."""
    text = text.strip()
    if len(text) > LONGEST_LINE or not text.startswith((b"{", b"[")) or not text.endswith((b"}", b"]")):
        return None
    with suppress(ValueError, RecursionError):
        return msgspec.json.decode(text)  # several times as fast, and strict
    try:
        decoded = text.decode("utf-8", "replace")
        return make_storable(json.loads(decoded), decoded)
    except (ValueError, RecursionError):
        return None


def _objects(value: object) -> RecordList:
    return RecordList(one for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict))


def make_storable(value: object, text: str) -> object:
    """Return `value`, read from `text`, with a question mark for half a surrogate pair: no file can hold one."""
    if not _SURROGATE.search(text):
        return value
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def is_cut(output: bytes) -> bool:
    """Return whether aigon cut out the middle of an output: `aigon/process/capture.py` marks the gap with a line."""
    return _GAP.search(output) is not None


def objects_at(record: object, *path: str) -> RecordList:
    """Return the objects of the list there."""
    return _objects(list_at(record, *path))


def join_texts(parts: Iterable[object]) -> str:
    """Return the texts of a message's parts, a line each."""
    return "\n".join(filter(None, (text_at(part, "text") for part in parts))).strip()


def sum_usage(
    counts: Iterable[object], input: str, output: str, cached: str, *, input_holds_cached: bool = True
) -> Usage | None:
    """Return the sum of the token counts in these objects; None if there is no object.

    Each name is one key or several, which are added; a key may lead into nested objects: `cache.read`.
    """
    objects = [one for one in counts if isinstance(one, dict)]
    if not objects:
        return None

    def total(keys: str) -> int:
        return sum(count_at(one, *key.split(".")) for one in objects for key in keys.split())

    build = Usage.of_whole if input_holds_cached else Usage
    return build(total(input), total(output), total(cached))


def list_uses(records: RecordList) -> RecordList:
    """Return the uses of tools in messages in the format of Anthropic's API."""
    messages = records.of("assistant")
    return RecordList(use for one in messages for use in objects_at(one, "message", "content").of("tool_use"))


def describe_use(name: object, given: object = None) -> str:
    """Return `NAME: what it was used on` in a line of at most 200 characters; the name alone if that is unknown.

    Of a patch that is the files in it.
    """
    named = " ".join(name.split()) if isinstance(name, str) and name.strip() else "a tool"
    if isinstance(given, dict):
        given = next((given[key] for key in _TOLD_BY if given.get(key)), "")
        given = " ".join(map(str, given)) if isinstance(given, list | tuple) else str(given)
    used_on = text_at(given)
    used_on = ", ".join(_PATCHED.findall(used_on)) or used_on
    return (f"{named}: {' '.join(used_on.split())}" if used_on else named)[:_LONGEST_USE]


def parse_dollars(value: object) -> float | None:
    """Return a sum of money. JSON readers let NaN and Infinity through, and true is an int to Python."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= sys.float_info.max else None


def drop_free_cost(cost: float | None, usage: Usage | None) -> float | None:
    """Return None for a cost of 0 although tokens were used: the program knows no price of the model."""
    spent = usage is not None and (usage.input or usage.output or usage.cached)
    return None if spent and not cost else cost


def get_cost_status(cost: float | None, known: CostStatus = "reported") -> CostStatus:
    """Return `known`, or "unknown" if there is no cost."""
    return "unknown" if cost is None else known


def parse_reported_usage(value: object) -> Usage | None:
    """Return the usage in `{"input": 1200, "output": 300, "cached": 0}`, each 0 by default; None for anything else."""
    if not isinstance(value, dict):
        return None
    counts = [value.get(name, 0) for name in ("input", "output", "cached")]
    return Usage(*counts) if all(type(count) is int and count >= 0 for count in counts) else None
