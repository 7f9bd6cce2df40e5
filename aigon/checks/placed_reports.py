"""Reports that a tool places itself (`target/surefire-reports/*.xml`): old ones out of the way, new ones read."""

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from aigon.checks.report_file import content
from aigon.text.globs import compiled

ENTRIES = 200_000
"""Directory entries that are looked at."""
MOST = 2000
"""Reports that are read. Surefire writes one per test class."""
BYTES = 64 * 1024 * 1024
"""Bytes of all of them together."""
_SKIPPED = frozenset({".git", "node_modules", ".venv", "venv", "__pycache__"})


@contextmanager
def set_aside(folder: Path, patterns: Sequence[str], scratch: Path) -> Iterator[None]:
    """While it lasts, reports of an earlier run are not there; what is not written anew comes back."""
    aside = scratch / "earlier"
    moved = []
    for number, name in enumerate(_places(folder, patterns)):
        aside.mkdir(exist_ok=True)
        with contextlib.suppress(OSError):  # gone by itself
            _move(folder / name, aside / str(number))
            moved.append((aside / str(number), folder / name))
    try:
        yield
    finally:
        for kept, place in moved:
            with contextlib.suppress(OSError):  # the tool replaced its folder: it is the tool's to keep
                if not os.path.lexists(place):
                    place.parent.mkdir(parents=True, exist_ok=True)
                    _move(kept, place)


def found(folder: Path, patterns: Sequence[str]) -> Iterator[bytes]:
    """What the reports hold; empty for one that is no ordinary file, and for one too many."""
    left = BYTES
    for number, name in enumerate(_places(folder, patterns)):
        text = content(folder / name) or b""
        left -= len(text)
        yield text if left >= 0 else b""
        if number >= MOST or left < 0:
            yield b""
            return


def _places(folder: Path, patterns: Sequence[str]) -> list[str]:
    wanted = [compiled(pattern) for pattern in patterns]
    return sorted(name for name in _files(str(folder), wanted))


def _files(root: str, wanted: Sequence[re.Pattern[str]]) -> Iterator[str]:
    left = ENTRIES
    for place, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        left -= len(folders) + len(files)
        if left < 0:
            return
        below = place[len(root) + 1 :]
        names = (f"{below}/{name}" if below else name for name in files)
        yield from (name for name in names if any(pattern.fullmatch(name) for pattern in wanted))


def _move(source: Path, target: Path) -> None:
    import shutil

    shutil.move(source, target)
