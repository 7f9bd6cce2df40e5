"""What an agent leaves in the folder of its run: without links that aigon would write through, and without secrets."""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from aigon.files.atomic import move_aside

MOST = 1_000
"""Files that are looked at; programs leave one to three."""
PIECE = 1 << 20
"""Bytes that are redacted at a time, and as many as a line may have."""
_OURS = ("prompt.md",)
Redact = Callable[[bytes], bytes]


def remove_links(run: Path, aside: Path, finished: int = -1) -> None:
    """Move links, pipes and sockets in the folder of a run to `aside`, also from where nothing stands as yet.

    aigon is in no sandbox: what it writes through a link that an agent made would be the agent's way out of its own.
    Of iterations before `finished` nothing is written any more.
    """
    for folder, below, names in os.walk(run):
        for name in (*below, *names):
            if not _plain(f"{folder}/{name}"):
                move_aside(Path(folder, name), aside)
        below[:] = [name for name in below if not (name.isdecimal() and int(name) < finished)]


def _plain(path: str) -> bool:
    mode = os.lstat(path).st_mode
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def redact_files(folder: Path, redact: Redact) -> None:
    """Go through the files below `folder`, but for prompts and logs, which are redacted as they are written.

    What cannot be read or written stays as it is; links are not followed.
    """
    for number, path in enumerate(_files(folder)):
        if number >= MOST:
            return
        try:
            _redact_file(path, redact)
        except OSError:
            continue


def _files(folder: Path) -> Iterator[str]:
    for place, _, names in os.walk(folder):
        yield from (f"{place}/{name}" for name in names if name not in _OURS and not name.endswith(".log"))


def _redact_file(path: str, redact: Redact) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    new = f"{path}.{os.urandom(4).hex()}.clean"
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return
        changed = False
        with open(new, "xb") as clean:  # noqa: PTH123 - a plain write, through no link
            while piece := b"".join(file.readlines(PIECE)):
                text = redact(piece)
                changed = changed or text != piece
                clean.write(text)
    os.replace(new, path) if changed else os.unlink(new)  # noqa: PTH105, PTH108 - plain calls
