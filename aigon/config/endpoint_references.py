"""References to values: `${name}` in a request; `$.items[0].id`, `headers.x` and `cookies.x` in an answer."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

_REFERENCE = re.compile(r"\$(?P<literal>\$)?\{(?P<name>[A-Za-z_]\w*)\}", re.ASCII)
SavedValues = Mapping[str, object]


class UnsavedValue(Exception):
    """A value that is asked for was never saved; its text is the value's name."""


def list_references(value: object) -> set[str]:
    """The names of all values that `value` asks for, in texts at any depth."""
    if isinstance(value, str):
        return {hole["name"] for hole in _REFERENCE.finditer(value) if not hole["literal"]}
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return {name for part in parts for name in list_references(part)}


def parse_reference(text: str) -> str:
    """The name of the value where `text` is nothing but one; else empty."""
    hole = _REFERENCE.fullmatch(text)
    return hole["name"] if hole and not hole["literal"] else ""


def fill_references(value: object, values: SavedValues) -> object:
    """`value` with all holes filled. A text that is only a hole becomes the value itself, with its type.

    Raises Unsaved.
    """
    if isinstance(value, str):
        return _get_saved(name, values) if (name := parse_reference(value)) else fill_text(value, values)
    if isinstance(value, Mapping):
        return {key: fill_references(each, values) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [fill_references(each, values) for each in value]
    return value


def fill_text(template: str, values: SavedValues, quoted: Callable[[str], str] = str) -> str:
    """`template` with each hole as text, made fit for its place by `quoted`; `$${x}` is `${x}`. Raises Unsaved."""
    return _REFERENCE.sub(lambda hole: _fill_reference(hole, values, quoted), template)


def _fill_reference(hole: re.Match[str], values: SavedValues, quoted: Callable[[str], str]) -> str:
    return hole[0][1:] if hole["literal"] else quoted(format_value(_get_saved(hole["name"], values)))


def _get_saved(name: str, values: SavedValues) -> object:
    if name not in values:
        raise UnsavedValue(name)
    return values[name]


def format_value(value: object) -> str:
    """A value inside a longer text: a text as it is, everything else as in JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_STEP = re.compile(r"""\.(?P<name>[^.\[\]"'\s]+)|\[(?P<number>-?\d{1,9})\]|\[(?P<quote>["'])(?P<key>.*?)(?P=quote)\]""")
PathStep = str | int


@dataclass(frozen=True, slots=True)
class ValueSource:
    """Where a value is taken from; `steps` lead to it in JSON, or are the name of a header or a cookie."""

    kind: Literal["json", "headers", "cookies"]
    steps: tuple[PathStep, ...]


def parse_source(text: str) -> ValueSource:
    """The place that `text` means. Raises ValueError, for people, where it means none."""
    for kind in ("headers", "cookies"):
        name = text.removeprefix(f"{kind}.")
        if name and name != text:
            return ValueSource("headers" if kind == "headers" else "cookies", (name,))
    if not text.startswith("$"):
        raise ValueError(f"{text!r} is none of $.name, headers.NAME and cookies.NAME")
    return ValueSource("json", tuple(_parse_steps(text)))


def _parse_steps(text: str) -> list[PathStep]:
    found: list[PathStep] = []
    at = 1
    while at < len(text):
        step = _STEP.match(text, at)
        if step is None:
            raise ValueError(f'{text!r} cannot be read from {text[at:]!r}: $.name, $[0] and $["any name"] can')
        number, key = step["number"], step["key"]
        found.append(int(number) if number is not None else key if key is not None else step["name"])
        at = step.end()
    return found


def resolve_path(value: object, steps: tuple[PathStep, ...]) -> tuple[object, ...]:
    """The value that `steps` lead to, alone in a tuple; empty where there is none."""
    for step in steps:
        try:
            value = _children(value, step)[step]
        except LookupError:
            return ()
    return (value,)


def _children(value: object, step: PathStep) -> Any:
    """What `step` is looked up in: nothing, where it does not fit the value."""
    return value if isinstance(value, dict if isinstance(step, str) else list) else {}


def format_path(steps: tuple[PathStep, ...]) -> str:
    """The path as people write it."""
    return "$" + "".join(_format_step(step) for step in steps)


def _format_step(step: PathStep) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if re.fullmatch(r"[\w-]+", step) else f'["{step}"]'
