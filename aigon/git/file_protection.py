"""Files that only people and aigon write: remembered before an agent works, put back after it.

While nothing changes, `remember` and `put_back` cost one `lstat` per file: no content is read, no program is started.
All processes of the agent have to be gone before `put_back`.
"""

import base64
import json
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct

from aigon.errors import environment
from aigon.files.atomic import copy_aside, move_aside, write_atomic
from aigon.files.folders import make_real_folders
from aigon.git.file_state import (
    HIDDEN,
    FileState,
    Mark,
    list_names,
    read_mark,
    read_state,
)

Opinion = Callable[[Path, bytes | None, bytes | None], str | None]
"""Judges the change of a file (its content before and now, None for no file): None to accept it, `""` to put it back,
or why."""


class ProtectedPaths(Struct, frozen=True):
    """Paths to protect: `files` (existing or not), and `folders` with all their content.

    aigon only appends to those of the `files` that are `growing`: their beginning is not read again for each turn.

    All of it is below the `roots`; a root that is replaced cannot be put back. Nothing in a `passing` folder (of a
    submodule, of another worktree) is put back if the whole folder is gone. The content of `unlinked` folders is not
    protected, but a link that replaces one is removed.
    """

    roots: tuple[Path, ...]
    files: tuple[Path, ...] = ()
    folders: tuple[Path, ...] = ()
    passing: tuple[Path, ...] = ()
    unlinked: tuple[Path, ...] = ()
    growing: tuple[Path, ...] = ()


How = Literal["changed", "removed", "added"]


class FileEdit(Struct, frozen=True):
    """A protected file that was changed. `kept` is where the new version is now."""

    path: Path
    name: str
    how: How
    detail: str = ""
    kept: Path | None = None

    @property
    def sentence(self) -> str:
        what = {"changed": "was changed; it was put back", "removed": "was removed; it was put back"}
        more = f" ({self.detail})" if self.detail else ""
        return f"{self.name}{more} {what.get(self.how, 'was added; it was taken away')}"


_NOTED: Mark = (2,)
"""The mark of a recalled state: no file has it, so that each is read."""


