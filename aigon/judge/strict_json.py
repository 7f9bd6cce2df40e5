"""A judge's document, read as JSON means it and no more kindly than that."""

import json
from typing import Any, NoReturn

from pydantic import BaseModel, ConfigDict, ValidationError

LONGEST = 1_000_000
"""Characters of a reply that is read; the API's longest is far below."""

MALFORMED = "the judge's reply is not in the format that was asked for"


class Strict(BaseModel):
    """What is asked for, and nothing else."""

    model_config = ConfigDict(extra="forbid", strict=True)


def document(text: str) -> Any:
    """The document. Raises ValueError or RecursionError for what is too long, no JSON, or has a key twice."""
    if len(text) > LONGEST:
        raise ValueError(f"it is longer than {LONGEST:,} characters")
    found = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    json.dumps(found, ensure_ascii=False).encode()  # half a character could not be written down later
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def malformed(error: ValueError | RecursionError) -> str:
    """What is wrong with a reply that could not be read."""
    return f"{MALFORMED} ({_first(error)})"


def _first(error: ValueError | RecursionError) -> str:
    match error:
        case ValidationError():
            first = error.errors(include_url=False, include_input=False)[0]
            return f"{'.'.join(map(str, first['loc']))}: {first['msg']}" if first["loc"] else first["msg"]
        case RecursionError():
            return "nested too deeply"
        case UnicodeError():
            return "half a character"
        case _:
            return str(error)[:200]
