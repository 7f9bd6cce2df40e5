"""The objects of the repository once more, outside of it: what an agent or a check deletes or overwrites is put back.

It is for where nothing keeps them from that: agents without a repository of their own, and checks without a sandbox,
which run the agent's code. Packs and the first loose objects are copied; the other ones get a second name, which costs
neither space nor time, but an object that is overwritten in place is damaged under both.
"""

import hashlib
import io
import os
import shutil
import stat
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, field

from aigon.files.atomic import open_plain
from aigon.git.branch_ref import TICK_NS
from aigon.git.trusted import TrustedGit

KEPT = (".pack", ".idx", ".rev")
"""What makes a pack; git makes the rest again."""
LARGEST_COPY = 256 << 20
"""Bytes of a file that is copied; a larger one gets a second name, if that can be."""
MOST_COPIES = 1000
"""Files that are copied when a run begins, some 80 microseconds each. What comes later is always copied."""
NEWEST, OLDER = 50, 50
"""Copied objects that each look compares with their copies: the newest, which git reads next, and as many older ones in
turn. A look at all of them would grow with the run, 4 microseconds each, twice an iteration."""
_PIECE = 1 << 20
_DERIVED = {
    "commit-graph": ("info/commit-graph", "info/commit-graphs"),
    "multi-pack-index": ("pack/multi-pack-index",),
}
"""Files that git makes of its objects and believes, and folders of such, by the command that verifies them."""


class _Changed(Struct):
    """A folder of objects that has changed."""

    folder: str
    exists: bool
    new: set[str]
    gone: set[str]


