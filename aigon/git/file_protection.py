"""Files that only people and aigon write: remembered before an agent works, put back after it."""

import base64
import json
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from aigon.errors import environment
from aigon.files.atomic import copy_aside, make_real_folders, move_aside, write_atomic
from aigon.git.file_state import HIDDEN, NOTHING, FileState, Mark, list_names, read_mark, read_state, reread_state

Opinion = Callable[[Path, bytes | None, bytes | None], str | None]
"""What to say of a file's change (its content before and now, None for no file); None to let it be, `""` for no more
than that it changed."""


@dataclass(frozen=True, slots=True)
class ProtectedPaths:
    """What to keep: `files` (present or not), `folders` with all that is in them, files that only `grow`.

    `roots` are the folders they are below; one that is replaced cannot be put back. Of the folders in `passing` (a
    submodule's, another worktree's) nothing is put back when the whole folder is gone. What is in `unlinked` folders is
    not kept, but a link that takes the place of one gives way.
    """

    roots: tuple[Path, ...]
    files: tuple[Path, ...] = ()
    folders: tuple[Path, ...] = ()
    growing: tuple[Path, ...] = ()
    passing: tuple[Path, ...] = ()
    unlinked: tuple[Path, ...] = ()


How = Literal["changed", "removed", "added"]


@dataclass(frozen=True, slots=True)
class FileEdit:
    """A kept file that was not as it was left. `kept` is where the new version is now, None where there is none."""

    path: Path
    name: str
    how: How
    detail: str = ""
    kept: Path | None = None

    @property
    def sentence(self) -> str:
        """For people and the agent."""
        what = {"changed": "was changed; it was put back", "removed": "was removed; it was put back"}
        more = f" ({self.detail})" if self.detail else ""
        return f"{self.name}{more} {what.get(self.how, 'was added; it was taken away')}"


_NOTED: Mark = (2,)
"""The mark of what was written down: that of no file, so that each is looked into."""


