"""Take what comments say out of what a change adds, so that no checker can be told to look away.

A comment stays a comment of the same length, with other letters: its line is no longer, and what has to be documented
is documented.
"""

import re
from collections import Counter
from collections.abc import Sequence

from aigon.proof.analysis.text import comments as list_lines
from aigon.syntax import Source, parse
from aigon.text.patterns import compile_re

_KEPT = compile_re(rb"#!/|/\*\*|//go:|//!|///|#.{0,40}coding[:=]")
"""What begins a comment that is no remark: an interpreter, documentation with types in it, a directive of Go's
compiler, the encoding of the file."""
_ATTRIBUTE = compile_re(rb"#!?\[\s*(?:cfg_attr\(.*,\s*)?(allow|expect)\b")
"""Rust's own way to tell a checker to look away, which is no comment."""


def silence(path: str, text: str, base: str) -> str | None:
    """Return the text with other letters in the comments of lines that `base` lacks; None if it has none there."""
    now, before = Counter(text.split("\n")), Counter(base.split("\n"))
    lines = text.split("\n")
    new = {number for number, line in enumerate(lines, 1) if now[line] > before[line]}
    source = parse(path, text)
    is_read = source and source.root.kind != "unread"
    silenced = _silence_nodes(source, new) if source and is_read else _silence_lines(path, lines, new)
    return silenced if silenced != text else None


def _silence_nodes(source: Source, new: set[int]) -> str:
    data = bytearray(source.data)
    attributes = (node for node in source.root.walk() if "attribute" in node.kind)
    for node in (*source.comments(), *attributes):
        if not new.intersection(range(node.line, source.last_line(node) + 1)):
            continue
        said = source.data[node.start : node.end]
        if match := _ATTRIBUTE.match(said):
            start, end = match.span(1)
            data[node.start + start : node.start + end] = b"warn".ljust(end - start)
        elif "comment" in node.kind and not _KEPT.match(said):
            data[node.start : node.end] = re.sub(rb"[A-Za-z0-9@]", b"z", said)
    return data.decode("utf-8", "surrogateescape")


def _silence_lines(path: str, lines: Sequence[str], new: set[int]) -> str:
    """Do the same in a language that is not parsed."""
    silenced = list(lines)
    for number, said in list_lines("\n".join(lines), path):
        if number in new and not _KEPT.match(said.encode(errors="replace")):
            silenced[number - 1] = silenced[number - 1].replace(said, re.sub(r"[A-Za-z0-9@]", "z", said))
    return "\n".join(silenced)