class HeldObjects(Struct):
    """The objects of a repository, held in `folder`."""

    git: TrustedGit
    folder: Path
    _folders: set[str] | None = None
    """The folders with held objects; which these are, is read where the folder of the repository has changed."""
    _seen: dict[str, int] = field(default_factory=dict)
    """When each folder of objects had changed last; one that may change again in the same tick is left out."""
    _copied: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """The objects that are copied, each as it was when it was known to be right."""
    _derived: dict[str, dict[str, tuple[int, ...]]] = field(default_factory=dict)
    _older: int = 0
    """How many of the older copied objects were compared in this round."""

    def hold(
        self, tips: Iterable[str], *, believe: bool = False, quick: bool = False, whole: bool = False
    ) -> tuple[str, ...]:
        """Put back what was deleted or overwritten, and hold what is new; return a sentence for what was done.

        What a person's git has packed or pruned is let go: all is well as long as everything is there that refs and
        `tips` lead to. That is not asked with `believe`. With `quick` the next look finds what was overwritten, with
        `whole` and at first this one finds all of it. While nothing is deleted, no program is started.
        """
        objects = self.git.common_dir / "objects"
        whole = whole or self._folders is None
        if self._folders is None:
            self._folders = set()
            for folder, names in _list_changed(self.folder, {}, ()):  # one at a time: there may be many objects
                self._folders |= {folder} if names else set()
                pairs = ((name, f"{self.folder}/{name}", f"{objects}/{name}") for name in names)
                self._copied |= {name: () for name, copy, source in pairs if not _is_same(copy, source)}
        is_first = not self._folders
        listed = _list_changed(objects, self._seen, self._folders)
        found = [_Changed(folder, bool(there), *self._compare(folder, there)) for folder, there in listed]
        gone = {name for each in found for name in each.gone}
        restored = () if quick else self._restore_overwritten(objects, self._choose_copied(whole=whole))
        deleted = bool(gone) and not believe and not self._is_whole(tips)
        back = [_add(self.folder / name, objects / name) for name in sorted(gone) if deleted]
        for name in gone if not deleted else ():
            (self.folder / name).unlink(missing_ok=True)
            self._copied.pop(name, None)
        for each in sorted(found, key=lambda each: (each.folder != "pack", each.folder)):
            for name in sorted(each.new):
                self._take(objects, name, is_known=is_first)
            self._folders.add(each.folder) if each.exists or deleted else self._folders.discard(each.folder)
        said = f"{sum(back)} files with git's objects were deleted; they were put back"
        return ((said,) if any(back) else ()) + restored + tuple(self._remove_forged(objects))

    def _compare(self, folder: str, there: set[str]) -> tuple[set[str], set[str]]:
        """Return which objects of a folder are new, and which of the held ones are gone."""
        held = set[str]()
        with suppress(FileNotFoundError):
            held = _list_objects(f"{self.folder}/{folder}", folder)
        return there - held, held - there

    def _take(self, objects: Path, name: str, *, is_known: bool) -> None:
        """Hold a new object; remove it if it is damaged, unless that `is_known` not to be.

        It is of no use then, and git would take it for the object that it has to write.
        """
        small = _read_small(f"{objects}/{name}")
        if not is_known and not _is_sound(f"{objects}/{name}", small and small[0]):
            (objects / name).unlink(missing_ok=True)
        elif small and not (is_known and len(self._copied) >= MOST_COPIES):
            with suppress(OSError):
                _write_copy(f"{self.folder}/{name}", *small)
                self._copied[name] = _describe_state(small[1])
        elif _add(objects / name, self.folder / name, link=len(self._copied) >= MOST_COPIES):
            self._note(name, objects / name)

    def _remove_forged(self, objects: Path) -> Iterator[str]:
        """Remove what git derived from its objects if it changed and is wrong, as git would believe it."""
        for verb, places in _DERIVED.items():
            files = {file: _describe(file) for place in places for file in _list_files(f"{objects}/{place}")}
            if self._derived.get(verb, files) != files and self.git.attempt(verb, "verify")[0]:
                for file in files:
                    Path(file).unlink(missing_ok=True)
                files = {}
                yield f"git's {verb} was damaged; it was removed, and git makes it again"
            self._derived[verb] = files

    def _choose_copied(self, *, whole: bool) -> Sequence[str]:
        """Return the copied objects to look at: packs, the newest, and the next of the others, or all of them."""
        names = [*self._copied]
        if whole or len(names) <= NEWEST + OLDER:
            return names
        older = names[:-NEWEST]
        begun = self._older % len(older)
        self._older, packs = begun + OLDER, set[str]()
        with suppress(FileNotFoundError):
            packs = _list_objects(f"{self.folder}/pack", "pack") & self._copied.keys()
        return [*packs, *older[begun : begun + OLDER], *names[-NEWEST:]]

    def _restore_overwritten(self, objects: Path, names: Sequence[str]) -> tuple[str, ...]:
        """Put back which of these objects were overwritten in place; return a sentence if any was."""
        back = lost = 0
        for name in [*self._list_rewritten(objects, names)]:
            known, source, copy = self._copied[name], objects / name, self.folder / name
            now = _describe(source)
            if not known and now[:2] == _describe(copy)[:2]:
                self._copied[name] = now
            elif _is_sound(source):
                copy.unlink(missing_ok=True)
                _add(source, copy)
                self._note(name, source)
            elif _is_sound(copy):
                source.unlink(missing_ok=True)
                back += _add(copy, source)
                self._note(name, source)
            else:
                lost += 1
        said = f"{back} files with git's objects were overwritten; they were put back"
        damaged = f"{lost} files with git's objects were overwritten, and their copies are damaged: see git fsck"
        return ((said,) if back else ()) + ((damaged,) if lost else ())

    def _list_rewritten(self, objects: Path, names: Iterable[str]) -> Iterator[str]:
        """Yield which of these copied objects are not as they were."""
        place, look, copied = f"{objects}/", os.lstat, self._copied
        for name in names:
            known = copied[name]
            try:
                now = look(place + name)
            except OSError:
                continue
            if not known or now.st_ctime_ns != known[2] or now.st_ino != known[3]:
                yield name

    def _note(self, name: str, source: Path) -> None:
        if not _is_same(source, self.folder / name):
            self._copied[name] = _describe(source)

    def _is_whole(self, tips: Iterable[str]) -> bool:
        asked = ("-c", "core.commitGraph=false", "rev-list", "--objects", "--quiet", "--all", *tips)
        return self.git.refs(*asked)[0] == 0


def _list_changed(objects: Path, seen: dict[str, int], known: Iterable[str]) -> Iterator[tuple[str, set[str]]]:
    """Yield the folders of objects that have changed since they were `seen`, or are gone, and what is in them."""
    folders: list[str] = []
    place, look = os.fspath(objects), os.stat
    with suppress(OSError):
        folders = [name for name in os.listdir(place) if not name[2:] or name == "pack"]  # noqa: PTH208 - names alone
    yield from ((folder, set()) for folder in {*known}.difference(folders))
    settled = time.time_ns() - TICK_NS
    for folder in folders:
        try:
            changed = look(f"{place}/{folder}").st_mtime_ns  # 256 of them, three times a turn
            if folder in seen and seen[folder] == changed:
                continue
            listed = _list_objects(f"{place}/{folder}", folder)
        except OSError:
            continue
        yield folder, listed
        if changed < settled:  # else another change may leave the time as it is
            seen[folder] = changed


