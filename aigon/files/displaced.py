"""Put aside what stands where something else belongs: never deleted, for it may be all that there is of it."""

import contextlib
import os
import shutil
import time
from pathlib import Path


def displace(path: Path, folder: Path) -> Path:
    """Move whatever is at `path` (a link itself, not what it leads to) into `folder`; where it is now."""
    place = _place(path, folder)
    shutil.move(path, place)
    return place


def copy_aside(path: Path, folder: Path) -> Path:
    """Keep a file or link in `folder` under a second name, so that another can be renamed over the first."""
    place = _place(path, folder)
    try:
        os.link(path, place, follow_symlinks=False)
    except OSError:  # another file system, or one without hard links
        shutil.copy2(path, place, follow_symlinks=False)
    return place


def _place(path: Path, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{time.time_ns()}-{path.name}"


def real_folders(path: Path, root: Path, aside: Path) -> None:
    """Make the way from `root` down to the folder `path` one of real folders that can be used.

    What stands in the way, links included, is put aside.
    """
    way = [root, *(root / part for part in _parts(path, root))]
    for folder in way:
        if folder != root and os.path.lexists(folder) and (folder.is_symlink() or not folder.is_dir()):
            displace(folder, aside)
        folder.mkdir(parents=True, exist_ok=True)
        if folder.stat().st_mode & 0o700 != 0o700:
            with contextlib.suppress(OSError):  # somebody else's, and if that matters, writing will tell
                folder.chmod(folder.stat().st_mode | 0o700)


def _parts(path: Path, root: Path) -> list[Path]:
    if not path.is_relative_to(root):
        return []
    below = path.relative_to(root)
    return [parent for parent in (*reversed(below.parents), below) if parent != Path()]
