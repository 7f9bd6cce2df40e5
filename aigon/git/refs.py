"""Refs as git keeps them in files, what became of one, and which ones other loops write."""

import contextlib
import os
import stat
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from aigon.git.file_state import FRESH_NS, NOTHING, FileState, Mark, make_mark, read_state
from aigon.text.patterns import compile_re

WATCHED = ("refs/heads", "refs/tags", "refs/replace", "refs/aigon")
"""Not `remotes`, `stash` and `notes`: a person fetches and stashes while an agent works."""
HELD = "refs/aigon/runs/"
"""Refs that keep what running loops borrow, whatever is deleted and pruned meanwhile."""
LONGEST = 1024
"""Bytes that are read of a ref's file, which holds a hash or the name of another ref."""
_HASH = compile_re(r"[0-9a-f]{40}|[0-9a-f]{64}")
_PACKED = compile_re(rb"([0-9a-f]{40}|[0-9a-f]{64}) (refs/\S+)")
_PEELED = compile_re(rb"\^([0-9a-f]{40}|[0-9a-f]{64})")


def is_hash(value: str) -> bool:
    """Return whether a ref's value is an object: no link to another ref, no rubbish."""
    return bool(_HASH.fullmatch(value))


class RefFiles:
    """The refs of a repository in these folders, read without a git process: only files that changed are opened.

    `packed` is the state of packed-refs at the last `read`.
    """

    def __init__(self, common_dir: Path, folders: tuple[str, ...] = WATCHED) -> None:
        self.folder, self.packed_file = common_dir / "refs", common_dir / "packed-refs"
        self._folders = folders
        self.packed = FileState(NOTHING)
        self._packed: dict[str, str] = {}
        self._loose: dict[str, tuple[Mark, str]] = {}

    def read(self) -> dict[str, str]:
        """Return every ref there and its value: a hash, `ref: NAME`, or words for what git cannot read."""
        packed = read_state(os.fspath(self.packed_file), self.packed)
        if packed is not self.packed:
            self.packed, self._packed = packed, parse_packed_refs(packed.data, self._folders) or {}
        fresh, known, self._loose = time.time_ns() - FRESH_NS, self._loose, {}
        for folder in self._folders:
            self._read_folder(folder, known, fresh)
        return {**self._packed, **{ref: value for ref, (_, value) in self._loose.items()}}

    def path_of(self, ref: str) -> Path:
        return self.folder.parent / ref

    def _read_folder(self, name: str, known: Mapping[str, tuple[Mark, str]], fresh: int) -> None:
        with contextlib.suppress(OSError), os.scandir(f"{self.folder.parent}/{name}") as entries:
            for entry in entries:
                ref = f"{name}/{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    self._read_folder(ref, known, fresh)
                elif not entry.name.endswith(".lock"):
                    mark = make_mark(entry.stat(follow_symlinks=False))
                    if ref in known and known[ref][0] == mark:
                        self._loose[ref] = known[ref]
                    else:
                        self._loose[ref] = (mark if mark[3] < fresh else (), _read_ref(entry.path, mark[0]))


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


def parse_packed_refs(data: bytes, folders: tuple[str, ...] = WATCHED) -> dict[str, str] | None:
    """Parse the refs of packed-refs in these folders; None if git would reject the file, or miss entries in it."""
    head, lines = b"", data.splitlines()
    if lines and lines[0].startswith(b"#"):
        head, lines = lines[0], lines[1:]
    entries = [_PACKED.fullmatch(line) for line in lines if not _PEELED.fullmatch(line)]
    names = [entry[2] for entry in entries if entry]
    if len(names) < len(entries) or (b" sorted" in head and names != sorted(names)):
        return None
    wanted = tuple(f"{folder}/".encode() for folder in folders)
    return {os.fsdecode(e[2]): e[1].decode() for e in entries if e and e[2].startswith(wanted)}


RefOutcome = Literal["put back", "removed", "left", "failed"]
"""left: it may be a person's work. failed: git could not put it back."""


class MovedRef(Struct, frozen=True):
    """A ref before and after (a hash, `ref: ...` for a link, other text if git cannot read it; "" for no ref).

    `saved` names the ref that keeps the value after, if any; `why` ends the sentence.
    """

    ref: str
    before: str
    after: str
    done: RefOutcome
    saved: str = ""
    why: str = ""

    @property
    def sentence(self) -> str:
        name = self.ref.removeprefix("refs/heads/").removeprefix("refs/")
        kind = "branch" if self.ref.startswith("refs/heads/") else "ref"
        how = f"moved from {self.before[:12]} to {self.after[:12]}" if self.after else "deleted"
        kept = f", and what it had become is kept as {self.saved}" if self.saved else ""
        why = f": {self.why}" if self.why else ""
        return f"the {kind} {name} was {how if self.before else 'made'}; it {_DONE[self.done]}{kept}{why}"


_DONE = {
    "put back": "was put back",
    "removed": "was taken away",
    "left": "was left as it is",
    "failed": "could not be put back",
}

_ARENA, _SAVED_ASIDE = "refs/aigon/arena/", "refs/aigon/parked/"


class Rivals(Struct, frozen=True):
    """Refs that other loops write: the `branches` of all other candidates, without `refs/heads/`.

    `feature` is the ID of this loop's feature if others may begin to work on it, else "".
    """

    branches: frozenset[str] = frozenset()
    feature: str = ""

    def write(self, ref: str) -> bool:
        """Return whether a ref is theirs: their own loops protect it."""
        return ref.removeprefix("refs/heads/") in self.branches or (bool(self.feature) and ref.startswith(_ARENA))

    def make(self, ref: str) -> bool:
        """Return whether a new ref may be theirs: the branch of a new candidate, or work that one saved aside."""
        return bool(self.feature) and ref.startswith((f"refs/heads/feature-{self.feature}-", _SAVED_ASIDE))


NOBODY = Rivals()
