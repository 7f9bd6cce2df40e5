"""Which files a command opens and which folders it lists, as strace writes it down."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from aigon.text.patterns import compile_re

_CALLS = "trace=open,openat,openat2,getdents,getdents64"
_OPENED = compile_re(rb"\) += \d+<(/[^>]*)>")
_LISTED = compile_re(rb"getdents(?:64)?\(\d+<(/[^>]*)>")
_ESCAPE = compile_re(rb"\\([0-7]{1,3})")
LARGEST = 500 * 1024 * 1024
"""Bytes of a log that are read."""


def find_strace() -> str:
    """Return the program; empty if it is not installed."""
    return shutil.which("strace", path="/usr/bin:/bin:/usr/local/bin") or ""


def wrap_command(argv: Sequence[str], log: Path) -> list[str]:
    """Return the command line that runs `argv` and writes to `log` what it and all that it starts open."""
    options = ("-f", "--seccomp-bpf", "-qqq", "-y", "-s", "0", "-e", "signal=none", "-e", _CALLS, "-o", str(log))
    return [find_strace(), *options, "--", *argv]


def list_opened(log: Path, roots: Sequence[Path]) -> set[str] | None:
    """Return the paths below one of `roots`, relative to it; None for a log that is missing or too long."""
    prefixes = [f"{root}/".encode() for root in roots]
    try:
        if log.stat().st_size > LARGEST:
            return None
        with log.open("rb") as lines:
            found = {path for line in lines for path in _list_paths(line)}
    except OSError:
        return None
    below = (path[len(prefix) :] for path in found for prefix in prefixes if path.startswith(prefix))
    return {path.decode("utf-8", "surrogateescape") for path in below}


def _list_paths(line: bytes) -> Iterator[bytes]:
    if b"O_WRONLY" in line:
        return
    for pattern in (_OPENED, _LISTED):
        for path in pattern.findall(line):
            yield _ESCAPE.sub(lambda escape: bytes((int(escape[1], 8),)), path)
