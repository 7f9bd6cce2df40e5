"""The file systems that a run writes to, and what they have left."""

import errno
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from aigon.files.error_words import explained
from aigon.model.resources import Volume

BLOCK = 4096
"""Bytes of a trial: one block of nearly every file system."""


def volumes(places: Mapping[str, Path], scratch: str = "") -> tuple[Volume, ...]:
    """The file systems of these folders, by what they hold, each once, told apart by their device number.

    The first of its folders stands for one. One that holds nothing but what is called `scratch` is marked so.
    """
    held: dict[int, list[str]] = {}
    for name, path in places.items():
        with suppress(OSError):
            held.setdefault(existing(path).stat().st_dev, []).append(name)
    return tuple(look(_volume(places[names[0]], names, scratch)) for names in held.values())


def _volume(place: Path, names: Sequence[str], scratch: str) -> Volume:
    return Volume(str(place), ", ".join(names), str(mounted(place)), scratch=[*names] == [scratch])


def existing(path: Path) -> Path:
    """`path`, or the nearest folder above it that is there."""
    return next((place for place in (path, *path.parents) if place.exists()), Path("/"))


def mounted(path: Path) -> Path:
    """Where the file system of `path` is mounted, as far as device numbers say."""
    place = existing(path).resolve()
    with suppress(OSError):
        device = place.stat().st_dev
        while place.parent != place and place.parent.stat().st_dev == device:
            place = place.parent
    return place


def look(volume: Volume) -> Volume:
    """The file system as it is now. One that does not say how large it is, or how many files fit, is not known."""
    try:
        there = os.statvfs(existing(Path(volume.place)))
    except OSError:
        return replace(volume, free=None, files=None, problem="")
    return replace(
        volume,
        free=there.f_bavail * there.f_frsize if there.f_blocks else None,
        files=there.f_favail if there.f_files else None,
        problem=explained(errno.EROFS, "it")[0] if there.f_flag & os.ST_RDONLY else "",
    )


def tried(volume: Volume, folder: Path) -> Volume:
    """The file system with what writing one block in `folder` came to, if that is on it: quotas show in no number."""
    if not _is_on(volume, folder):
        return volume
    trial = folder / f".room.{os.getpid()}.tmp"
    try:
        with trial.open("wb") as file:
            file.write(b"\0" * BLOCK)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            return replace(volume, free=0)
        return volume if volume.problem else replace(volume, problem=_why(error))
    finally:
        with suppress(OSError):
            trial.unlink()
    return volume


def _is_on(volume: Volume, folder: Path) -> bool:
    try:
        return folder.is_dir() and existing(Path(volume.place)).stat().st_dev == folder.stat().st_dev
    except OSError:
        return False


def _why(error: OSError) -> str:
    return explained(error.errno or 0, "it")[0] if error.errno in (errno.EDQUOT, errno.EROFS) else str(error)
