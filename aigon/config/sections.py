"""Sections of the configuration, read by the types of their fields: every key is known, every value has its type.

The sections are walked here, so that an error names its key; a value in them is checked by msgspec.
"""

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from types import UnionType
from typing import Any, Literal, Self, TypeVar, Union, get_args, get_origin

from msgspec import Struct, ValidationError, convert, field
from msgspec.structs import FieldInfo, fields, replace

from aigon.errors import AigonError, usage
from aigon.text.quoting import clip

MAX_SHOWN_CHARS = 200
"""Characters of a bad value that a message shows."""
KeyPath = tuple[str, ...]
_WORDS = {
    "array": "a list",
    "bool": "true or false",
    "float": "a number",
    "int": "a whole number",
    "null": "null",
    "object": "an object",
    "str": "a text",
}
"""What msgspec calls the types of JSON."""


class Form(Struct, frozen=True):
    """The written form of a value: the type that people write, and the function that makes the field's value of it.

    `read` raises ValueError with what follows the key in a message. `words` are for a value of another type. For a
    section, `read` returns its object, and an object itself is not passed to it.
    """

    written: Any
    read: Callable[[Any], object]
    words: str = ""


def rename_key(name: str) -> str:
    """Return the key of a field: `maxIterations` of `max_iterations`."""
    return re.sub(r"_([a-z])", lambda m: m[1].upper(), name)


class Section(Struct, frozen=True, kw_only=True, rename=rename_key, omit_defaults=True):
    """A section of the configuration. `given` are the fields that were set."""

    given: frozenset[str] = field(default=frozenset(), name="")

    def update(self, **changes: object) -> Self:
        """Return the section with these fields set."""
        return replace(self, **changes, given=self.given | changes.keys())


S = TypeVar("S", bound=Section)


@cache
def list_fields(kind: type[Section]) -> Mapping[str, FieldInfo]:
    """Return the fields of a section by their keys."""
    return {each.encode_name: each for each in fields(kind) if each.encode_name}


def read_section(kind: type[S], document: object, file: str = "", at: KeyPath = ()) -> S:
    """Return the section that a JSON document holds.

    Raises AigonError (exit 2) with `file`, the key and the nearest known key.
    """
    if not isinstance(document, Mapping):
        raise _describe_value(file, at, "has to be an object", document)
    known = list_fields(kind)
    if unknown := [key for key in document if key not in known]:
        raise _describe_key(file, (*at, unknown[0]), sorted(known))
    if missing := [key for key, each in known.items() if each.required and key not in document]:
        what = f"'{'.'.join(at)}' needs the key '{missing[0]}'"
        raise usage(what, where=file, hint="Add it, or remove the section")
    values = {known[key].name: _read_value(known[key].type, value, file, (*at, key)) for key, value in document.items()}
    try:
        return kind(**values, given=frozenset(values))
    except ValueError as error:
        raise _describe_value(file, at, str(error), document) from None


def _read_value(wanted: Any, value: Any, file: str, at: KeyPath) -> Any:
    if get_origin(wanted) in (Union, UnionType) and type(None) in get_args(wanted):
        if value is None:
            return None
        wanted = Union[tuple(each for each in get_args(wanted) if each is not type(None))]  # noqa: UP007
    if form := next((each for each in getattr(wanted, "__metadata__", ()) if isinstance(each, Form)), None):
        base = get_args(wanted)[0]
        is_section = isinstance(base, type) and issubclass(base, Section)
        if not (is_section and isinstance(value, dict)):
            _check_type(form.written, value, file, at, form.words)
            try:
                value = form.read(value)
            except ValueError as error:
                raise _describe_value(file, at, str(error), value) from None
        return _read_value(base, value, file, at) if get_origin(base) is list or is_section else value
    if isinstance(wanted, type) and issubclass(wanted, Section):
        return read_section(wanted, value, file, at)
    if get_origin(wanted) is dict and isinstance(value, dict):
        names, inside = get_args(wanted)
        if unknown := [key for key in value if get_origin(names) is Literal and key not in get_args(names)]:
            raise _describe_key(file, (*at, unknown[0]), get_args(names))
        return {key: _read_value(inside, each, file, (*at, key)) for key, each in value.items()}
    if get_origin(wanted) is list and isinstance(value, list):
        return [_read_value(get_args(wanted)[0], each, file, (*at, str(n))) for n, each in enumerate(value)]
    return _check_type(wanted, value, file, at)


def _check_type(wanted: Any, value: object, file: str, at: KeyPath, words: str = "") -> Any:
    try:
        return convert(value, wanted)
    except ValidationError as error:
        expected = re.sub(r"^Expected |, got `\w+`| - at .*", "", str(error))
        what = re.sub(r"`([\w| ]+)`", lambda m: " or ".join(_WORDS.get(w, w) for w in m[1].split(" | ")), expected)
        if str(error).startswith("Invalid enum value"):
            what = " or ".join(repr(each) for each in _list_choices(wanted))
        raise _describe_value(file, at, f"has to be {words or what}", value) from None


def _list_choices(wanted: Any) -> list[object]:
    arguments = list(get_args(wanted))
    return arguments if get_origin(wanted) is Literal else [each for one in arguments for each in _list_choices(one)]


def _describe_key(file: str, at: KeyPath, known: "list[str] | tuple[str, ...]") -> AigonError:
    from difflib import get_close_matches

    near = get_close_matches(at[-1], known, n=1, cutoff=0.5)
    hint = f"Did you mean '{near[0]}'?" if near else f"Known here: {', '.join(known)}"
    return usage(f"Unknown configuration key '{'.'.join(at)}'", where=file, hint=hint)


def _describe_value(file: str, at: KeyPath, what: str, value: object) -> AigonError:
    hint = f"It is {clip(json.dumps(value, default=str), MAX_SHOWN_CHARS)}"
    return usage(f"Bad value for '{'.'.join(at)}': {what}", where=file, hint=hint)


def write_value(value: object) -> Any:
    """Return a value as JSON has it; of a section only what was set."""
    if isinstance(value, Section):
        kinds = list_fields(type(value)).items()
        return {key: write_value(getattr(value, each.name)) for key, each in kinds if each.name in value.given}
    if isinstance(value, Mapping):
        return {key: write_value(each) for key, each in value.items()}
    return [write_value(each) for each in value] if isinstance(value, list) else value
