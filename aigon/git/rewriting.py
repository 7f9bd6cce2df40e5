"""An agent's own commits without the secrets that they hold: the same messages, people, dates and merges."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence

from aigon.git.objects import (
    Commit,
    CommitEntry,
    find_entries,
    list_commits,
    read_beginnings,
    read_objects,
    write_commit_again,
)
from aigon.git.secret_files import LARGEST
from aigon.git.trusted import TrustedGit

Blocked = Callable[[Sequence[tuple[str, bytes]]], Iterable[tuple[str, bytes]]]
"""Which of these files, by path and content, must not be in a commit."""
Redact = Callable[[bytes], bytes]
_Overlay = dict[str, CommitEntry | None]
"""Where the tree of a commit that was written again differs from the old one: path -> entry, None for nothing there."""


def rewrite_without(
    git: TrustedGit,
    old: str,
    tip: str,
    blocked: Blocked,
    known: Sequence[str] = (),
    redact: Redact = lambda text: text,
) -> str | None:
    """The commits `old..tip` without blocked files, their messages redacted: the new tip, or None for the old one.

    A blocked file that was there before the commit stays as it was before; commits that become empty stay. Commits
    that one of `known` contains (branches of people) are left as they are. The old commits stay in git's reflogs;
    no ref is made, none moves. Raises AigonError (exit 7) when git cannot write.
    """
    chain = list_commits(git, tip, (old, *known))
    found = _list_blocked(git, chain, blocked)
    raw = dict(read_objects(git, [commit.name for commit in chain]))
    messages = {name: clean for name, data in raw.items() if (clean := _redact_commit(data, redact)) != data}
    if not found and not messages:
        return None
    return _Rewriting(git, chain, found, raw, messages).all().get(tip)


def _redact_commit(raw: bytes, redact: Redact) -> bytes:
    """A commit with its message redacted, and the names of its people: an agent can call itself what it likes."""
    head, gap, message = raw.partition(b"\n\n")
    lines = [redact(line) if line.startswith((b"author ", b"committer ")) else line for line in head.split(b"\n")]
    return b"\n".join(lines) + gap + redact(message)


def _list_blocked(git: TrustedGit, chain: Sequence[Commit], blocked: Blocked) -> set[tuple[str, CommitEntry]]:
    """Paths and entries that some commit brought in and that are blocked; each is looked at once."""
    paths: dict[str, set[tuple[str, CommitEntry]]] = {}
    for commit in chain:
        for path, entry in commit.brought.items():
            if entry.is_file:
                paths.setdefault(entry.name, set()).add((path, entry))
    found: set[tuple[str, CommitEntry]] = set()
    batch: list[tuple[tuple[str, bytes], CommitEntry]] = []
    for name, data in read_beginnings(git, paths, LARGEST):
        batch += [((path, data), entry) for path, entry in paths[name]]
        if sum(len(data) for (_, data), _ in batch) > LARGEST:
            found |= _select_blocked(batch, blocked)
            batch = []
    return found | _select_blocked(batch, blocked)


def _select_blocked(
    batch: Sequence[tuple[tuple[str, bytes], CommitEntry]], blocked: Blocked
) -> set[tuple[str, CommitEntry]]:
    held = {*map(_key, blocked([file for file, _ in batch]))} if batch else set()
    return {(file[0], entry) for file, entry in batch if _key(file) in held}


def _key(file: tuple[str, bytes]) -> tuple[str, int]:
    return file[0], id(file[1])


class _Rewriting:
    """Goes through the commits, parents first, and knows of each that is new how its tree differs from the old one."""

    def __init__(
        self,
        git: TrustedGit,
        chain: Sequence[Commit],
        blocked: set[tuple[str, CommitEntry]],
        raw: Mapping[str, bytes],
        messages: Mapping[str, bytes],
    ) -> None:
        self._git, self._chain, self._blocked = git, chain, blocked
        self._raw, self._messages = {**raw, **messages}, messages
        self._names: dict[str, str] = {}
        self._overlays: dict[str, _Overlay] = {}

    def all(self) -> Mapping[str, str]:
        """Old names and new ones, of those that changed."""
        for commit in self._chain:
            overlay = self._overlay(commit)
            if overlay or commit.name in self._messages or any(parent in self._names for parent in commit.parents):
                tree = self._tree(commit, overlay) if overlay else None
                self._overlays[commit.name] = overlay
                self._names[commit.name] = write_commit_again(self._git, self._raw[commit.name], tree, self._names)
        return self._names

    def _overlay(self, commit: Commit) -> _Overlay:
        """What has to be otherwise in this commit: what it brought in, and what it has from parents that changed."""
        brought = [path for path, entry in commit.brought.items() if (path, entry) in self._blocked]
        inherited = {path for parent in commit.parents for path in self._overlays.get(parent, {})}
        paths = sorted({*brought, *inherited})
        if not paths:
            return {}
        here = find_entries(self._git, commit.name, paths)
        before = [(find_entries(self._git, parent, paths), self._overlays.get(parent, {})) for parent in commit.parents]
        wanted = {path: self._wanted(path, entry, before) for path, entry in here.items()}
        return {path: entry for path, entry in wanted.items() if entry != here[path]}

    def _wanted(
        self, path: str, entry: CommitEntry, before: Sequence[tuple[Mapping[str, CommitEntry], _Overlay]]
    ) -> CommitEntry | None:
        """The entry itself where a parent still has it or it is not blocked; else what the first parent has there."""
        now = [overlay.get(path, theirs.get(path)) for theirs, overlay in before]
        had = any(theirs.get(path) == entry for theirs, _ in before)
        if entry in now or (not had and (path, entry) not in self._blocked):
            return entry
        from_parents = [now[i] for i, (theirs, _) in enumerate(before) if theirs.get(path) == entry]
        return (from_parents or now or [None])[0]

    def _tree(self, commit: Commit, overlay: _Overlay) -> str:
        index = self._git.directory / "index.rewrite"
        index.unlink(missing_ok=True)
        try:
            self._git.run("read-tree", commit.name, index=index)
            nothing = CommitEntry("0", "0" * len(commit.name))
            lines = [(entry or nothing, os.fsencode(path)) for path, entry in overlay.items()]
            text = b"".join(f"{entry.mode} {entry.name}\t".encode() + path + b"\0" for entry, path in lines)
            self._git.run("update-index", "-z", "--index-info", stdin=text, index=index)
            return self._git.run("write-tree", "--missing-ok", index=index).decode().strip()
        finally:
            index.unlink(missing_ok=True)
