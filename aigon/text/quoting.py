"""Make text that aigon did not write safe to show in a prompt, a log, a commit message or a terminal.

Repositories, tools and agents choose this text: it may hold escape sequences, fences, headings or line breaks. Here it
stays data on the line, or in the block, where aigon put it.
"""

import re

from aigon.text.fingerprints import strip_escapes
from aigon.text.patterns import compile_re

_BREAKS = compile_re(r"\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_HIDDEN = compile_re(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f]")
_LONE_SURROGATES = compile_re(r"[\ud800-\udfff]")
_STARTS_A_BLOCK = compile_re(r"(?=[#\-+*>~`=|<_\[\\])|(?<=\d)(?=[.)])")
_BULLET = compile_re(r"^\s*[-*+]\s+")


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
