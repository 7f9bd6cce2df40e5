"""The reply to a comparison, read strictly: what is not plainly said was not said."""

import json
from collections.abc import Mapping
from typing import Any, Literal, NoReturn

from pydantic import BaseModel, ConfigDict, ValidationError

from aigon.core.judge.reply import LONGEST

Choice = Literal["first", "second", "tie"]
MOST = 20
"""Reasons of one reply."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Reason(_Strict):
    """What a quote shows of one of the changes."""

    change: Literal["first", "second"]
    path: str
    line: int
    text: str
    reason: str


class Reply(_Strict):
    """The preference comes last, so that it follows from what was found."""

    reasons: list[Reason]
    preference: Choice


def read(text: str) -> Reply | str:
    """The reply, or why there is none."""
    try:
        found = Reply.model_validate(_document(text))
    except (ValueError, RecursionError) as error:
        return f"the judge's reply is not in the format that was asked for ({_first(error)})"
    return found if len(found.reasons) <= MOST else f"the judge gives {len(found.reasons)} reasons; {MOST} are read"


def schema() -> Mapping[str, object]:
    """The JSON Schema of the reply, without references, as every backend can take it."""
    text: Mapping[str, object] = {"type": "string"}
    change = {"type": "string", "enum": ["first", "second"]}
    one = _object({"change": change, "path": text, "line": {"type": "integer"}, "text": text, "reason": text})
    preference = {"type": "string", "enum": ["first", "second", "tie"]}
    return _object({"reasons": {"type": "array", "items": one}, "preference": preference})


def _object(properties: Mapping[str, object]) -> Mapping[str, object]:
    required = list(properties)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _document(text: str) -> Any:
    if len(text) > LONGEST:
        raise ValueError(f"it is longer than {LONGEST:,} characters")
    document = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    json.dumps(document, ensure_ascii=False).encode()  # half a character could not be written down later
    return document


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


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
