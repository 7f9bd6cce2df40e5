"""Bytes of any kind into text that patterns can read in linear time and bounded memory."""

import re

from aigon.text.fingerprints import strip_escapes

LIMIT = 16 * 1024 * 1024
"""Bytes of one report or JSON document that are read."""

_LINES = 4 * 1024 * 1024
"""Bytes of free text that are read, which keeps every parser at a few seconds for any input. Tools sum up at their
end, so three quarters of it are kept from there."""

_LINE = 4000
_LONG_LINE = re.compile(rf"^([^\n]{{{_LINE}}})[^\n]+", re.M)
_UNSHOWN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]+")
_NOISE = re.compile(r"^(?:> |\$ |npm (?:warn|WARN|notice)\b|yarn run |Done in )[^\n]*$", re.M)


def whole(output: bytes, limit: int = LIMIT) -> str:
    """`output` as text with `\\n` line ends; above `limit` bytes its head and its tail."""
    if len(output) > limit:
        output = output[: limit // 4] + b"\n" + output[-(limit - limit // 4) :]
    return output.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")


def text(output: bytes) -> str:
    """`output` as text without escape sequences; very long lines are shortened."""
    return shortened(strip_escapes(whole(output, _LINES)))


def shortened(lines: str) -> str:
    """`lines` with none longer than 4000 characters, so that no pattern meets a line it would be slow on."""
    if len(lines) <= _LINE:
        return lines
    return _LONG_LINE.sub(r"\1", lines)


def clean(value: str, limit: int = 500) -> str:
    """One line of at most `limit` characters that is safe to print, to encode and to put into a prompt."""
    value = strip_escapes(value[: limit * 10]).encode("utf-8", "replace").decode()
    return " ".join(_UNSHOWN.sub(" ", value).split())[:limit]


def silent(lines: str) -> bool:
    """The tool itself printed nothing: only what npm, yarn or pnpm put around it is there."""
    return not _NOISE.sub("", lines).strip()


def count(number: int, noun: str) -> str:
    """`1 problem`, `3 problems`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
