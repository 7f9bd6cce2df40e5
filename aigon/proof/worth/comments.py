"""Take what comments say out of what a change adds, so that no checker can be told to look away.

A comment stays a comment of the same length, with other letters: its line is no longer, and what has to be documented
is documented.
"""

import re
from collections import Counter

from aigon.proof.analysis.text import line_at, list_comments
from aigon.text.patterns import compile_re

_KEPT = compile_re(r"#!/|/\*\*|//go:|//!|///|#.{0,40}coding[:=]")
"""What begins a comment that is no remark: an interpreter, documentation with types in it, a directive of Go's
compiler, the encoding of the file."""
_ATTRIBUTE = compile_re(r"(#!?\[\s*(?:cfg_attr\([^\n]{0,300},\s*)?)(allow|expect)\b[^\]]{0,1000}")
"""Rust's own way to tell a checker to look away, which is no comment."""


def silence(path: str, text: str, base: str) -> str | None:
    """Return the text with other letters in the comments of lines that `base` lacks; None if it has none there."""
    now, before = Counter(text.split("\n")), Counter(base.split("\n"))
    new = {number for number, line in enumerate(text.split("\n"), 1) if now[line] > before[line]}

    def is_new(start: int, end: int) -> bool:
        first = line_at(text, start)
        return not new.isdisjoint(range(first, first + text.count("\n", start, end) + 1))

    changes = [
        (start, end, re.sub(r"[A-Za-z0-9@]", "z", text[start:end]))
        for start, end in list_comments(text, path)
        if is_new(start, end) and not _KEPT.match(text, start)
    ]
    for match in _ATTRIBUTE.finditer(text) if path.endswith(".rs") else ():
        if is_new(*match.span()):
            changes.append((*match.span(2), "warn".ljust(len(match[2]))))
    silenced = text
    for start, end, said in sorted(changes, reverse=True):
        silenced = silenced[:start] + said + silenced[end:]
    return silenced if silenced != text else None
