"""Test files of any language, altered line by line: nothing is parsed, and of several other values one has to show."""

import re
from collections.abc import Iterator, Set
from itertools import count

from aigon.control.places import Draw
from aigon.text.patterns import compile_re

C_PROGRAMS = (".c", ".cc", ".cpp", ".cxx")
_ASSERTS = compile_re(
    rb"(?i)^(?!\s*(?:#|//|(?:use|from|include|package|plan)\b)|.*\b(?:require|import)\b)"
    rb".*(?:assert|expect|should|must|equal|verify|[!=]=|\b(?:is|ok|eq|ne|test|diff|cmp|die|unless|grep)\b|\[\s"
    rb"|\w\(\s*[\w.]+\([^()]*\)\s*,)"
)
"""Lines that seem to assert; the last form hands what a call returned to another: `check(add(2, 3), 5)`."""
_SAYS = compile_re(rb"\s*(?:#|//|(?:echo|print\w*|puts|say|note|diag|console|System)\b)")
"""Lines for people."""
_PARTS = compile_re(rb"(&&|\|\||[;|])")
"""Between the parts of a line: `test -f a && chmod 500 b` asserts nothing about 500."""
_NUMBER = compile_re(rb"(?<![\w.$])\d{1,9}(?![\w.])")
_QUOTED = compile_re(rb"([\"'])[\w ,.!:]+(?=\1)")
_DEFINES = compile_re(
    rb"\b(?:def|function|fn|func|fun|sub|proc)\s+(\w+)"
    rb"|\b(?!(?:if|for|while|switch|catch)\b)(\w+)\s*\([^;(){}]*\)\s*\{"
    rb"|\b(\w+)\s*[:=]\s*(?:async\s+)?(?:function\b|(?:\w+|\([^;(){}]*\))\s*=>)"
)


def has_main(data: bytes) -> bool:
    """Return whether a source in C is a program."""
    return re.search(rb"\bmain\s*\(", data) is not None


def list_changed_functions(base: bytes, now: bytes) -> Iterator[bytes]:
    """Yield the names of functions whose text the base does not have."""
    yield from (name for name, text in _list_functions(now) if text not in base)


def _list_functions(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    found = list(_DEFINES.finditer(data))
    ends = [*(data.rfind(b"\n", 0, later.start()) for later in found[1:]), len(data)]
    for each, end in zip(found, ends, strict=False):
        yield each[1] or each[2] or each[3], data[each.start() : max(end, each.end())].rstrip()


def calls_any(text: bytes, used: Set[bytes]) -> bool:
    """Return whether a test names one of these functions."""
    return not used.isdisjoint(re.findall(rb"\w+", text))


def alter_assertions(data: bytes, seed: str, used: Set[bytes] | None = None) -> bytes:
    """Return a test file with other values wherever it seems to assert, or on the lines that call a function in `used`;
    b"" without any.

    One of them is enough to fail: some may be words for people.
    """
    draw = Draw(seed, "assertions")
    calls = re.compile(rb"\b(?:%s)\b.*?[\d\"']" % b"|".join(map(re.escape, sorted(used or ()))))

    def is_meant(text: bytes) -> bool:
        if used is None:
            return _ASSERTS.search(text) is not None
        return bool(used) and calls.search(text) is not None and not _SAYS.match(text)

    def alter_part(part: bytes) -> bytes:
        if not is_meant(part):
            return part
        steps = count(draw.step)  # what gives its argument back would give the same other number
        altered = _NUMBER.sub(lambda number: b"%d" % (int(number[0]) + next(steps)), part)
        return altered if altered != part else _QUOTED.sub(lambda text: text[0] + draw.word.encode(), part, count=1)

    def alter_line(line: bytes) -> bytes:
        return b"".join(map(alter_part, _PARTS.split(line))) if is_meant(line) else line

    altered = b"\n".join(map(alter_line, data.split(b"\n")))
    return altered if altered != data else b""