def _list_objects(place: str, folder: str) -> set[str]:
    """Return the names of objects in one folder, with its own. Raises OSError."""
    names = [name for name in os.listdir(place) if name[:4] != "tmp_"]  # noqa: PTH208 - names alone
    return {f"{folder}/{name}" for name in names if folder != "pack" or name.endswith(KEPT)}


def _list_files(place: str) -> Sequence[str]:
    """Return the file of this name, or those in the folder of this name."""
    try:
        return [f"{place}/{name}" for name in sorted(os.listdir(place))]  # noqa: PTH208 - three times a turn
    except NotADirectoryError:
        return [place]
    except OSError:
        return []


def _read_small(file: str) -> tuple[bytes, os.stat_result] | None:
    """Return content and state of a plain file that has one piece."""
    with suppress(OSError), open_plain(file) as opened:
        state = os.fstat(opened.fileno())
        return (opened.read(_PIECE), state) if state.st_size <= _PIECE else None
    return None


def _write_copy(target: str, data: bytes, state: os.stat_result) -> None:
    """Write a copy with mode and times of the original."""
    folder, _, name = target.rpartition("/")
    draft, flags = f"{folder}/tmp_{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:  # git passes over files of such names
        handle = os.open(draft, flags, stat.S_IMODE(state.st_mode))
    except OSError:  # the folder is missing, or a kill has left a draft
        os.makedirs(folder, exist_ok=True)  # noqa: PTH103 - for every object
        with suppress(FileNotFoundError):
            os.unlink(draft)  # noqa: PTH108 - as above
        handle = os.open(draft, flags, stat.S_IMODE(state.st_mode))
    with os.fdopen(handle, "wb", buffering=0) as file:
        file.write(data)
        os.utime(handle, ns=(state.st_atime_ns, state.st_mtime_ns))
    os.replace(draft, target)  # noqa: PTH105 - as above


def _add(source: Path, target: Path, *, link: bool = False) -> bool:
    """Copy a file, or `link` it; return whether that worked: it may have gone meanwhile, or be too large."""
    with suppress(OSError):
        if not os.path.isdir(target.parent):  # noqa: PTH112 - for every object
            target.parent.mkdir(parents=True, exist_ok=True)
        is_large = source.stat().st_size > LARGEST_COPY
        if link or is_large:
            with suppress(OSError):  # on another file system there are no second names
                os.link(source, target, follow_symlinks=False)
                return True
        if not is_large:
            draft = target.with_name(f"tmp_{target.name}")  # git passes over files of such names
            shutil.copy2(source, draft, follow_symlinks=False)
            draft.replace(target)
            return True
    return False


def _describe(file: Path | str) -> tuple[int, ...]:
    """Return size, times and number of a file; nothing if it is not there. Nobody can set the last but one of them."""
    try:
        return _describe_state(os.lstat(file))
    except OSError:
        return ()


def _describe_state(state: os.stat_result) -> tuple[int, ...]:
    return state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino


def _is_same(file: Path | str, other: Path | str) -> bool:
    """Return whether both are names of one file."""
    with suppress(OSError):
        return os.path.samefile(file, other)  # noqa: PTH121 - thousands of them at the start
    return False


def _is_sound(file: Path | str, data: bytes | None = None) -> bool:
    """Return whether a file, which holds `data`, is what its name or its own checksum says."""
    folder, _, name = os.fspath(file).rpartition("/")
    is_loose = "." not in name
    digits = len(name.partition(".")[0].removeprefix("pack-")) + (2 if is_loose else 0)
    digest = hashlib.sha256() if digits == 64 else hashlib.sha1()
    try:
        with open(file, "rb") if data is None else io.BytesIO(data) as content:  # noqa: PTH123 - for every object
            if is_loose:
                reader = zlib.decompressobj()
                while (piece := reader.unconsumed_tail or content.read(_PIECE)) and not reader.unused_data:
                    digest.update(reader.decompress(piece, _PIECE))  # a small file may hold any amount of zeros
                digest.update(reader.flush())
                return reader.eof and not reader.unused_data and digest.hexdigest() == folder[-2:] + name
            left = os.stat(file).st_size - digest.digest_size  # noqa: PTH116 - as above
            while left > 0 and (piece := content.read(min(_PIECE, left))):
                digest.update(piece)
                left -= len(piece)
            return content.read() == digest.digest()
    except (OSError, zlib.error):
        return False