class FileProtection:
    """Protects what `places()` names; what replaced it goes to the folder `displaced`."""

    def __init__(self, places: Callable[[], ProtectedPaths], displaced: Path, opinion: Opinion = lambda *_: "") -> None:
        self._places, self._displaced, self._opinion = places, displaced, opinion
        self._now = ProtectedPaths(())
        self._kept: dict[str, FileState] = {}
        self._noted: tuple[dict[str, FileState], bytes] = {}, b"{}"
        self._roots: dict[Path, tuple[int, int]] = {}
        self._unlinked: tuple[Path, ...] = ()

    def remember(self) -> None:
        """Remember everything as it is now. Raises AigonError (exit 7) if it cannot be read."""
        self._now, before = self._places(), self._kept
        growing = self._now.growing
        try:
            kept = {
                path: read_state(path, before.get(path), grows=Path(path) in growing)
                for path in map(os.fspath, self._now.files)
            }
            for folder in self._now.folders:
                kept |= _read_folder(os.fspath(folder), before)
        except OSError as error:
            raise _make_error("cannot be read", error) from error
        self._kept = kept
        self._unlinked = tuple(folder for folder in self._now.unlinked if not folder.is_symlink())
        self._roots = {root: identity for root in self._now.roots if (identity := _read_folder_identity(root))}

    def render_note(self) -> bytes:
        """Return what is remembered, to be written down in case this process is killed."""
        if self._noted[0] != self._kept:
            each = {p: (k.mode, base64.b64encode(k.data).decode(), sorted(k.names)) for p, k in self._kept.items()}
            self._noted = self._kept.copy(), json.dumps(each).encode()
        return self._noted[1]

    def recall(self, note: bytes, but: Path) -> None:
        """Remember what `note` says about paths that are still protected, except those in `but`. Raises ValueError."""
        self._now = self._places()
        files, folders = set(self._now.files), set(self._now.folders)
        document = json.loads(note)
        if not isinstance(document, dict):
            raise ValueError("no note")
        self._kept = {}
        for name, (mode, data, names) in document.items():
            path = Path(name)
            if (path in files or folders & {path, *path.parents}) and not path.is_relative_to(but):
                self._kept[os.fspath(path)] = FileState(_NOTED, mode, base64.b64decode(data), frozenset(names))

    def put_back(self) -> tuple[FileEdit, ...]:
        """Restore what was remembered; return what had been changed, removed or added and was not accepted.

        Raises AigonError (exit 7) if that fails, or if one of the roots is another folder now.
        """
        for root, identity in self._roots.items():
            if _read_folder_identity(root) != identity:
                hint = "Bring the folder back from where it is now, then run again with --resume"
                raise environment("A folder was replaced while the agent worked", where=str(root), hint=hint)
        linked = [folder for folder in self._unlinked if folder.is_symlink()]
        if not linked and all(kept.is_untouched(read_mark(path)) for path, kept in self._kept.items()):
            return ()
        gone = tuple(f"{folder}{os.sep}" for folder in self._now.passing if not os.path.lexists(folder))
        try:
            unlinked = [
                self._make_edit(each, "changed", "a link", move_aside(each, self._displaced)) for each in linked
            ]
            paths = sorted(path for path in self._kept if not path.startswith(gone))
            return (*unlinked, *(edited for path in paths for edited in self._restore_path(path, self._kept[path])))
        except OSError as error:
            raise _make_error("cannot be put back", error) from error

    def _restore_path(self, path: str, kept: FileState) -> Iterator[FileEdit]:
        """Put one file or folder back. Folders come before their content, as paths are sorted."""
        now = read_mark(path)
        if now != HIDDEN and kept.is_untouched(now):
            return
        place = Path(path)
        if now == HIDDEN:
            make_real_folders(place.parent, self._find_root(place), self._displaced)
        there = _read_state(path)
        if there and kept.same(there):
            self._kept[path] = there  # looked into: from here on its mark proves it, unless it is fresh itself
        elif kept.is_folder or place in self._now.folders:
            yield from self._restore_folder(place, kept)
        elif (detail := self._judge(place, kept, there)) is not None:
            how: How = "added" if not kept.mode else "changed" if read_mark(path)[0] else "removed"
            yield self._make_edit(place, how, detail, self._restore_file(place, kept, there))

    def _restore_folder(self, place: Path, kept: FileState) -> Iterator[FileEdit]:
        """Displace what replaced a folder, and new entries in it that are not accepted."""
        mode = read_mark(os.fspath(place))[0]
        if mode and not stat.S_ISDIR(mode):
            yield self._make_edit(place, "changed" if kept.mode else "added", "", move_aside(place, self._displaced))
        if kept.is_folder and not place.is_dir():
            make_real_folders(place, self._find_root(place), self._displaced)
        if kept.is_folder and stat.S_IMODE(place.stat().st_mode) != stat.S_IMODE(kept.mode):
            place.chmod(stat.S_IMODE(kept.mode))
        for name in sorted(list_names(place) - kept.names if place.is_dir() else ()):
            new = _read_state(os.fspath(place / name))
            detail = self._opinion(place / name, None, new.data) if new and new.is_file else ""
            if detail is not None:
                yield self._make_edit(place / name, "added", detail, move_aside(place / name, self._displaced))

    def _judge(self, place: Path, kept: FileState, there: FileState | None) -> str | None:
        """Return the opinion on a change of content; links, mode bits and unreadable files are put back unasked."""
        plain = there is not None and (there.is_file or not there.mode) and (kept.is_file or not kept.mode)
        if there is None or not plain or there.data == kept.data:
            return ""
        return self._opinion(place, kept.data if kept.mode else None, there.data if there.mode else None)

    def _restore_file(self, place: Path, kept: FileState, there: FileState | None) -> Path | None:
        """Restore a file; at every moment either the old or the new one exists. Return where the new one is now."""
        aside = None
        if not kept.mode:
            return move_aside(place, self._displaced)
        make_real_folders(place.parent, self._find_root(place), self._displaced)
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

    def _find_root(self, place: Path) -> Path:
        above = [root for root in self._now.roots if place.is_relative_to(root) and place != root]
        return max(above, key=lambda root: len(root.parts), default=place.parent)

    def _make_edit(self, place: Path, how: How, detail: str, aside: Path | None) -> FileEdit:
        root = self._find_root(place)
        return FileEdit(place, os.fspath(place.relative_to(root.parent)), how, detail, aside)


def _read_folder(folder: str, before: dict[str, FileState]) -> Iterator[tuple[str, FileState]]:
    kept = read_state(folder, before.get(folder))
    yield folder, kept
    for name in kept.names:
        yield from _read_folder(f"{folder}{os.sep}{name}", before)


def _read_folder_identity(folder: Path) -> tuple[int, int] | None:
    try:
        state = folder.stat()
    except OSError:
        return None
    return (state.st_dev, state.st_ino) if stat.S_ISDIR(state.st_mode) else None


def _read_state(path: str) -> FileState | None:
    try:
        return read_state(path)
    except OSError:
        return None


def _make_error(what: str, error: OSError) -> Exception:
    return environment(
        f"A file that the agent must not change {what}: {error.strerror}",
        where=str(error.filename or ""),
        hint="Make it readable and writable for you, then run again with --resume",
    )
