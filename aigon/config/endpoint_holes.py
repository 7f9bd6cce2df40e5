"""`${name}` in a request: a value that an earlier request saved."""

import json
import re
from collections.abc import Callable, Mapping

_HOLE = re.compile(r"\$(?P<literal>\$)?\{(?P<name>[A-Za-z_]\w*)\}", re.ASCII)
Values = Mapping[str, object]


class Unsaved(Exception):
    """A value that is asked for was never saved; its text is the value's name."""


def names(value: object) -> set[str]:
    """The names of all values that `value` asks for, in texts at any depth."""
    if isinstance(value, str):
        return {hole["name"] for hole in _HOLE.finditer(value) if not hole["literal"]}
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return {name for part in parts for name in names(part)}


def whole(text: str) -> str:
    """The name of the value where `text` is nothing but one; else empty."""
    hole = _HOLE.fullmatch(text)
    return hole["name"] if hole and not hole["literal"] else ""


def filled(value: object, values: Values) -> object:
    """`value` with all holes filled. A text that is only a hole becomes the value itself, with its type.

    Raises Unsaved.
    """
    if isinstance(value, str):
        return _known(name, values) if (name := whole(value)) else text(value, values)
    if isinstance(value, Mapping):
        return {key: filled(each, values) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [filled(each, values) for each in value]
    return value


def text(template: str, values: Values, quoted: Callable[[str], str] = str) -> str:
    """`template` with each hole as text, made fit for its place by `quoted`; `$${x}` is `${x}`. Raises Unsaved."""
    return _HOLE.sub(lambda hole: _filled(hole, values, quoted), template)


def _filled(hole: re.Match[str], values: Values, quoted: Callable[[str], str]) -> str:
    return hole[0][1:] if hole["literal"] else quoted(as_text(_known(hole["name"], values)))


def _known(name: str, values: Values) -> object:
    if name not in values:
        raise Unsaved(name)
    return values[name]


def as_text(value: object) -> str:
    """A value inside a longer text: a text as it is, everything else as in JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
