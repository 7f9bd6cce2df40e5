"""The mark in a command file: a last line with the digest of all others. While it holds, the file is unedited.

Line endings do not count: git changes them on some systems.
"""

import hashlib
from typing import Literal

from aigon.text.patterns import compile_re

_MARK_FORMAT = "written by aigon install-commands, sha256 {digest}; if you edit this file, aigon leaves it to you"
_MARKED = compile_re(rb"(?m)^(?:<!-- |# )written by aigon install-commands, sha256 ([0-9a-f]{64}).*\n?")

CommandOrigin = Literal["intact", "edited", "foreign"]
"""A file is as aigon wrote it, was edited since, or is not aigon's at all."""


def mark_command(text: str, begin: str, end: str) -> bytes:
    """Return the file with `text` and a mark, which is a comment between `begin` and `end`."""
    unmarked = text.rstrip("\n") + "\n"
    mark = _MARK_FORMAT.format(digest=_digest(unmarked.encode()))
    return f"{unmarked}\n{begin}{mark}{end}\n".encode()


def inspect_command(content: bytes) -> tuple[CommandOrigin, str]:
    """Return the origin of a file, and the digest in its mark: of what aigon wrote last, "" without a mark."""
    marks = _MARKED.findall(_unix(content))
    if not marks:
        return "foreign", ""
    fits = len(marks) == 1 and marks[0].decode() == _digest(content)
    return "intact" if fits else "edited", marks[0].decode()


def is_unedited_command(path: str, content: bytes) -> bool:
    """Return whether the file at `path` is a command that aigon wrote, not edited since."""
    return path.endswith((".md", ".toml")) and inspect_command(content)[0] == "intact"


def _digest(content: bytes) -> str:
    return hashlib.sha256(_MARKED.sub(b"", _unix(content)).rstrip()).hexdigest()


def _unix(content: bytes) -> bytes:
    return content.replace(b"\r\n", b"\n")
