"""Events as JSON documents and back. Structs are written and read by msgspec, in C: both happen often."""

import json
import math
import re
from collections.abc import Mapping
from typing import Any, get_args

from msgspec import ValidationError, convert, to_builtins
from msgspec.json import format as format_json

from aigon.journal.events import Event

_EVENTS: Mapping[object, type[Event]] = {kind.__struct_defaults__[-1]: kind for kind in get_args(Event)}
_SURROGATE = "\\ud"
"""The beginning of each half of a character beyond U+FFFF in JSON, and of a half that is alone."""
_NEWER = "perhaps a newer aigon wrote it: update aigon, or use the version that wrote it"


def encode(event: Event) -> dict[str, object]:
    """Return `event` as a document of plain JSON values, in which an outcome has its `kind`.

    A lone surrogate, which UTF-8 cannot hold, becomes a question mark. A number that JSON cannot hold becomes the text
    `nan`, `inf` or `-inf`, which `decode` understands.
    """
    return {name: _plain(value) for name, value in to_builtins(event).items()}


def dumps(event: Event) -> str:
    """Return `event` as one line of compact JSON without the line end.

    It is pure ASCII, so that no reader takes a character inside it (U+2028, U+0085) for a line end.
    """
    try:
        text = dump_compact(to_builtins(event))
    except ValueError:  # a number that JSON cannot hold
        text = _SURROGATE
    return text if _SURROGATE not in text else dump_compact(encode(event))


def dump_compact(document: Mapping[str, object]) -> str:
    """Return a document of plain values as one line of JSON in ASCII."""
    return json.dumps(document, separators=(",", ":"), allow_nan=False)


def dump_indented(document: Mapping[str, object]) -> bytes:
    """Return JSON that people can read; `json` has no encoder in C for that."""
    return format_json(json.dumps(document, ensure_ascii=False).encode("utf-8", "replace"), indent=2)


def decode(document: Mapping[str, object]) -> Event:
    """Return the event that `encode` made `document` of.

    Raises ValueError, with a text for people, for an event or a field that this version does not know, and for a value
    that does not fit its field.
    """
    if not isinstance(document, Mapping):
        raise ValueError(f"an event is a JSON object, not {type(document).__name__}")
    if "event" not in document:
        raise ValueError("the document does not say which event it is: it has no field `event`")
    name = document["event"]
    kind = _EVENTS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise ValueError(f"the event {name!r} is not known here; {_NEWER}")
    try:
        return convert(document, kind, strict=False)  # a number that JSON cannot hold is a text
    except ValidationError as error:
        raise ValueError(_explain(name, str(error))) from error


def _plain(value: Any) -> object:
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    return value


def _explain(event: object, wrong: str) -> str:
    """Return what is wrong with a document as a sentence for people: `wrong` is what msgspec says."""
    what, _, place = wrong.partition(" - at `$")
    field = place.strip("`.")
    if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", what):
        name = ".".join(filter(None, (field, unknown[1])))
        return f"the event {event!r} has a field `{name}` that is not known here; {_NEWER}"
    if other := re.fullmatch(r"Invalid value ('.*')", what):
        return f"the {field.removesuffix('.kind').replace('.', ' ')} {other[1]} is not known here; {_NEWER}"
    if missing := re.fullmatch(r"Object missing required field `(.*)`", what):
        field, what = ".".join(filter(None, (field, missing[1]))), "it is missing"
    return f"the event {event!r} is malformed at `{field}`: {what}"


SCHEMA_VERSION = 1


def to_ndjson(event: Event) -> dict[str, object]:
    """Return the line of `event`.

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
