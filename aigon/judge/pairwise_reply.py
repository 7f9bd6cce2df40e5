"""The reply to a comparison, read strictly: what is not plainly said was not said."""

from collections.abc import Mapping
from typing import Literal

from aigon.judge.strict_json import Strict, document, malformed

Choice = Literal["first", "second", "tie"]
MOST = 20
"""Reasons of one reply."""


class Reason(Strict):
    """What a quote shows of one of the changes."""

    change: Literal["first", "second"]
    path: str
    line: int
    text: str
    reason: str


class Reply(Strict):
    """The preference comes last, so that it follows from what was found."""

    reasons: list[Reason]
    preference: Choice


def read(text: str) -> Reply | str:
    """The reply, or why there is none."""
    try:
        found = Reply.model_validate(document(text))
    except (ValueError, RecursionError) as error:
        return malformed(error)
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
