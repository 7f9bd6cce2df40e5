"""Errors of the system, and of git: what is lacking where (room, the right to write), and what to do about it.

A stream without a reader (standard output into `head`, a closed terminal) is no error.
"""

import contextlib
import errno
import os
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from msgspec.structs import replace

from aigon.errors import AigonError, Exit, environment
from aigon.model.resources import Volume, format_bytes

ERROR_NUMBERS: Mapping[str, int] = {
    "No space left on device": errno.ENOSPC,
    "Out of diskspace": errno.ENOSPC,
    "Disk quota exceeded": errno.EDQUOT,
    "Read-only file system": errno.EROFS,
    "File too large": errno.EFBIG,
    "Cannot allocate memory": errno.ENOMEM,
    "Input/output error": errno.EIO,
}
"""How git words the errors of the system under LC_ALL=C, by strerror(3); "Out of diskspace" is its own for a write
that wrote nothing (write-or-die and csum-file)."""


class ResourceShortage(AigonError):
    """The machine lacks room or the right to write: it says nothing about the work, and no check fails by it."""

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(what, where=where, hint=hint, code=Exit.ENVIRONMENT)


def find_error_number(text: str) -> int | None:
    """Return the number of the error that a program's words name."""
    return next((number for words, number in ERROR_NUMBERS.items() if words in text), None)


def is_shortage(number: int | None) -> bool:
    """Return whether an error of the system is about room or the right to write."""
    return number in ERROR_NUMBERS.values()


def explain_shortage(number: int, mounted: str) -> tuple[str, str]:
    """Return what is wrong and what to do, for an error on the file system mounted there ("" is unknown)."""
    there = f" on {mounted}" if mounted else " on the disk"
    disk = mounted or "the disk"
    match number:
        case errno.ENOSPC:
            return f"no space is left{there}", f"Make room{there} (`df -h` and `df -i` show what is full)"
        case errno.EDQUOT:
            return f"the disk quota{there} is used up", f"Make room{there} (`quota` shows what is allowed)"
        case errno.EROFS:
            again = f" (mount -o remount,rw {mounted}; `dmesg` says why it is not)" if mounted else ""
            return f"{disk} is read-only", f"Make {disk} writable again{again}"
        case errno.EFBIG:
            return "a file may not be as large as it would be", "Raise the limit on the size of files (ulimit -f)"
        case errno.ENOMEM:
            return "no memory is left", "Make room in memory"
        case _:
            return f"reading or writing failed{there}", f"Repair {disk} (`dmesg` says what is wrong with it)"


AGAIN = "then run again (add --resume if the run had started)"


def explain_os_error(what: str, error: OSError) -> AigonError:
    """Return the error that `what` is wrong because of an error of the system."""
    path = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
    if not is_shortage(error.errno):
        do = "Fix the problem"
        if error.errno in (errno.EACCES, errno.EPERM) and path:
            place = shlex.quote(str(nearest_existing(Path(path))))
            do = f"Get the right to write there (`ls -ld {place}` shows whose it is)"
        return environment(f"{what}: {error.strerror or error}", where=path, hint=f"{do}, {AGAIN}")
    number = error.errno or 0
    return _make_shortage(what, number, Path(path) if path else _where(number, _usual()), path)


def _usual() -> tuple[Path, ...]:
    """Return the folders where aigon writes: an error of `write` does not name its file."""
    from tempfile import gettempdir

    from aigon.files.home import state_home  # which itself says what lacks

    here = Path.cwd()
    return (here, here / ".aigon", state_home(), Path(gettempdir()))


def explain_git_error(what: str, said: str, places: Sequence[Path]) -> AigonError | None:
    """Return the error that git lacked something in one of these places; None if its words name nothing of the kind."""
    number = find_error_number(said)
    if number is None:
        return None
    return _make_shortage(what, number, _where(number, places), said.splitlines()[0])


def _make_shortage(what: str, number: int, place: Path | None, where: str) -> ResourceShortage:
    wrong, do = explain_shortage(number, str(find_mount(place)) if place else "")
    free = _free(place) if place and number == errno.ENOSPC else ""
    return ResourceShortage(f"{what}: {wrong}{free}", where=where, hint=f"{do}, {AGAIN}")


def _free(place: Path) -> str:
    """Return how little is free; "" if that is much by now, or a quota was exceeded."""
    there = _look(place)
    return f" ({format_bytes(there.free)} free)" if there.full and there.free is not None else ""


