"""Events as JSON documents and back.

Writing happens several times per iteration, so it is a small recursion over the dataclasses. Reading happens on a
resume and in views; pydantic checks it and is imported only then.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from types import GenericAlias
from typing import TYPE_CHECKING, Annotated, Any, cast

from aigon.journal.events import Event
from aigon.model.outcomes import Interrupted, Met, NeedsHuman, Outcome, Refused, Stopped, Unavailable

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError


OUTCOMES: Mapping[str, type[Outcome]] = {
    "met": Met,
    "needs_human": NeedsHuman,
    "stopped": Stopped,
    "interrupted": Interrupted,
    "unavailable": Unavailable,
    "refused": Refused,
}
"""The `kind` of an outcome in a document: the same word as its status."""

_KINDS: Mapping[Any, str] = {outcome: kind for kind, outcome in OUTCOMES.items()}
_NEWER = "perhaps a newer aigon wrote it: update aigon, or use the version that wrote it"


def encode(event: Event) -> dict[str, object]:
    """Return `event` as a document of plain JSON values, in which an outcome has its `kind`.

    A lone surrogate, which UTF-8 cannot hold, becomes a question mark. A number that JSON cannot hold becomes the text
    `nan`, `inf` or `-inf`, which `decode` understands.
    """
    return _fields(event)


def dumps(event: Event) -> str:
    """Return `event` as one line of compact JSON without the line end.

    It is pure ASCII, so that no reader takes a character inside it (U+2028, U+0085) for a line end.
    """
    return dump_compact(encode(event))


def dump_compact(document: Mapping[str, object]) -> str:
    """Return a document of plain values as one line of JSON in ASCII."""
    return json.dumps(document, separators=(",", ":"), allow_nan=False)


def decode(document: Mapping[str, object]) -> Event:
    """Return the event that `encode` made `document` of.

    Raises ValueError, with a text for people, for an event or a field that this version does not know, and for a value
    that does not fit its field.
    """
    from pydantic import ValidationError

    if not isinstance(document, Mapping):
        raise ValueError(f"an event is a JSON object, not {type(document).__name__}")
    try:
        return _events().validate_python(_with_outcome(document))
    except ValidationError as error:
        raise ValueError(_explained(document.get("event"), error)) from error


def _plain(value: object) -> object:
    kind = type(value)
    if kind is str:
        return _clean(cast("str", value))
    if kind is float:
        return value if math.isfinite(cast("float", value)) else str(value)
    if value is None or kind is bool or kind is int:
        return value
    return _composed(value)


def _composed(value: object) -> object:
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {_clean(str(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, int):
        return int(value)
    return _fields(value)


def _fields(value: Any) -> dict[str, object]:
    shape: Any = type(value)
    document = {name: _plain(getattr(value, name)) for name in _names(shape)}
    kind = _KINDS.get(shape)
    return document if kind is None else {"kind": kind, **document}


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def _clean(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _with_outcome(document: Mapping[str, object]) -> dict[str, object]:
    outcome = document.get("outcome")
    if document.get("event") != "run_finished" or not isinstance(outcome, Mapping):
        return dict(document)
    return {**document, "outcome": _outcome(outcome)}


def _outcome(document: Mapping[str, object]) -> Outcome:
    kind = document.get("kind")
    if not isinstance(kind, str) or kind not in OUTCOMES:
        raise ValueError(f"the outcome {kind!r} is not known here; {_NEWER}")
    fields_only = {name: value for name, value in document.items() if name != "kind"}
    return _outcomes(kind).validate_python((fields_only,))[0]


@cache
def _events() -> "TypeAdapter[Event]":
    from pydantic import ConfigDict, Field, TypeAdapter

    return TypeAdapter(Annotated[Event, Field(discriminator="event")], config=ConfigDict(extra="forbid"))


@cache
def _outcomes(kind: str) -> "TypeAdapter[tuple[Outcome]]":
    """Read one outcome in a tuple: pydantic takes no configuration for a dataclass itself."""
    from pydantic import ConfigDict, TypeAdapter

    shape: Any = GenericAlias(tuple, (OUTCOMES[kind],))
    return TypeAdapter(shape, config=ConfigDict(extra="forbid"))


def _explained(event: object, error: "ValidationError") -> str:
    """Return what is wrong with a document, in one sentence; of several errors the first."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = first["loc"]
    field = ".".join(str(part) for part in (("outcome", *place[1:]) if place[:1] == (0,) else place[1:]))
    match first["type"]:
        case "union_tag_not_found":
            return "the document does not say which event it is: it has no field `event`"
        case "union_tag_invalid":
            return f"the event {event!r} is not known here; {_NEWER}"
        case "unexpected_keyword_argument":
            return f"the event {event!r} has a field `{field}` that is not known here; {_NEWER}"
        case _:
            return f"the event {event!r} is malformed at `{field}`: {first['msg']}"


SCHEMA_VERSION = 1


def to_ndjson(event: Event) -> dict[str, object]:
    """What is on the line of `event`.

    It is the event as in the journal, but for the end of a run: there `outcome` is the status word, next to
    `exit_code`, and `outcome_detail` has what else the outcome says, and `success` says whether it is met.
    """
    fields = encode(event)
    outcome = fields.get("outcome")
    if isinstance(outcome, dict):
        detail = dict(outcome)
        kind = detail.pop("kind")
        fields |= {"outcome": kind, "outcome_detail": detail, "success": kind == "met"}
    return {"schema_version": SCHEMA_VERSION, **fields}
