"""Parse the JSON records that programs print: one per line, or one document over several lines."""

import json
import re
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

LONGEST_LINE = 8 * 1024 * 1024
"""Bytes of the longest line that is read; a longer one is no record that is needed here."""
LONGEST_DOCUMENT = 1024 * 1024
"""Bytes of the end of an output in which a document over several lines is looked for."""
LARGEST_COUNT = 10**15
"""A count above this is no count of anything that a turn could have used."""
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_TRIES = 50
_GAP = re.compile(rb"^\[\.\.\. \d+ bytes left out \.\.\.\]\r?$", re.M)

Record = Mapping[str, Any]
MOST_TOOLS = 200
"""Uses of tools that are kept of a turn."""
MOST_DENIED = 20
"""Denied permissions that are kept of a turn, each once."""
_LONGEST_USE = 200
_TOLD_BY = ("command", "cmd", "file_path", "path", "filePath", "absolute_path", "filename", "url", "pattern", "query")


def parse_records(output: bytes) -> list[Record]:
    """Return every JSON object in `output`: one per line, else those of one document (an object, or a list of them)."""
    found = [one for line in output.split(b"\n") for one in _objects(_parse(line))]
    return found or _objects(_parse(output))


def parse_last_document(output: bytes) -> Record:
    """Return the last JSON object that begins a line, over one line or many, whatever follows it; empty without one."""
    text = output[-LONGEST_DOCUMENT:].decode("utf-8", "replace")
    starts = [match.start() for match in re.finditer(r"^\{", text, re.M)][-_TRIES:]
    found = (_objects(_parse_beginning(text[start:])) for start in reversed(starts))
    return next((one[0] for one in found if one), {})


def _parse_beginning(text: str) -> object:
    try:
        value, end = json.JSONDecoder().raw_decode(text)
        return make_storable(value, text[:end])
    except (ValueError, RecursionError):
        return None


def filter_type(found: Sequence[Record], *types: str) -> list[Record]:
    """Return the records whose `type` is one of these."""
    return [one for one in found if one.get("type") in types]


def is_cut(output: bytes) -> bool:
    """Whether aigon left out the middle of a long output (`aigon/process/capture.py` says so in a line of its own)."""
    return _GAP.search(output) is not None


def _objects(value: object) -> list[Record]:
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict)]


def _parse(text: bytes) -> object:
    """Return the JSON value in `text`. A byte that is not UTF-8 is replaced, so that it does not cost the record."""
    text = text.strip()
    if len(text) > LONGEST_LINE or not text.startswith((b"{", b"[")) or not text.endswith((b"}", b"]")):
        return None
    try:
        decoded = text.decode("utf-8", "replace")
        return make_storable(json.loads(decoded), decoded)
    except (ValueError, RecursionError):
        return None


def make_storable(value: object, text: str) -> object:
    """Return `value`, read from `text`, with a question mark for half a surrogate pair.

    JSON can spell one, and no file can hold it.
    """
    if not _SURROGATE.search(text):
        return value
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def value_at(record: object, *path: str) -> object:
    """Return what `path` leads to inside nested objects; None if it leads nowhere."""
    return reduce(lambda value, key: value.get(key) if isinstance(value, Mapping) else None, path, record)


def list_at(record: object, *path: str) -> list[object]:
    """Return the list there, an empty one for anything else."""
    value = value_at(record, *path)
    return value if isinstance(value, list) else []


def objects_at(record: object, *path: str) -> list[Record]:
    """Return the objects of the list there."""
    return _objects(list_at(record, *path))


def text_at(record: object, *path: str) -> str:
    """Return the text there, an empty one for anything else."""
    value = value_at(record, *path)
    return value if isinstance(value, str) else ""


def count_at(record: object, *path: str) -> int:
    """Return the count there, 0 for anything else."""
    value = value_at(record, *path)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_COUNT else 0


def describe_use(name: object, given: object = None) -> str:
    """`NAME: what it was used on`, in one line of at most 200 characters; the name alone where that is unknown."""
    named = " ".join(name.split()) if isinstance(name, str) and name.strip() else "a tool"
    used_on = _describe_input(given)
    return (f"{named}: {' '.join(used_on.split())}" if used_on else named)[:_LONGEST_USE]


def _describe_input(given: object) -> str:
    if isinstance(given, str):
        return given
    if not isinstance(given, Mapping):
        return ""
    found = next((given[key] for key in _TOLD_BY if given.get(key)), "")
    return " ".join(map(str, found)) if isinstance(found, list | tuple) else str(found)
