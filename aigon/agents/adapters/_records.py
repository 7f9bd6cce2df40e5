"""JSON records as programs print them: one per line, or one document over several lines; noise is passed over."""

import json
import re
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

LINE = 8 * 1024 * 1024
"""Bytes of the longest line that is read; a longer one is no record that is needed here."""
DOCUMENT = 1024 * 1024
"""Bytes of the end of an output in which a document over several lines is looked for."""
MOST = 10**15
"""A count above this is no count of anything that a turn could have used."""
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_TRIES = 50
_GAP = re.compile(rb"^\[\.\.\. \d+ bytes left out \.\.\.\]\r?$", re.M)

Record = Mapping[str, Any]


def records(output: bytes) -> list[Record]:
    """Every JSON object in `output`: one per line, else those of one document (an object, or a list of them)."""
    found = [one for line in output.split(b"\n") for one in _objects(_parsed(line))]
    return found or _objects(_parsed(output))


def last_document(output: bytes) -> Record:
    """The last JSON object that begins a line, over one line or many, whatever follows it; empty without one."""
    text = output[-DOCUMENT:].decode("utf-8", "replace")
    starts = [match.start() for match in re.finditer(r"^\{", text, re.M)][-_TRIES:]
    found = (_objects(_begun(text[start:])) for start in reversed(starts))
    return next((one[0] for one in found if one), {})


def _begun(text: str) -> object:
    try:
        return _storable(text[: json.JSONDecoder().raw_decode(text)[1]])
    except (ValueError, RecursionError):
        return None


def of_type(found: Sequence[Record], *types: str) -> list[Record]:
    """The records whose `type` is one of these."""
    return [one for one in found if one.get("type") in types]


def is_cut(output: bytes) -> bool:
    """Whether aigon left out the middle of a long output (`aigon/process/capture.py` says so in a line of its own)."""
    return _GAP.search(output) is not None


def _objects(value: object) -> list[Record]:
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict)]


def _parsed(text: bytes) -> object:
    """What is not UTF-8 is replaced, so that one bad byte in a tool's output does not cost the record."""
    text = text.strip()
    if len(text) > LINE or not text.startswith((b"{", b"[")) or not text.endswith((b"}", b"]")):
        return None
    try:
        return _storable(text.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def _storable(text: str) -> object:
    """Half a surrogate pair, which JSON can spell and no file can hold, becomes a question mark."""
    value = json.loads(text)
    if not _SURROGATE.search(text):
        return value
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def at(record: object, *path: str) -> object:
    """What `path` leads to inside nested objects; None where it leads nowhere."""
    return reduce(lambda value, key: value.get(key) if isinstance(value, Mapping) else None, path, record)


def list_at(record: object, *path: str) -> list[object]:
    """The list there, an empty one for anything else."""
    value = at(record, *path)
    return value if isinstance(value, list) else []


def objects_at(record: object, *path: str) -> list[Record]:
    """The objects of the list there."""
    return _objects(list_at(record, *path))


def text_at(record: object, *path: str) -> str:
    """The text there, an empty one for anything else."""
    value = at(record, *path)
    return value if isinstance(value, str) else ""


def count_at(record: object, *path: str) -> int:
    """The count there, 0 for anything else."""
    value = at(record, *path)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST else 0
