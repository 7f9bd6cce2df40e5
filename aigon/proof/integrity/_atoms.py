"""Values of different languages, brought into one form so that inputs and answers can be compared."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

Atoms = tuple[str, ...]
"""A value, flattened: `(2, "a")` is `("2", "'a")`; numbers as they count, texts with an apostrophe before them."""

_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_NUMBERS = re.compile(rf"\s*[\[({{]?\s*{_NUMBER}(?:\s*[,;|:/_x*+@&=\s]\s*{_NUMBER})*\s*[\])}}]?\s*")
_DEEPEST = 6
_MOST = 300


def atoms(value: Any) -> Atoms:
    """The parts of a value, in order; a dictionary's keys and values one after the other. Of many, the first."""
    return tuple(islice(_flat(value, 0), _MOST))


def _flat(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, dict):
        value = [part for item in islice(value.items(), _MOST) for part in item]
    if isinstance(value, (list, tuple, set, frozenset)):
        for each in value if depth < _DEEPEST else ():
            yield from _flat(each, depth + 1)
    else:
        yield from _atom(value)


def _atom(value: Any) -> Atoms:
    if isinstance(value, (str, bytes)):
        return _of_text(value if isinstance(value, str) else value.decode("latin-1"))
    return (number(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value),)


def number(value: float) -> str:
    """A number as it counts: 2 and 2.0 are the same."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)[:40]


def kind(values: Iterable[str]) -> str:
    """`numbers`, `texts` or `mixed`."""
    kinds = {"texts" if each.startswith("'") else "numbers" for each in values}
    return kinds.pop() if len(kinds) == 1 else "mixed"


def _of_text(text: str) -> Atoms:
    """A text; one that is nothing but numbers, as keys of a map are often written, stands for the numbers."""
    if len(text) < 200 and _NUMBERS.fullmatch(text):
        return tuple(number(float(each)) for each in re.findall(_NUMBER, text))
    return ("'" + text[:2000],)
