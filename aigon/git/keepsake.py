"""Files that only people and aigon write: remembered before an agent works, put back after it, byte for byte.

`remember` and `put_back` cost one `lstat` per file while nothing changes: no content is read, no program is started.
All of the agent's processes have to be gone before `put_back`.
"""

import base64
import json
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from aigon.errors import environment
from aigon.files.displaced import copy_aside, displace, real_folders
from aigon.files.store import write_atomic
from aigon.git.kept import HIDDEN, NOTHING, Kept, Mark, look, look_again, mark, names_in
from aigon.git.kept_places import Edited, How, Opinion, Places

_NOTED: Mark = (2,)
"""The mark of what was written down: that of no file, so that each is looked into."""


class Keepsake:
    """Keeps what `places` names (asked again each time); what comes in its place goes to the folder `displaced`."""

    def __init__(self, places: Callable[[], Places], displaced: Path, opinion: Opinion = lambda *_: "") -> None:
        self._places, self._displaced, self._opinion = places, displaced, opinion
        self._now = Places(())
        self._kept: dict[str, Kept] = {}
        self._roots: dict[Path, tuple[int, int]] = {}
        self._unlinked: tuple[Path, ...] = ()

    def remember(self) -> None:
        """Take everything as it is now for right. Raises AigonError (exit 7) where it cannot be read."""
        self._now, before = self._places(), self._kept
        growing = {os.fspath(path) for path in self._now.growing}
        files = [os.fspath(path) for path in (*self._now.files, *self._now.growing)]
        try:
            kept = {path: look(path, before.get(path), grows=path in growing) for path in files}
            for folder in self._now.folders:
                kept |= _everything(os.fspath(folder), before)
        except OSError as error:
            raise _unusable("cannot be read", error) from error
        self._kept = kept
        self._unlinked = tuple(folder for folder in self._now.unlinked if not folder.is_symlink())
        self._roots = {root: identity for root in self._now.roots if (identity := _identity(root))}

    def noted(self) -> bytes:
        """What is remembered, to be written down: nobody else knows it once this process was killed."""
        each = {p: (k.mode, base64.b64encode(k.data).decode(), sorted(k.names)) for p, k in self._kept.items()}
        return json.dumps(each).encode()

    def recall(self, note: bytes, but: Path) -> None:
        """Remember what is in `note` of the places that there still are, but for those in the folder `but`.

        Raises ValueError for what is no such note.
        """
        self._now = now = self._places()
        kept = {path: Kept(_NOTED, m, base64.b64decode(d), frozenset(names)) for path, (m, d, names) in _read(note)}
        there = {path for path in map(Path, kept) if path in now.files or {path, *path.parents} & {*now.folders}}
        self._kept = {os.fspath(path): kept[os.fspath(path)] for path in there if not path.is_relative_to(but)}

    def put_back(self) -> tuple[Edited, ...]:
        """Make everything as it was remembered; what had been changed, removed or added, and was not let be.

        Raises AigonError (exit 7) where that cannot be done, or where one of the roots is another folder now.
        """
        for root, identity in self._roots.items():
            if _identity(root) != identity:
                hint = "Bring the folder back from where it is now, then run again with --resume"
                raise environment("A folder was replaced while the agent worked", where=str(root), hint=hint)
        linked = [folder for folder in self._unlinked if folder.is_symlink()]
        if not linked and all(kept.untouched(mark(path)) for path, kept in self._kept.items()):
            return ()
        gone = tuple(f"{folder}{os.sep}" for folder in self._now.passing if not os.path.lexists(folder))
        try:
            unlinked = [self._edited(each, "changed", "a link", displace(each, self._displaced)) for each in linked]
            paths = sorted(path for path in self._kept if not path.startswith(gone))
            return (*unlinked, *(edited for path in paths for edited in self._mended(path, self._kept[path])))
        except OSError as error:
            raise _unusable("cannot be put back", error) from error

    def _mended(self, path: str, kept: Kept) -> Iterator[Edited]:
        """Put one file or folder back. A folder comes before what is in it, as paths are sorted."""
        now = mark(path)
        if now != HIDDEN and kept.untouched(now):
            return
        place = Path(path)
        if now == HIDDEN:
            real_folders(place.parent, self._root(place), self._displaced)
        there = _seen(path, kept)
        if there and kept.same(there):
            self._kept[path] = there  # looked into: from here on its mark proves it, unless it is fresh itself
        elif kept.is_folder or place in self._now.folders:
            yield from self._folder(place, kept)
        else:
            yield from self._file(place, kept, there)

    def _folder(self, place: Path, kept: Kept) -> Iterator[Edited]:
        """Anything else in a kept folder's place gives way; of what is new in it, what is not let be."""
        found = mark(os.fspath(place))[0]
        if found and not stat.S_ISDIR(found):
            yield self._edited(place, "changed" if kept.mode else "added", "", displace(place, self._displaced))
        if kept.is_folder and not place.is_dir():
            real_folders(place, self._root(place), self._displaced)
        if kept.is_folder and stat.S_IMODE(place.stat().st_mode) != stat.S_IMODE(kept.mode):
            place.chmod(stat.S_IMODE(kept.mode))
        for name in sorted(names_in(place) - kept.names if place.is_dir() else ()):
            new = _seen(os.fspath(place / name), Kept(NOTHING))
            said = self._opinion(place / name, None, new.data) if new and new.is_file else ""
            if said is not None:
                yield self._edited(place / name, "added", said, displace(place / name, self._displaced))

    def _file(self, place: Path, kept: Kept, there: Kept | None) -> Iterator[Edited]:
        said = self._said(place, kept, there)
        if said is not None:
            how: How
            how = "added" if not kept.mode else "changed" if mark(os.fspath(place))[0] else "removed"
            yield self._edited(place, how, said, self._restore(place, kept, there))

    def _said(self, place: Path, kept: Kept, there: Kept | None) -> str | None:
        """The opinion on a change of content; a link, other mode bits or what cannot be read is put back unasked."""
        plain = there is not None and (there.is_file or not there.mode) and (kept.is_file or not kept.mode)
        if there is None or not plain or there.data == kept.data:
            return ""
        return self._opinion(place, kept.data if kept.mode else None, there.data if there.mode else None)

    def _restore(self, place: Path, kept: Kept, there: Kept | None) -> Path | None:
        """The old file is there at every moment that the new one is not."""
        aside = None
        if not kept.mode:
            return displace(place, self._displaced)
        real_folders(place.parent, self._root(place), self._displaced)
        if kept.is_file and there and there.is_file and there.data == kept.data:
            place.chmod(stat.S_IMODE(kept.mode))
            return None
        if os.path.lexists(place):
            plain = there is not None and kept.is_file and (there.is_file or stat.S_ISLNK(there.mode))
            aside = (copy_aside if plain else displace)(place, self._displaced)
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

    def _edited(self, place: Path, how: How, said: str, aside: Path | None) -> Edited:
        root = self._root(place)
        return Edited(place, os.fspath(place.relative_to(root.parent)), how, said, aside)


def _read(note: bytes) -> Iterator[tuple[str, tuple[int, str, list[str]]]]:
    document = json.loads(note)
    if not isinstance(document, dict):
        raise ValueError("no note")
    yield from document.items()


def _everything(folder: str, before: dict[str, Kept]) -> Iterator[tuple[str, Kept]]:
    """The folder and all below it."""
    kept = look(folder, before.get(folder))
    yield folder, kept
    for name in kept.names:
        yield from _everything(f"{folder}{os.sep}{name}", before)


def _identity(folder: Path) -> tuple[int, int] | None:
    try:
        found = folder.stat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISDIR(found.st_mode) else None


def _seen(path: str, kept: Kept) -> Kept | None:
    """What is there now, read whole; None where it cannot be read."""
    try:
        return look_again(path, kept)
    except OSError:
        return None


def _unusable(what: str, error: OSError) -> Exception:
    return environment(
        f"A file that the agent must not change {what}: {error.strerror}",
        where=str(error.filename or ""),
        hint="Make it readable and writable for you, then run again with --resume",
    )
