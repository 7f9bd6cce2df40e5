"""What happens to files: cut, overwritten, mixed up, saved in another encoding, or made by somebody who means harm.

A damaged input is a sound one and a few small operations on it, so that hypothesis takes away what does not matter.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from tests.fuzz.target import LONGEST, Target

DEEP = 100_000
"""Brackets within brackets: far beyond what Python's recursion allows."""
HOSTILE: tuple[bytes, ...] = (
    *(b"", b"\0", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r", b"\r\n", b"\n", b"\t", b" ", b"\x85"),
    *(
        "\u2028".encode(),
        "\u202e".encode(),
        b"\x1b[31m",
        b"\x1b]0;t\x07",
        b"\x07\x08",
        b"%s%n{0}",
        b"\\ud800",
        b"\\u0000",
    ),
    *(
        b"NaN",
        b"Infinity",
        b"-Infinity",
        b"1e999",
        b"-1",
        b"0",
        b"9" * 30,
        b"9" * 400,
        b"9" * 5000,
        b"0x" + b"f" * 5000,
    ),
    *(
        b"null",
        b"true",
        b"[]",
        b"{}",
        b"[[]]",
        b'""',
        b"'",
        b'"',
        b"`",
        b"\\",
        b"{",
        b"[",
        b"}",
        b"]",
        b":",
        b",",
        b"#",
    ),
    *(b"- ", b"---\n", b"...\n", b"!!python/object/apply:os.system [id]", b"!!binary x", b"!!set {a}", b"!x y"),
    *(b"&a [*a]", b"*a", b"&a", b"<<: *a", b"? ", b"2026-02-31", b"2026-11-20T10:00:00Z", b"1:2:3", b".inf", b"0o9"),
    *(b"../../etc/passwd", b"/dev/zero", b"a" * 5000, b"\xf0\x9f\x98\x80", b"e\xcc\x81"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 10**30, -(10**400), 10**4000, 0.5, float("nan"), float("inf"), [], {}, [[]], [None]),
    *("", "\0", "\ud800", "\x1b[31m", "x" * 5000, "../..", {"": None}, {"a": {"a": {}}}, ["a"] * 50, "9" * 5000),
)


class Input(bytes):
    """Bytes that are shown shortened."""

    def __repr__(self) -> str:
        return repr(bytes(self)) if len(self) <= 300 else f"{bytes(self[:150])!r} ... {len(self):,} bytes"


Damage = Callable[[bytes, int, int, bytes], bytes]


def cut_tail(data: bytes, at: int, _size: int, _word: bytes) -> bytes:
    return data[: at % (len(data) + 1)]


def cut_head(data: bytes, at: int, _size: int, _word: bytes) -> bytes:
    return data[at % (len(data) + 1) :]


def cut_out(data: bytes, at: int, size: int, _word: bytes) -> bytes:
    begin = at % (len(data) + 1)
    return data[:begin] + data[begin + size % 200 :]


def bit_flipped(data: bytes, at: int, bit: int, _word: bytes) -> bytes:
    if not data:
        return data
    at %= len(data)
    return data[:at] + bytes([data[at] ^ 1 << bit % 8]) + data[at + 1 :]


def planted(data: bytes, at: int, _size: int, word: bytes) -> bytes:
    at %= len(data) + 1
    return data[:at] + word + data[at:]


def overwritten(data: bytes, at: int, _size: int, word: bytes) -> bytes:
    at %= len(data) + 1
    return data[:at] + word + data[at + len(word) :]


def exchanged(data: bytes, at: int, _size: int, word: bytes) -> bytes:
    """A word, number or quoted text gives way to another one."""
    found = list(re.finditer(rb'"[^"\n]{0,80}"|[\w.-]+', data[:LONGEST]))
    return data[: (m := found[at % len(found)]).start()] + word + data[m.end() :] if found else word


def doubled(data: bytes, at: int, size: int, _word: bytes) -> bytes:
    """A line, or several, twice: keys too."""
    lines = data.splitlines(keepends=True)
    at %= len(lines) + 1
    return b"".join([*lines[:at], *lines[at : at + size % 5] * 2, *lines[at + size % 5 :]])


def swapped(data: bytes, at: int, other: int, _word: bytes) -> bytes:
    """Two lines have changed places."""
    lines = data.splitlines(keepends=True)
    if lines:
        at, other = at % len(lines), other % len(lines)
        lines[at], lines[other] = lines[other], lines[at]
    return b"".join(lines)


def run(data: bytes, at: int, size: int, word: bytes) -> bytes:
    """A word many times over."""
    return planted(data, at, 0, word[:20] * (size % 3000))


def deep(data: bytes, at: int, size: int, _word: bytes) -> bytes:
    opening = (b"[", b'{"a":', b"- ", b"> ", b"{a: ", b"(", b"<a>", b"* ")[size % 8]
    return planted(data, at, 0, opening * (DEEP // len(opening) if size % 16 < 8 else 300))


def crlf(data: bytes, _at: int, size: int, _word: bytes) -> bytes:
    return data.replace(b"\n", (b"\r\n", b"\r", b"\n\n", b"\x0b", b"\r\r\n", b"")[size % 6])


def encoded(data: bytes, _at: int, size: int, _word: bytes) -> bytes:
    """Saved by another editor."""
    name = ("utf-8-sig", "utf-16", "utf-16-be", "utf-32", "utf-7")[size % 5]
    return data.decode("utf-8", "replace").encode(name, "replace")


def revalued(data: bytes, at: int, size: int, _word: bytes) -> bytes:
    """One value in a JSON document is another; in lines of JSON, in one of them, under the right checksum."""
    lines = data.split(b"\n")
    number = at % len(lines)
    for candidate in (number, None):
        text = data if candidate is None else lines[candidate]
        head, body = _checksummed(text)
        if (changed := _revalued(body, at, size)) is not None:
            fresh = head(changed)
            return fresh if candidate is None else b"\n".join([*lines[:candidate], fresh, *lines[candidate + 1 :]])
    return data


def _checksummed(line: bytes) -> tuple[Callable[[bytes], bytes], bytes]:
    """How a line is put together from its document, and the document."""
    import zlib

    if re.match(rb"[0-9a-f]{8} ", line):
        return lambda data: b"%08x %s" % (zlib.crc32(data), data), line[9:]
    return lambda data: data, line


def _revalued(data: bytes, at: int, size: int) -> bytes | None:
    try:
        document = json.loads(data)
        places = _places(document)
    except (ValueError, RecursionError):
        return None
    if not places:
        return None
    holder, key = places[at % len(places)]
    value = VALUES[size % len(VALUES)]
    match size // len(VALUES) % 4:
        case 0 | 1:
            holder[key] = value
        case 2:
            del holder[key]
        case _:
            holder[f"{key}x" if isinstance(holder, dict) else key] = value
    return _dumped(document)


def _dumped(document: Any) -> bytes:
    import sys

    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        return json.dumps(document).encode()
    finally:
        sys.set_int_max_str_digits(before)


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every key of every object, every number of every list."""
    inside: Sequence[tuple[Any, Any]] = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else ()
    )
    return [place for key, child in inside for place in [(value, key), *_places(child)]]


ALL: tuple[Damage, ...] = (
    *(
        cut_tail,
        cut_head,
        cut_out,
        bit_flipped,
        planted,
        overwritten,
        exchanged,
        exchanged,
        doubled,
        swapped,
        run,
        deep,
    ),
    *(crlf, encoded, revalued, revalued, revalued),
)


def inputs(target: Target) -> st.SearchStrategy[bytes]:
    """Damaged samples of a reader, and now and then any bytes."""
    samples = [sample[:LONGEST] for sample in target.samples()]
    number = st.integers(0, 2**16 - 1)
    step = st.tuples(st.sampled_from(ALL), number, number, st.sampled_from((*target.words, *HOSTILE)))
    spoilt = st.builds(_spoilt, st.sampled_from(samples), st.lists(step, min_size=1, max_size=4))
    return st.one_of(spoilt, spoilt, spoilt, st.binary(max_size=200)).map(Input)


def _spoilt(data: bytes, steps: list[tuple[Damage, int, int, bytes]]) -> bytes:
    for damage, at, size, word in steps:
        data = damage(data, at, size, word)[: 2 * LONGEST]
    return data
