"""Places in an answer: `$.items[0].id` in its JSON body, `headers.location`, `cookies.session`."""

import re
from dataclasses import dataclass
from typing import Any, Literal

_STEP = re.compile(r"""\.(?P<name>[^.\[\]"'\s]+)|\[(?P<number>-?\d{1,9})\]|\[(?P<quote>["'])(?P<key>.*?)(?P=quote)\]""")
Step = str | int


@dataclass(frozen=True, slots=True)
class Source:
    """Where a value is taken from; `steps` lead to it in JSON, or are the name of a header or a cookie."""

    kind: Literal["json", "headers", "cookies"]
    steps: tuple[Step, ...]


def source(text: str) -> Source:
    """The place that `text` means. Raises ValueError, for people, where it means none."""
    for kind in ("headers", "cookies"):
        name = text.removeprefix(f"{kind}.")
        if name and name != text:
            return Source("headers" if kind == "headers" else "cookies", (name,))
    if not text.startswith("$"):
        raise ValueError(f"{text!r} is none of $.name, headers.NAME and cookies.NAME")
    return Source("json", tuple(_steps(text)))


def _steps(text: str) -> list[Step]:
    found: list[Step] = []
    at = 1
    while at < len(text):
        step = _STEP.match(text, at)
        if step is None:
            raise ValueError(f'{text!r} cannot be read from {text[at:]!r}: $.name, $[0] and $["any name"] can')
        number, key = step["number"], step["key"]
        found.append(int(number) if number is not None else key if key is not None else step["name"])
        at = step.end()
    return found


def found(value: object, steps: tuple[Step, ...]) -> tuple[object, ...]:
    """The value that `steps` lead to, alone in a tuple; empty where there is none."""
    for step in steps:
        try:
            value = _children(value, step)[step]
        except LookupError:
            return ()
    return (value,)


def _children(value: object, step: Step) -> Any:
    """What `step` is looked up in: nothing, where it does not fit the value."""
    return value if isinstance(value, dict if isinstance(step, str) else list) else {}


def shown(steps: tuple[Step, ...]) -> str:
    """The path as people write it."""
    return "$" + "".join(_shown(step) for step in steps)


def _shown(step: Step) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if re.fullmatch(r"[\w-]+", step) else f'["{step}"]'
