"""Whether JSON holds what is expected of it: objects may hold more, lists may not."""

import json
from collections.abc import Iterator
from itertools import chain

from aigon.config.endpoint_references import PathStep, format_path

_LONGEST = 100
"""Characters of a value that a message shows."""


def differences(wanted: object, got: object, steps: tuple[PathStep, ...] = ()) -> Iterator[str]:
    """What is not as wanted, each with its place. Numbers are equal by value, and true is no number."""
    if isinstance(wanted, dict) and isinstance(got, dict):
        yield from chain.from_iterable(_of_key(key, each, got, steps) for key, each in wanted.items())
    elif isinstance(wanted, list) and isinstance(got, list):
        yield from _of_lists(wanted, got, steps)
    elif not _equal(wanted, got):
        yield f"{format_path(steps)}: expected {brief(wanted)}, got {brief(got)}"


def _of_key(key: str, wanted: object, got: dict[str, object], steps: tuple[PathStep, ...]) -> Iterator[str]:
    if key in got:
        yield from differences(wanted, got[key], (*steps, key))
    else:
        yield f"{format_path((*steps, key))}: expected {brief(wanted)}, and it is not there"


def _of_lists(wanted: list[object], got: list[object], steps: tuple[PathStep, ...]) -> Iterator[str]:
    if len(wanted) != len(got):
        yield f"{format_path(steps)}: expected {_count(wanted)}, got {_count(got)}"
    for number, (one, other) in enumerate(zip(wanted, got, strict=False)):
        yield from differences(one, other, (*steps, number))


def _count(values: list[object]) -> str:
    return f"{len(values)} element" + ("" if len(values) == 1 else "s")


def _equal(wanted: object, got: object) -> bool:
    return isinstance(wanted, bool) == isinstance(got, bool) and wanted == got


def brief(value: object) -> str:
    """A value as JSON, shortened."""
    if isinstance(value, dict | list) and value:
        value = dict(list(value.items())[:5]) if isinstance(value, dict) else value[:5]
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