class FileProtection:
    """Keeps what `places` names (asked again each time); what comes in its place goes to the folder `displaced`."""

    def __init__(self, places: Callable[[], ProtectedPaths], displaced: Path, opinion: Opinion = lambda *_: "") -> None:
        self._places, self._displaced, self._opinion = places, displaced, opinion
        self._now = ProtectedPaths(())
        self._kept: dict[str, FileState] = {}
        self._roots: dict[Path, tuple[int, int]] = {}
        self._unlinked: tuple[Path, ...] = ()

    def remember(self) -> None:
        """Take everything as it is now for right. Raises AigonError (exit 7) where it cannot be read."""
        self._now, before = self._places(), self._kept
        growing = {os.fspath(path) for path in self._now.growing}
        files = [os.fspath(path) for path in (*self._now.files, *self._now.growing)]
        try:
            kept = {path: read_state(path, before.get(path), grows=path in growing) for path in files}
            for folder in self._now.folders:
                kept |= _read_folder(os.fspath(folder), before)
        except OSError as error:
            raise _make_error("cannot be read", error) from error
        self._kept = kept
        self._unlinked = tuple(folder for folder in self._now.unlinked if not folder.is_symlink())
        self._roots = {root: identity for root in self._now.roots if (identity := _read_folder_identity(root))}

    def noted(self) -> bytes:
        """What is remembered, to be written down: nobody else knows it once this process was killed."""
        each = {p: (k.mode, base64.b64encode(k.data).decode(), sorted(k.names)) for p, k in self._kept.items()}
        return json.dumps(each).encode()

    def recall(self, note: bytes, but: Path) -> None:
        """Remember what is in `note` of the places that there still are, but for those in the folder `but`.

        Raises ValueError for what is no such note.
        """
        self._now = now = self._places()
        kept = {
            path: FileState(_NOTED, m, base64.b64decode(d), frozenset(names))
            for path, (m, d, names) in _parse_note(note)
        }
        there = {path for path in map(Path, kept) if path in now.files or {path, *path.parents} & {*now.folders}}
        self._kept = {os.fspath(path): kept[os.fspath(path)] for path in there if not path.is_relative_to(but)}

    def put_back(self) -> tuple[FileEdit, ...]:
        """Make everything as it was remembered; what had been changed, removed or added, and was not let be.

        Raises AigonError (exit 7) where that cannot be done, or where one of the roots is another folder now.
        """
        for root, identity in self._roots.items():
            if _read_folder_identity(root) != identity:
                hint = "Bring the folder back from where it is now, then run again with --resume"
                raise environment("A folder was replaced while the agent worked", where=str(root), hint=hint)
        linked = [folder for folder in self._unlinked if folder.is_symlink()]
        if not linked and all(kept.untouched(read_mark(path)) for path, kept in self._kept.items()):
            return ()
        gone = tuple(f"{folder}{os.sep}" for folder in self._now.passing if not os.path.lexists(folder))
        try:
            unlinked = [self._edited(each, "changed", "a link", move_aside(each, self._displaced)) for each in linked]
            paths = sorted(path for path in self._kept if not path.startswith(gone))
            return (*unlinked, *(edited for path in paths for edited in self._mended(path, self._kept[path])))
        except OSError as error:
            raise _make_error("cannot be put back", error) from error

    def _mended(self, path: str, kept: FileState) -> Iterator[FileEdit]:
        """Put one file or folder back. A folder comes before what is in it, as paths are sorted."""
        now = read_mark(path)
        if now != HIDDEN and kept.untouched(now):
            return
        place = Path(path)
        if now == HIDDEN:
            make_real_folders(place.parent, self._root(place), self._displaced)
        there = _read_state(path, kept)
        if there and kept.same(there):
            self._kept[path] = there  # looked into: from here on its mark proves it, unless it is fresh itself
        elif kept.is_folder or place in self._now.folders:
            yield from self._folder(place, kept)
        else:
            yield from self._file(place, kept, there)

    def _folder(self, place: Path, kept: FileState) -> Iterator[FileEdit]:
        """Anything else in a kept folder's place gives way; of what is new in it, what is not let be."""
        found = read_mark(os.fspath(place))[0]
        if found and not stat.S_ISDIR(found):
            yield self._edited(place, "changed" if kept.mode else "added", "", move_aside(place, self._displaced))
        if kept.is_folder and not place.is_dir():
            make_real_folders(place, self._root(place), self._displaced)
        if kept.is_folder and stat.S_IMODE(place.stat().st_mode) != stat.S_IMODE(kept.mode):
            place.chmod(stat.S_IMODE(kept.mode))
        for name in sorted(list_names(place) - kept.names if place.is_dir() else ()):
            new = _read_state(os.fspath(place / name), FileState(NOTHING))
            said = self._opinion(place / name, None, new.data) if new and new.is_file else ""
            if said is not None:
                yield self._edited(place / name, "added", said, move_aside(place / name, self._displaced))

    def _file(self, place: Path, kept: FileState, there: FileState | None) -> Iterator[FileEdit]:
        said = self._said(place, kept, there)
        if said is not None:
            how: How
            how = "added" if not kept.mode else "changed" if read_mark(os.fspath(place))[0] else "removed"
            yield self._edited(place, how, said, self._restore(place, kept, there))

    def _said(self, place: Path, kept: FileState, there: FileState | None) -> str | None:
        """The opinion on a change of content; a link, other mode bits or what cannot be read is put back unasked."""
        plain = there is not None and (there.is_file or not there.mode) and (kept.is_file or not kept.mode)
        if there is None or not plain or there.data == kept.data:
            return ""
        return self._opinion(place, kept.data if kept.mode else None, there.data if there.mode else None)

    def _restore(self, place: Path, kept: FileState, there: FileState | None) -> Path | None:
        """The old file is there at every moment that the new one is not."""
        aside = None
        if not kept.mode:
            return move_aside(place, self._displaced)
        make_real_folders(place.parent, self._root(place), self._displaced)
        if kept.is_file and there and there.is_file and there.data == kept.data:
            place.chmod(stat.S_IMODE(kept.mode))
            return None
        if os.path.lexists(place):
            plain = there is not None and kept.is_file and (there.is_file or stat.S_ISLNK(there.mode))
            aside = (copy_aside if plain else move_aside)(place, self._displaced)
        if kept.is_file:
            write_atomic(place, kept.data)
            place.chmod(stat.S_IMODE(kept.mode))
        elif stat.S_ISLNK(kept.mode):
            place.symlink_to(os.fsdecode(kept.data))
        return aside

    def _root(self, place: Path) -> Path:
        """The innermost root; where there is none, the folder itself."""
        above = [root for root in self._now.roots if place.is_relative_to(root) and place != root]
        return max(above, key=lambda root: len(root.parts), default=place.parent)

    def _edited(self, place: Path, how: How, said: str, aside: Path | None) -> FileEdit:
        root = self._root(place)
        return FileEdit(place, os.fspath(place.relative_to(root.parent)), how, said, aside)


def _parse_note(note: bytes) -> Iterator[tuple[str, tuple[int, str, list[str]]]]:
    document = json.loads(note)
    if not isinstance(document, dict):
        raise ValueError("no note")
    yield from document.items()


def _read_folder(folder: str, before: dict[str, FileState]) -> Iterator[tuple[str, FileState]]:
    """The folder and all below it."""
    kept = read_state(folder, before.get(folder))
    yield folder, kept
    for name in kept.names:
        yield from _read_folder(f"{folder}{os.sep}{name}", before)


def _read_folder_identity(folder: Path) -> tuple[int, int] | None:
    try:
        found = folder.stat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISDIR(found.st_mode) else None


def _read_state(path: str, kept: FileState) -> FileState | None:
    """What is there now, read whole; None where it cannot be read."""
    try:
        return reread_state(path, kept)
    except OSError:
        return None


def _make_error(what: str, error: OSError) -> Exception:
    return environment(
        f"A file that the agent must not change {what}: {error.strerror}",
        where=str(error.filename or ""),
        hint="Make it readable and writable for you, then run again with --resume",
    )
