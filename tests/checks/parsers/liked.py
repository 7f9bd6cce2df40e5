"""What a parser's regular expressions like: for each repetition in each pattern, a text that leads there, then a long
run of what it repeats, and no end that matches. That is what makes a bad pattern slow.
"""

import ast
import functools
import inspect
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any

from aigon.checks.parsers import list_parsers
from aigon.checks.parsers.matchers import Matcher
from tests.checks.parsers import seeds

_parser: Any = re._parser  # type: ignore[attr-defined]  # there is no other way to a pattern's parts
_TRIED = "a1 .:/-_\t\"'<>[(){=*|~,#\nZé\x1b"
_FEW = 3
"""Characters tried of one class, and long enough a repetition to be of interest."""
LINE = 3900
"""A line just under what the parsers cut."""


@dataclass(frozen=True, slots=True)
class Run:
    """`head` leads to a repetition, `body` is what it repeats."""

    pattern: str
    head: str
    body: str


def run(of: Run, size: int) -> bytes:
    """`head` and some `size` characters of `body`."""
    return (of.head + of.body * (size // max(1, len(of.body)) + 1)).encode("utf-8", "replace")


def flood(of: Run, size: int) -> bytes:
    """About `size` bytes: the run in long lines, in many short ones, its beginning only, and in a line for itself."""
    ways = (run(of, min(LINE, size // 4)), run(of, 40), (of.head or of.body).encode("utf-8", "replace"))
    lines = [way + b"\x00\n" for way in ways]
    return b"".join(line * (size // 5 // len(line)) for line in lines) + run(of, size * 2 // 5) + b"\x00\n"


@functools.cache
def runs(parser: str) -> tuple[Run, ...]:
    """The runs for every pattern that `parser` can come to use."""
    patterns = (pattern for value in seeds.reached(parser) for pattern in _patterns(value))
    found = (each for pattern in patterns for each in _of(pattern))
    return tuple(dict.fromkeys(found)) or (Run("", "a", "b"),)


@functools.cache
def first(parser: str) -> tuple[Run, ...]:
    """The runs that no parser before it has, those that call others last: all of them together have each once."""
    rank = {name: (len(runs(name)), name) for name in list_parsers()}
    before = {each for name in list_parsers() if rank[name] < rank[parser] for each in runs(name)}
    return tuple(each for each in runs(parser) if each not in before)


@functools.cache
def _of(pattern: "re.Pattern[str]") -> tuple[Run, ...]:
    return tuple(Run(pattern.pattern, head, body) for head, body in _runs(pattern) if body)


def _patterns(value: object) -> Iterator["re.Pattern[str]"]:
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        yield value
    elif isinstance(value, Matcher):
        yield from filter(None, (value.rule, value.recognise, value.total))
        yield from (each.regexp for each in (*value.patterns, *value.fallback, *value.accidents))
    elif isinstance(value, FunctionType) and Path(inspect.unwrap(value).__code__.co_filename).is_file():
        for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(value)))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("re.") and node.args:
                yield from _written_in(node.args[0])


def _written_in(argument: ast.expr) -> Iterator["re.Pattern[str]"]:
    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
        yield re.compile(argument.value, re.M)


def _runs(pattern: "re.Pattern[str]") -> Iterator[tuple[str, str]]:
    yield from _in(list(_parser.parse(pattern.pattern, pattern.flags)), "")


def _in(parts: list[Any], head: str) -> Iterator[tuple[str, str]]:
    for name, value in parts:
        for inner in _inner(str(name), value):
            yield from _in(inner, head)
        if str(name).endswith("_REPEAT") and value[1] > 8:
            yield from ((head, body) for body in _bodies(list(value[2])))
        head += _sample(str(name), value)


def _inner(name: str, value: Any) -> list[list[Any]]:
    """The sequences of parts inside a part."""
    if name == "BRANCH":
        return [list(each) for each in value[1]]
    if name.endswith("_REPEAT"):
        return [list(value[2])]
    inside = {"SUBPATTERN": -1, "ASSERT": 1, "ASSERT_NOT": 1}
    if name == "ATOMIC_GROUP":
        return [list(value)]
    return [list(value[inside[name]])] if name in inside else []


def _bodies(parts: list[Any]) -> Iterator[str]:
    """What one turn of a repetition takes: several characters of a class that is repeated alone."""
    if len(parts) == 1 and str(parts[0][0]) in ("IN", "ANY", "NOT_LITERAL"):
        yield from _chars(*parts[0])[:_FEW]
    else:
        yield "".join(_sample(str(name), value) for name, value in parts)


def _sample(name: str, value: Any) -> str:
    """A short text that the part takes."""
    if name == "LITERAL":
        return chr(value)
    if name in ("IN", "ANY", "NOT_LITERAL"):
        return (_chars(name, value) or [""])[0]
    if name in ("ASSERT", "ASSERT_NOT"):
        return ""
    inner = _inner(name, value)
    text = "".join(_sample(str(each), more) for each, more in inner[0]) if inner else ""
    return text * max(1, min(value[0], 3)) if name.endswith("_REPEAT") else text


def _chars(name: Any, value: Any) -> list[str]:
    """The characters out of those worth trying that the class takes."""
    if str(name) == "ANY":
        return [c for c in _TRIED if c != "\n"]
    if str(name) == "NOT_LITERAL":
        return [c for c in _TRIED if ord(c) != value]
    negated = any(str(kind) == "NEGATE" for kind, _ in value)
    return [c for c in _TRIED + _named(value) if any(_takes(each, c) for each in value) != negated]


def _named(items: Any) -> str:
    return "".join(chr(v) if str(k) == "LITERAL" else chr(v[0]) if str(k) == "RANGE" else "" for k, v in items)


def _takes(item: Any, char: str) -> bool:
    kind, value = str(item[0]), item[1]
    if kind == "LITERAL":
        return bool(ord(char) == value)
    if kind == "RANGE":
        return bool(value[0] <= ord(char) <= value[1])
    return kind == "CATEGORY" and bool(re.fullmatch(_CATEGORIES[str(value)], char))


_CATEGORIES = {
    f"CATEGORY_{'NOT_' * upper}{word}": rf"\{letter.upper() if upper else letter}"
    for word, letter in (("DIGIT", "d"), ("SPACE", "s"), ("WORD", "w"))
    for upper in (False, True)
}