def _where(number: int, places: Sequence[Path]) -> Path | None:
    """Return the place that is full or read-only now, if any."""
    seen = [(place, _look(place)) for place in places]
    if number == errno.EROFS:
        return next((place for place, volume in seen if volume.problem), None)
    if number == errno.ENOSPC:
        return next((place for place, volume in seen if volume.full), None)
    return places[0] if len({nearest_existing(place).stat().st_dev for place in places}) == 1 else None


def _look(place: Path) -> Volume:
    return measure_volume(Volume(str(place), "", ""))


BLOCK = 4096
"""Bytes of a trial: one block of nearly every file system."""


def find_volumes(places: Mapping[str, Path], scratch: str = "") -> tuple[Volume, ...]:
    """Return the file systems of these folders, each once, by device number.

    It is named after the first of its folders. One that holds only what is called `scratch` is marked so.
    """
    held: dict[int, list[str]] = {}
    for name, path in places.items():
        with suppress(OSError):
            held.setdefault(nearest_existing(path).stat().st_dev, []).append(name)
    return tuple(measure_volume(_volume(places[names[0]], names, scratch)) for names in held.values())


def _volume(place: Path, names: Sequence[str], scratch: str) -> Volume:
    return Volume(str(place), ", ".join(names), str(find_mount(place)), scratch=[*names] == [scratch])


def nearest_existing(path: Path) -> Path:
    """Return `path`, or the nearest folder above it that exists."""
    return next((place for place in (path, *path.parents) if place.exists()), Path("/"))


def find_mount(path: Path) -> Path:
    """Return where the file system of `path` is mounted, as far as device numbers say."""
    place = nearest_existing(path).resolve()
    with suppress(OSError):
        device = place.stat().st_dev
        while place.parent != place and place.parent.stat().st_dev == device:
            place = place.parent
    return place


def measure_volume(volume: Volume) -> Volume:
    """Return the file system as it is now. A size or number of files that it does not report is None."""
    try:
        there = os.statvfs(volume.place)
    except FileNotFoundError:
        place = nearest_existing(Path(volume.place))
        return replace(measure_volume(replace(volume, place=str(place))), place=volume.place)
    except OSError:
        return replace(volume, free=None, files=None, problem="")
    return replace(
        volume,
        free=there.f_bavail * there.f_frsize if there.f_blocks else None,
        files=there.f_favail if there.f_files else None,
        problem=explain_shortage(errno.EROFS, "it")[0] if there.f_flag & os.ST_RDONLY else "",
    )


def probe_volume(volume: Volume, folder: Path) -> Volume:
    """Write one block in `folder`, if it is on that file system: quotas show in no number."""
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
        return folder.is_dir() and nearest_existing(Path(volume.place)).stat().st_dev == folder.stat().st_dev
    except OSError:
        return False


def _why(error: OSError) -> str:
    return explain_shortage(error.errno or 0, "it")[0] if error.errno in (errno.EDQUOT, errno.EROFS) else str(error)


def require_writable(what: str, *folders: Path) -> None:
    """Raise AigonError (exit 7), beginning with `what`, if one of the folders cannot be written.

    A run asks before it enters the branch: commits there could not be undone, and would be in the way of the next run.
    """
    for place in map(nearest_existing, folders):
        if not os.access(place, os.W_OK | os.X_OK):
            number = errno.EROFS if os.statvfs(place).f_flag & os.ST_RDONLY else errno.EACCES
            raise explain_os_error(what, OSError(number, os.strerror(number), str(place)))


_NOBODY = (errno.EPIPE, errno.EIO)
"""What writing to a pipe without a reader, and to a terminal that was hung up, fails with."""


def write_line(stream: TextIO, text: str) -> bool:
    """Write one line and flush it; what the stream's encoding cannot hold becomes a question mark.

    False once the reader has gone; from then on `stream` leads nowhere. Raises OSError for anything else.
    """
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        stream.write(text.encode(encoding, "replace").decode(encoding) + "\n")
        stream.flush()
    except OSError as error:
        if error.errno not in _NOBODY:
            raise
        discard_output(stream)
        return False
    return True


def discard_output(stream: TextIO) -> None:
    """Let what `stream` still holds go to the null device.

    Otherwise the interpreter fails to flush it at its end, complains, and exits with 120 whatever the run's outcome.
    """
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


TYPE_CHECKING = False  # importing typing takes longer than everything else here
