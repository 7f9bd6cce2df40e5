"""References to values: `${name}` in a request; `$.items[0].id`, `headers.x` and `cookies.x` in an answer."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

from msgspec import Struct

from aigon.text.patterns import compile_re

_REFERENCE = compile_re(r"\$(?P<literal>\$)?\{(?P<name>[A-Za-z_]\w*)\}", re.ASCII)
SavedValues = Mapping[str, object]


class UnsavedValue(Exception):
    """A value was never saved; the text of the error is its name."""


def list_references(value: object) -> set[str]:
    """Return the names of all values that `value` asks for, in texts at any depth."""
    if isinstance(value, str):
        return {hole["name"] for hole in _REFERENCE.finditer(value) if not hole["literal"]}
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return {name for part in parts for name in list_references(part)}


def parse_reference(text: str) -> str:
    """Return the name in `text` if that is nothing but one reference; else ""."""
    hole = _REFERENCE.fullmatch(text)
    return hole["name"] if hole and not hole["literal"] else ""


def fill_references(value: object, values: SavedValues) -> object:
    """Return `value` with all references filled. A text that is only a reference becomes the value, with its type.

    Raises UnsavedValue.
    """
    if isinstance(value, str):
        return _get_saved(name, values) if (name := parse_reference(value)) else fill_text(value, values)
    if isinstance(value, Mapping):
        return {key: fill_references(each, values) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [fill_references(each, values) for each in value]
    return value


def fill_text(template: str, values: SavedValues, quote: Callable[[str], str] = str) -> str:
    """Return `template` with each reference as text, which `quote` makes fit for its place; `$${x}` becomes `${x}`.

    Raises UnsavedValue.
    """

    def fill(hole: re.Match[str]) -> str:
        return hole[0][1:] if hole["literal"] else quote(format_value(_get_saved(hole["name"], values)))

    return _REFERENCE.sub(fill, template)


def _get_saved(name: str, values: SavedValues) -> object:
    if name not in values:
        raise UnsavedValue(name)
    return values[name]


def format_value(value: object) -> str:
    """Return a value for a longer text: a text as it is, everything else as in JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_STEP = compile_re(r"""\.(?P<name>[^.\[\]"'\s]+)|\[(?P<number>-?\d{1,9})\]|\[(?P<quote>["'])(?P<key>.*?)(?P=quote)\]""")
PathStep = str | int


class ValueSource(Struct, frozen=True):
    """The source of a value; `steps` lead to it in JSON, or are the name of a header or a cookie."""

    kind: Literal["json", "headers", "cookies"]
    steps: tuple[PathStep, ...]


def parse_source(text: str) -> ValueSource:
    """Return the source that `text` names. Raises ValueError, for people, if it names none."""
    kinds: tuple[Literal["headers", "cookies"], ...] = ("headers", "cookies")
    for kind in kinds:
        name = text.removeprefix(f"{kind}.")
        if name and name != text:
            return ValueSource(kind, (name,))
    if not text.startswith("$"):
        raise ValueError(f"{text!r} is not one of $.name, headers.NAME and cookies.NAME")
    steps: list[PathStep] = []
    at = 1
    while at < len(text):
        step = _STEP.match(text, at)
        if step is None:
            raise ValueError(f'{text!r} cannot be read from {text[at:]!r}: $.name, $[0] and $["any name"] can')
        number, key = step["number"], step["key"]
        steps.append(int(number) if number is not None else key if key is not None else step["name"])
        at = step.end()
    return ValueSource("json", tuple(steps))


def resolve_path(value: object, steps: tuple[PathStep, ...]) -> tuple[object, ...]:
    """Return the value that `steps` lead to, alone in a tuple, or ()."""
    for step in steps:
        children: Any = value if isinstance(value, dict if isinstance(step, str) else list) else {}
        try:
            value = children[step]
        except LookupError:
            return ()
    return (value,)


def format_path(steps: tuple[PathStep, ...]) -> str:
    """Return the path as people write it."""
    text = "$"
    for step in steps:
        name = str(step) if isinstance(step, int) else f'"{step}"'
        text += f".{step}" if isinstance(step, str) and re.fullmatch(r"[\w-]+", step) else f"[{name}]"
    return text
