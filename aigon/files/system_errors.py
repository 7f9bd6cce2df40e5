"""Errors of the system, and of git, about room or the right to write: what lacks where, and what to do."""

import errno
import os
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path

from aigon.errors import AigonError, environment
from aigon.files import error_words
from aigon.files.error_words import Lacking
from aigon.files.volumes import existing, look, mounted
from aigon.model.resources import Volume, format_bytes

AGAIN = "then run again (add --resume if the run had started)"


def refusal(what: str, error: OSError) -> AigonError:
    """`what` is wrong because of an error of the system."""
    path = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
    if not error_words.is_lack(error.errno):
        do = "Fix the problem"
        if error.errno in (errno.EACCES, errno.EPERM) and path:
            place = shlex.quote(str(existing(Path(path))))
            do = f"Get the right to write there (`ls -ld {place}` shows whose it is)"
        return environment(f"{what}: {error.strerror or error}", where=path, hint=f"{do}, {AGAIN}")
    number = error.errno or 0
    return _lacking(what, number, Path(path) if path else _where(number, _usual()), path)


def _usual() -> tuple[Path, ...]:
    """Where aigon writes: an error of `write` does not name its file."""
    from aigon.files.home import state_home  # which itself says what lacks

    here = Path.cwd()
    return (here, here / ".aigon", state_home(), Path(tempfile.gettempdir()))


def of_git(what: str, said: str, places: Sequence[Path]) -> AigonError | None:
    """`what` is wrong because git, in its own words, lacked something in one of these places; None where it did not."""
    number = error_words.said(said)
    if number is None:
        return None
    return _lacking(what, number, _where(number, places), said.splitlines()[0])


def _lacking(what: str, number: int, place: Path | None, where: str) -> Lacking:
    wrong, do = error_words.explained(number, str(mounted(place)) if place else "")
    free = _free(place) if place and number == errno.ENOSPC else ""
    return Lacking(f"{what}: {wrong}{free}", where=where, hint=f"{do}, {AGAIN}")


def _free(place: Path) -> str:
    """How little is free; nothing where that is much by now, or it was somebody's quota."""
    there = _look(place)
    return f" ({format_bytes(there.free)} free)" if there.full and there.free is not None else ""


def _where(number: int, places: Sequence[Path]) -> Path | None:
    """Which of the places it was about: the one that is full or read-only now, else nobody knows."""
    seen = [(place, _look(place)) for place in places]
    if number == errno.EROFS:
        return next((place for place, volume in seen if volume.problem), None)
    if number == errno.ENOSPC:
        return next((place for place, volume in seen if volume.full), None)
    return places[0] if len({existing(place).stat().st_dev for place in places}) == 1 else None


def _look(place: Path) -> Volume:
    return look(Volume(str(place), "", ""))
