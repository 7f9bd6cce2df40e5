"""JSON records as programs print them: one per line, or one document over several lines; noise is passed over."""

import json
from collections.abc import Mapping
from functools import reduce
from typing import Any

LINE = 8 * 1024 * 1024
"""Bytes of the longest line that is read; a longer one is no record that is needed here."""

Record = Mapping[str, Any]


def records(output: bytes) -> list[Record]:
    """Every JSON object in `output`: one per line, else those of one document (an object, or a list of them)."""
    found = [one for line in output.split(b"\n") for one in _objects(_parsed(line))]
    return found or _objects(_parsed(output))


def _objects(value: object) -> list[Record]:
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict)]


def _parsed(text: bytes) -> object:
    if len(text) > LINE or not text.lstrip().startswith((b"{", b"[")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def at(record: object, *path: str) -> object:
    """What `path` leads to inside nested objects; None where it leads nowhere."""
    return reduce(lambda value, key: value.get(key) if isinstance(value, Mapping) else None, path, record)


def text_at(record: object, *path: str) -> str:
    """The text there, an empty one for anything else."""
    value = at(record, *path)
    return value if isinstance(value, str) else ""


def count_at(record: object, *path: str) -> int:
    """The count there, 0 for anything else."""
    value = at(record, *path)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
