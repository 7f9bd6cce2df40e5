"""Damage to bytes and lines: what cuts, filters, terminals, other encodings and interleaved processes do to output."""

import re
from collections.abc import Callable
from random import Random

from tests.checks.parsers import liked, seeds, structures

Mutation = Callable[[bytes, Random, str], bytes]
MOST = 300_000
"""Bytes of a mutated document; what size alone does is measured elsewhere."""
_PLANTED = (
    *(b"\0", b"\xff\xfe", b"\xc3", b"\xed\xa0\x80", b"\r", b"\x1b[31m", b"\x1b]0;t\x07", b"\x1b[", b"\x07\x08"),
    *("\u2028", "\u202e", "\x85", "\ufeff", "😀", "é"),
    *(b"]]>", b"<![CDATA[", b"&#0;", b"&nope;", b'"', b"\\", b"{", b"[", b"</", b"'", b"`", b"%s%n", b"{0}"),
)
_NUMBERS = (
    b"0",
    b"-1",
    b"00",
    b"1e999",
    b"NaN",
    b"Infinity",
    b"9" * 18,
    b"9" * 400,
    b"9" * 5000,
    b"1.5",
    b"1,234",
    b"",
)


def mutated(data: bytes, rng: Random, parser: str) -> tuple[bytes, str]:
    """`data` after one to four mutations, and their names."""
    names = []
    for _ in range(rng.randint(1, 4)):
        mutation = rng.choice(MUTATIONS)
        data = mutation(data, rng, parser)[:MOST]
        names.append(mutation.__name__)
    return data, ", ".join(names)


def cut_head(data: bytes, rng: Random, _: str) -> bytes:
    return data[rng.randint(0, len(data)) :]


def cut_tail(data: bytes, rng: Random, _: str) -> bytes:
    return data[: rng.randint(0, len(data))]


def cut_out(data: bytes, rng: Random, _: str) -> bytes:
    begin, end = sorted((rng.randint(0, len(data)), rng.randint(0, len(data))))
    return data[:begin] + data[end:]


def spliced(data: bytes, rng: Random, parser: str) -> bytes:
    """A part of another document in the middle of this one."""
    other = seeds.drawn(rng, parser).data
    begin, end = sorted((rng.randint(0, len(other)), rng.randint(0, len(other))))
    return _put(data, other[begin:end], rng)


def planted(data: bytes, rng: Random, _: str) -> bytes:
    """Bytes that mean something to a terminal, an encoding or a grammar."""
    for _each in range(rng.randint(1, 12)):
        what = rng.choice(_PLANTED)
        data = _put(data, what.encode() if isinstance(what, str) else what, rng)
    return data


def noisy(data: bytes, rng: Random, _: str) -> bytes:
    return _put(data, rng.randbytes(rng.randint(1, 40)), rng)


def renumbered(data: bytes, rng: Random, _: str) -> bytes:
    """Some of the numbers as no tool writes them."""
    return re.sub(rb"\d+", lambda m: rng.choice(_NUMBERS) if rng.random() < 0.2 else m[0], data)


def repeated(data: bytes, rng: Random, _: str) -> bytes:
    return data * rng.randint(2, 5)


def lines_repeated(data: bytes, rng: Random, _: str) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join(line * (rng.randint(2, 30) if rng.random() < 0.1 else 1) for line in lines)


def lines_lost(data: bytes, rng: Random, _: str) -> bytes:
    return b"".join(line for line in data.splitlines(keepends=True) if rng.random() < 0.8)


def lines_shuffled(data: bytes, rng: Random, _: str) -> bytes:
    """Two processes that print to one terminal."""
    lines = data.splitlines(keepends=True)
    rng.shuffle(lines)
    return b"".join(lines)


def line_ends(data: bytes, rng: Random, _: str) -> bytes:
    return data.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\r\r\n", b"\n\n", b"", b"\x0b", "\u2028".encode())))


def other_encoding(data: bytes, rng: Random, _: str) -> bytes:
    return data.decode("utf-8", "replace").encode(rng.choice(("utf-16", "utf-16-be", "utf-8-sig", "utf-32")), "replace")


def coloured(data: bytes, rng: Random, _: str) -> bytes:
    return re.sub(rb"\w+", lambda m: b"\x1b[1;31m" + m[0] + b"\x1b[0m" if rng.random() < 0.3 else m[0], data)


def long_run(data: bytes, rng: Random, parser: str) -> bytes:
    """A long run of what one of the parser's patterns likes."""
    return _put(data, liked.run(rng.choice(liked.runs(parser)), rng.choice((50, 3000, 40_000))), rng)


def _put(data: bytes, what: bytes, rng: Random) -> bytes:
    at = rng.randint(0, len(data))
    return data[:at] + what + data[at:]


MUTATIONS: tuple[Mutation, ...] = (
    *(cut_head, cut_tail, cut_out, spliced, planted, noisy, renumbered, repeated, lines_repeated, lines_lost),
    *(lines_shuffled, line_ends, other_encoding, coloured, long_run),
    *(structures.json_leaf, structures.json_leaf, structures.json_gone, structures.json_nested),
    *(structures.xml_attribute, structures.xml_nested, structures.xml_gone, structures.xml_prologue),
)
