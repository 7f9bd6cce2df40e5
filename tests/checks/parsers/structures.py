"""Damage to JSON and XML that leaves them well formed: another type at a path, a part gone, nested without end."""

import functools
import json
import re
from collections.abc import Iterator
from random import Random
from typing import Any

Path = tuple[str | int, ...]
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 10**30, 1.5, float("nan"), float("inf"), "", "x", "9" * 5000, "\ud800", "\0\x1b[31m"),
    *([], {}, [None], [[]], {"": {}}, [{}, 3, "a"], {"a": [1, {"b": None}]}),
)
"""Values that stand where a parser expects something else."""
_DEPTHS = (3, 100, 3000, 30_000)
DEEPEST = 500
_ATTRIBUTE = re.compile(rb'(?<==")[^"<>\n]*(?=")')
_ELEMENT = re.compile(rb"<(\w[\w.:-]*)[^<>]*?(?:/>|>[^<>]*</\1>)")
_VALUES = (
    b"",
    b"-1",
    b"9" * 5000,
    b"1e999",
    b"NaN",
    b"x" * 5000,
    b"&#x1b;[31m",
    b"&lt;&amp;",
    b"\xff",
    b"../../x",
    b" ",
)


def json_leaf(data: bytes, rng: Random, _: str) -> bytes:
    """Another value somewhere in one of the JSON documents that `data` holds."""
    return _in_json(data, rng, lambda value: replaced(value, rng.choice(list(paths(value))), rng.choice(ODD)))


def json_gone(data: bytes, rng: Random, _: str) -> bytes:
    """A key or an element less."""
    return _in_json(data, rng, lambda value: _without(value, rng.choice(list(paths(value)))))


def json_nested(data: bytes, rng: Random, _: str) -> bytes:
    """Brackets without end in place of a value."""
    depth, (opening, closing) = rng.choice(_DEPTHS), rng.choice((("[", "]"), ('{"a":', "}"), ("[", "")))
    marked = _in_json(data, rng, lambda value: replaced(value, rng.choice(list(paths(value))), "@deep@"))
    return marked.replace(b'"@deep@"', (opening * depth + "1" + closing * depth).encode())


def xml_attribute(data: bytes, rng: Random, _: str) -> bytes:
    """Other values in some of the attributes."""
    return _ATTRIBUTE.sub(lambda m: rng.choice(_VALUES) if rng.random() < 0.1 else m[0], data)


def xml_nested(data: bytes, rng: Random, _: str) -> bytes:
    """One of the elements inside itself, many times."""
    if not (found := list(_ELEMENT.finditer(data))):
        return data
    match = rng.choice(found)
    return data[: match.start()] + b"<%s>" % match[1] * rng.choice(_DEPTHS) + data[match.start() :]


def xml_gone(data: bytes, rng: Random, _: str) -> bytes:
    """Some of the elements or tags less."""
    return re.sub(rb"<[^<>]*>", lambda m: b"" if rng.random() < 0.05 else m[0], data)


def xml_prologue(data: bytes, rng: Random, _: str) -> bytes:
    """Declarations that no test runner writes, before the document."""
    bomb = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    outside = b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
    odd = b"<?xml version='1.0' encoding='no-such-thing'?>", b"<?xml version='1.0' encoding='utf-16'?>", b"<!-- a -->"
    return rng.choice((bomb, outside, *odd)) + re.sub(rb"<\?xml[^>]*\?>", b"", data)


def documents(data: bytes) -> list[tuple[int, int, Any]]:
    """The JSON documents in `data` (the whole of it, or one per line): begin, end, value."""
    return list(_documents(data))


def paths(value: Any, at: Path = ()) -> Iterator[Path]:
    """The ways to every value inside `value`, to itself first."""
    yield at
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inside:
        yield from paths(each, (*at, key))


def replaced(value: Any, at: Path, new: Any) -> Any:
    """`value` with `new` at the path."""
    if not at:
        return new
    copy = value.copy()
    copy[at[0]] = replaced(value[at[0]], at[1:], new)
    return copy


def _without(value: Any, at: Path) -> Any:
    if len(at) == 1:
        copy = value.copy()
        del copy[at[0]]
        return copy
    return replaced(value, at[:1], _without(value[at[0]], at[1:])) if at else {}


@functools.lru_cache(maxsize=256)
def _parsed(data: bytes) -> tuple[tuple[int, int, Any], ...]:
    try:
        return ((0, len(data), _load(data)),)
    except (ValueError, RecursionError):
        return tuple(_lines(data))


def _load(data: bytes) -> Any:
    """Raise RecursionError for what is too deep to walk: from Python 3.14 on json reads that."""
    value = json.loads(data)
    if max(map(len, paths(value))) > DEEPEST:
        raise RecursionError
    return value


def _documents(data: bytes) -> tuple[tuple[int, int, Any], ...]:
    return _parsed(data) if len(data) <= 100_000 else ()


def _lines(data: bytes) -> Iterator[tuple[int, int, Any]]:
    for match in re.finditer(rb"^[\[{].*$", data, re.M):
        try:
            yield match.start(), match.end(), _load(match[0])
        except (ValueError, RecursionError):
            continue


def _in_json(data: bytes, rng: Random, change: Any) -> bytes:
    if not (found := documents(data)):
        return data
    begin, end, value = rng.choice(found)
    return data[:begin] + written(change(value)) + data[end:]


def written(value: Any) -> bytes:
    """`value` as JSON on one line; half characters as escapes, so that it can be written at all."""
    try:
        return json.dumps(value).encode()
    except (RecursionError, ValueError):
        return b"[]"
