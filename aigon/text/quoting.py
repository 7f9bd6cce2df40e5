"""Text for a prompt, a log, a commit or a terminal: what aigon did not write made safe, and errors by stable names.

Repositories, tools and agents choose this text: it may hold escape sequences, fences, headings or line breaks. Here it
stays data on the line, or in the block, where aigon put it.
"""

import re
from collections.abc import Iterable, Sequence

from aigon.text.patterns import compile_re

_BREAKS = compile_re(r"\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_HIDDEN = compile_re(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f]")
_LONE_SURROGATES = compile_re(r"[\ud800-\udfff]")
_STARTS_A_BLOCK = compile_re(r"(?=[#\-+*>~`=|<_\[\\])|(?<=\d)(?=[.)])")
_BULLET = compile_re(r"^\s*[-*+]\s+")
_ANSI = compile_re(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])?")
_VARIABLE_PARTS: tuple[tuple[re.Pattern[str], str], ...] = (
    (compile_re(r"(?<![\w./])/+(?:[^\s/:'\"<>|()\[\],;]+/+)+(?=[^\s/])"), ""),
    (compile_re(r"\b0x[0-9a-fA-F]+\b"), "0x"),
    (compile_re(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"), "UUID"),
    (compile_re(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"), "TIME"),
    (compile_re(r"\b\d+(?:\.\d+)?\s?(?:ms|µs|us|ns|s|sec|secs|seconds|minutes|min)\b"), "DURATION"),
    (compile_re(r"(?<=[\w\])]):\d+(?::\d+)?"), ":N"),
    (compile_re(r"\bline \d+\b"), "line N"),
)
"""What changes from run to run although the error is the same, in an order measured on 34 failing runs of pytest."""


def clean(text: str) -> str:
    """Return `text` with newlines as its only line breaks, without escape sequences and invisible characters.

    Half a surrogate pair (from a file name that is not UTF-8) becomes U+FFFD: it could not be written to a file.
    """
    return _LONE_SURROGATES.sub("\ufffd", _HIDDEN.sub("", _BREAKS.sub("\n", strip_escapes(text))))


def clip(text: str, limit: int) -> str:
    """Return at most `limit` characters, with an ellipsis at the end if there were more."""
    return text if len(text) <= limit else text[: max(limit - 1, 0)] + "…"


def fold(text: str, limit: int = 300) -> str:
    """Return `text` on one line of at most `limit` characters."""
    return clip(" ".join(clean(text[: limit * 20]).split()), limit)


def list_item(text: str, limit: int = 300) -> str:
    """Return one line that can begin a list item: a leading `#`, `-` or `1.` starts no block of its own.

    Never empty: an empty item under a line of text would make that line a heading.
    """
    line = fold(_BULLET.sub("", text), limit) or "(empty)"
    head = re.match(r"\d*", line)
    at = head.end() if head else 0
    return line[:at] + "\\" + line[at:] if _STARTS_A_BLOCK.match(line, at) else line


def code_span(text: str, limit: int = 200) -> str:
    """Return `text` as a code span with enough backticks around it; "" for nothing to show."""
    line = fold(text, limit)
    if not line:
        return ""
    ticks = "`" * (_longest_run(line) + 1)
    gap = " " if line[0] == "`" or line[-1] == "`" else ""
    return f"{ticks}{gap}{line}{gap}{ticks}"


def code_block(text: str, info: str = "text") -> str:
    """Return `text` as a fenced block with a long enough fence. No line break at its end."""
    body = clean(text).strip("\n")
    fence = "`" * max(3, _longest_run(body) + 1)
    return f"{fence}{info}\n{body}\n{fence}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)


def strip_escapes(text: str) -> str:
    """Return `text` without terminal escape sequences."""
    return _ANSI.sub("", text)


def normalise(text: str) -> str:
    """Return `text` without what changes from run to run although the error is the same."""
    text = " ".join(strip_escapes(text).split())
    for pattern, replacement in _VARIABLE_PARTS:
        text = pattern.sub(replacement, text)
    return text


def fingerprint(*parts: str) -> str:
    """Return twelve hex digits that name an error: equal for the same error in another place, run or directory."""
    return _hash("\0".join(map(normalise, parts)))


def combine_fingerprints(fingerprints: Iterable[str]) -> str:
    """Return one name for a set of fingerprints; "" for none."""
    names = sorted(set(fingerprints))
    return _hash("\n".join(names)) if names else ""


def _hash(text: str) -> str:
    from hashlib import sha256  # loads OpenSSL, which a start does not need

    return sha256(text.encode("utf-8", "replace")).hexdigest()[:12]


def align_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a line for each row, with every cell in a column as wide as its longest one."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def wrap_lines(text: str, width: int, first: str = "", others: str = "    ") -> list[str]:
    """Return lines of at most `width` columns; what has no blank in it (a path, an address) stays whole."""
    import textwrap  # a start wraps nothing

    return textwrap.wrap(
        text,
        max(width, 40),
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )
