"""Files that are views of something else: nobody relies on them, and what is lost is written anew."""

import contextlib
import os
import time
from collections.abc import Iterable
from pathlib import Path

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def write_view(path: Path, text: str | Iterable[str]) -> None:
    """Write `path` whole: nobody sees half of it, and a link that stands there leads nowhere. Raises OSError.

    A long text may come in parts, which are not put together in memory.

    The old file goes first instead of being replaced, so that for a moment there may be none: ext4 flushes what
    replaces a file (its `auto_da_alloc`), which on a busy disk took 2 ms where this takes 0.1 ms.
    """
    name = os.fspath(path)
    temporary = f"{name}.{os.getpid()}.tmp"
    try:
        with os.fdopen(_opened(temporary), "wb") as file:
            parts = [text] if isinstance(text, str) else text
            file.writelines(part.encode("utf-8", "replace") for part in parts)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)  # noqa: PTH108 - on the hot path
        os.rename(temporary, name)  # noqa: PTH104
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise


def _opened(name: str) -> int:
    """A new file: whatever is there (a link, what a kill left) is not written to."""
    try:
        return os.open(name, _NEW, 0o666)
    except (FileNotFoundError, FileExistsError):
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        return os.open(name, _NEW, 0o666)


def make_way(path: Path, *, for_folder: bool = False) -> None:
    """Rename what stands at `path` and is neither the file nor the folder that belongs there: a pipe would block.

    Raises OSError where it cannot be renamed.
    """
    if not os.path.lexists(path):
        return
    if path.is_symlink() or not (path.is_dir() if for_folder else path.is_file()):
        path.rename(path.with_name(f"{path.name}.displaced-{time.time_ns()}"))
