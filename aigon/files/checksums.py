"""Records that are one JSON object with a sum over it: a flipped bit in a name or a hash is damage like half a file."""

import json
import zlib
from collections.abc import Mapping
from typing import Any

SUM = "sum"


def summed(document: Mapping[str, Any]) -> bytes:
    """The document with its sum, as one line of JSON."""
    return json.dumps({**document, SUM: _sum(document)}).encode() + b"\n"


def unsummed(data: bytes) -> dict[str, Any]:
    """The document without its sum. Raises ValueError for a damaged one; one without a sum is from an older version."""
    try:
        document = json.loads(data)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    if not isinstance(document, dict):
        raise ValueError("it is no JSON object")
    given = document.pop(SUM, None)
    if given is not None and given != _sum(document):
        raise ValueError("its sum is wrong")
    return document


def _sum(document: Mapping[str, Any]) -> str:
    return f"{zlib.crc32(json.dumps(document, sort_keys=True).encode()):08x}"
