"""Folders: temporary ones, removed trees, real ones in place of links, and the files that patterns mean.

A temporary folder is locked while its aigon lives, so that the next aigon can remove those of a killed one.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from aigon.errors import environment
from aigon.files.atomic import move_aside
from aigon.files.locks import try_lock
from aigon.text.patterns import compile_glob

PREFIX = "aigon-tmp-"
"""How the names of these folders begin. They are short, as a socket's path has 107 bytes at most."""
IN_MEMORY = Path("/dev/shm")
"""Where Linux keeps files in memory."""
REMOVAL_SECONDS = 5.0
"""How long a removal is tried while something may still be writing there."""


class TemporaryFolder:
    """An empty folder among temporary files, or in `parent`, that is gone with `close`, or with the `with` block.

    The lock is the kernel's: it ends with the process, whatever kills it, and it holds in containers that share /tmp,
    where the number of a process says nothing.
    """

    def __init__(self, kind: str, parent: Path | None = None) -> None:
        self._lock: int | None = None
        while True:
            self.path = Path(os.path.realpath(tempfile.mkdtemp(prefix=f"{PREFIX}{kind}-", dir=parent)))
            try:
                self._lock = try_lock(self.path, os.O_DIRECTORY)
            except FileNotFoundError:
                continue
            except OSError:
                return  # this file system locks no folders, so no other aigon removes it
            if self._lock is not None:
                return  # else another aigon took it for an abandoned one

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the folder; what cannot be removed stays."""
        discard_tree(self.path)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def remove_abandoned() -> None:
    """Remove this user's temporary folders that no living aigon holds."""
    for parent in {tempfile.gettempdir(), "/tmp", str(IN_MEMORY)}:
        with suppress(OSError), os.scandir(parent) as entries:
            for entry in entries:
                if entry.name.startswith(PREFIX) and entry.is_dir(follow_symlinks=False):
                    _remove_abandoned_folder(Path(entry.path))


def _remove_abandoned_folder(folder: Path) -> None:
    with suppress(OSError):
        if folder.lstat().st_uid == os.getuid() and (lock := try_lock(folder, os.O_DIRECTORY)) is not None:
            discard_tree(folder)
            os.close(lock)


def remove_tree(folder: Path) -> None:
    """Remove a folder, even one that cannot be written. Raises AigonError (exit 7)."""
    limit = time.monotonic() + REMOVAL_SECONDS
    while os.path.lexists(folder):
        try:
            shutil.rmtree(folder)
        except OSError as error:
            if time.monotonic() > limit:
                raise environment(
                    f"A folder of aigon's own cannot be removed: {error.strerror or error}",
                    where=str(error.filename or folder),
                    hint="Remove that folder by hand; nothing in it is needed",
                ) from error
            _make_removable(folder)


def discard_tree(folder: Path) -> None:
    """Remove a folder, whatever rights were set in it. What cannot be removed stays."""
    with suppress(OSError):
        shutil.rmtree(folder)
        return
    _make_removable(folder)
    shutil.rmtree(folder, ignore_errors=True)


def _make_removable(folder: Path) -> None:
    """Make folders writable: the modes of the files in them do not matter. Links are not followed."""
    with suppress(OSError):
        folder.chmod(0o700)
    for place, names, _ in os.walk(folder):
        for name in names:
            with suppress(OSError):
                path = f"{place}/{name}"
                if not os.path.islink(path):  # noqa: PTH114 - many of them
                    os.chmod(path, 0o700)  # noqa: PTH101 - as above


def find_matches(root: Path, pattern: str) -> tuple[str, ...]:
    """Return the files, links and folders that match `pattern`, without what lies below a folder that matches.

    No link to a folder is followed.
    """
    if not set("*?{") & set(pattern):
        is_inside = not any((root / parent).is_symlink() for parent in Path(pattern).parents)
        return (pattern,) if is_inside and os.path.lexists(root / pattern) else ()
    return tuple(sorted(_walk_matches(root, "", pattern)))


def _walk_matches(root: Path, folder: str, pattern: str) -> Iterator[str]:
    with os.scandir(root / folder) as entries:
        paths = [(f"{folder}{entry.name}", entry.is_dir(follow_symlinks=False)) for entry in entries]
    for path, is_folder in paths:
        if path == ".git":
            continue
        if compile_glob(pattern).fullmatch(path):
            yield path
        elif is_folder and ("**" in pattern or path.count("/") < pattern.count("/")):
            yield from _walk_matches(root, f"{path}/", pattern)


def list_files(root: Path, path: str) -> Iterator[str]:
    """Yield `path`, or the files and links below it if it is a folder, without those of repositories inside of it."""
    if (root / path).is_symlink() or not (root / path).is_dir():
        yield path
        return
    for folder, folders, names in os.walk(root / path):
        links = [name for name in folders if os.path.islink(f"{folder}/{name}")]  # noqa: PTH114 - on the hot path
        folders[:] = sorted(name for name in folders if name not in (*links, ".git"))
        for name in sorted((*names, *links)):
            yield f"{folder}/{name}"[len(str(root)) + 1 :]


def make_real_folders(path: Path, root: Path, aside: Path) -> None:
    """Make every folder from `root` down to `path` a real and usable one.

    Links and files in the way are moved aside.
    """
    way = [root, *(root / part for part in _parts(path, root))]
    for folder in way:
        if folder != root and os.path.lexists(folder) and (folder.is_symlink() or not folder.is_dir()):
            move_aside(folder, aside)
        folder.mkdir(parents=True, exist_ok=True)
        if folder.stat().st_mode & 0o700 != 0o700:
            with suppress(OSError):  # somebody else's, and if that matters, writing will tell
                folder.chmod(folder.stat().st_mode | 0o700)


def _parts(path: Path, root: Path) -> list[Path]:
    if not path.is_relative_to(root):
        return []
    below = path.relative_to(root)
    return [parent for parent in (*reversed(below.parents), below) if parent != Path()]
