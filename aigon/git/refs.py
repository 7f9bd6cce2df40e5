"""Refs as git keeps them in files, what became of one, and which ones other loops write."""

import contextlib
import os
import re
import stat
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from aigon.git.file_state import FRESH_NS, NOTHING, FileState, Mark, make_mark, read_mark, read_state

WATCHED = ("heads", "tags", "replace", "aigon")
"""Below `refs/`. Not `remotes`, `stash` and `notes`: a person fetches and stashes while an agent works."""
LONGEST = 1024
"""Bytes that are read of a ref's file, which holds a hash or the name of another ref."""
_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_PACKED = re.compile(rb"([0-9a-f]{40}|[0-9a-f]{64}) (refs/\S+)")
_PEELED = re.compile(rb"\^([0-9a-f]{40}|[0-9a-f]{64})")


def is_hash(value: str) -> bool:
    """Whether a ref's value is an object: no link to another ref, no rubbish."""
    return bool(_HASH.fullmatch(value))


@dataclass(frozen=True, slots=True)
class _RefFolder:
    """What a folder of refs held: folders, and files with mark and value."""

    mark: Mark
    folders: tuple[str, ...]
    files: dict[str, tuple[Mark, str]]


class RefFiles:
    """The watched refs of a repository, read without a git process: only files that changed are opened.

    `packed` is the state of packed-refs at the last `read`.
    """

    def __init__(self, common_dir: Path) -> None:
        self.folder, self.packed_file = common_dir / "refs", common_dir / "packed-refs"
        self.packed = FileState(NOTHING)
        self._packed: dict[str, str] = {}
        self._folders: dict[str, _RefFolder] = {}

    def read(self, *, thorough: bool = True) -> dict[str, str]:
        """Return every watched ref and its value: a hash, `ref: NAME`, or words for what git cannot read.

        git writes a ref by renaming a file, which changes the folder's mark. An agent can overwrite a file in place, so
        a `thorough` read looks at every file.
        """
        packed = read_state(os.fspath(self.packed_file), self.packed)
        if packed is not self.packed:
            self.packed, self._packed = packed, parse_packed_refs(packed.data) or {}
        self._folders = dict(self._read_folders(thorough=thorough))
        refs = dict(self._packed)
        for name, folder in self._folders.items():
            refs.update((f"{name}/{file}", value) for file, (_, value) in folder.files.items())
        return refs

    def path_of(self, ref: str) -> Path:
        """Return the file of a loose ref."""
        return self.folder.parent / ref

    def _read_folders(self, *, thorough: bool) -> Iterator[tuple[str, _RefFolder]]:
        fresh, names = time.time_ns() - FRESH_NS, [f"refs/{name}" for name in WATCHED]
        while names:
            name = names.pop()
            path, known = f"{self.folder.parent}/{name}", self._folders.get(name)
            now = read_mark(path)
            if thorough or known is None or known.mark != now:
                with contextlib.suppress(OSError):  # missing or out of reach: its refs are gone
                    known = _read_folder(path, now, known.files if known else {}, fresh)
                    yield name, known
                    names += [f"{name}/{each}" for each in known.folders]
            else:
                yield name, known
                names += [f"{name}/{each}" for each in known.folders]


def _read_folder(path: str, now: Mark, known: Mapping[str, tuple[Mark, str]], fresh: int) -> _RefFolder:
    """Read the folders and refs in a folder, without locks; only files that changed are opened. Raises OSError."""
    folders, files = [], {}
    with os.scandir(path) as found:
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            elif not entry.name.endswith(".lock"):
                file = make_mark(entry.stat(follow_symlinks=False))
                before = known.get(entry.name)
                if before is None or before[0] != file:
                    before = (file if file[3] < fresh else (), _read_ref(entry.path, file[0]))
                files[entry.name] = before
    return _RefFolder(now if len(now) > 1 and now[3] < fresh else (), tuple(folders), files)


def _read_ref(path: str, mode: int) -> str:
    if not stat.S_ISREG(mode):
        return "a link to another file" if stat.S_ISLNK(mode) else "no file"
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return "unreadable"
    try:
        text = os.read(handle, LONGEST).decode(errors="replace").strip()
    finally:
        os.close(handle)
    if text.startswith("ref:"):
        return f"ref: {text[4:].strip()}"
    return text if is_hash(text) else "rubbish"


def parse_packed_refs(data: bytes) -> dict[str, str] | None:
    """Parse the watched refs in packed-refs; None if git would reject the file, or miss entries in it."""
    head, lines = b"", data.splitlines()
    if lines and lines[0].startswith(b"#"):
        head, lines = lines[0], lines[1:]
    entries = [_PACKED.fullmatch(line) for line in lines if not _PEELED.fullmatch(line)]
    names = [entry[2] for entry in entries if entry]
    if len(names) < len(entries) or (b" sorted" in head and names != sorted(names)):
        return None
    wanted = tuple(f"refs/{name}/".encode() for name in WATCHED)
    return {os.fsdecode(e[2]): e[1].decode() for e in entries if e and e[2].startswith(wanted)}


RefOutcome = Literal["put back", "removed", "left", "failed"]
"""left: it may be a person's work. failed: git could not put it back."""


@dataclass(frozen=True, slots=True)
class MovedRef:
    """A ref before and after (a hash, `ref: ...` for a link, other text if git cannot read it; "" for no ref).

    `parked` names the ref that keeps the value after, if any; `why` ends the sentence.
    """

    ref: str
    before: str
    after: str
    done: RefOutcome
    parked: str = ""
    why: str = ""

    @property
    def sentence(self) -> str:
        name = self.ref.removeprefix("refs/heads/").removeprefix("refs/")
        kind = "branch " if self.ref.startswith("refs/heads/") else ""
        kept = f", and what it had become is kept as {self.parked}" if self.parked else ""
        why = f": {self.why}" if self.why else ""
        return f"the {kind or 'ref '}{name} was {self._how()}; it {_DONE[self.done]}{kept}{why}"

    def _how(self) -> str:
        if not self.before:
            return "made"
        return f"moved from {self.before[:12]} to {self.after[:12]}" if self.after else "deleted"


_DONE = {
    "put back": "was put back",
    "removed": "was taken away",
    "left": "was left as it is",
    "failed": "could not be put back",
}

_ARENA, _PARKED = "refs/aigon/arena/", "refs/aigon/parked/"


@dataclass(frozen=True, slots=True)
class Rivals:
    """Refs that other loops write: the `branches` of all other candidates, without `refs/heads/`.

    `feature` is the ID of this loop's feature if others may begin to work on it, else "".
    """

    branches: frozenset[str] = frozenset()
    feature: str = ""

    def write(self, ref: str) -> bool:
        """Whether a ref is theirs: their own loops protect it."""
        return ref.removeprefix("refs/heads/") in self.branches or (bool(self.feature) and ref.startswith(_ARENA))

    def make(self, ref: str) -> bool:
        """Whether a new ref may be theirs: the branch of a new candidate, or work that one saved aside."""
        return bool(self.feature) and ref.startswith((f"refs/heads/feature-{self.feature}-", _PARKED))


NOBODY = Rivals()
