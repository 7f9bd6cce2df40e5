"""Rewrite an agent's own commits without their secrets, with the same messages, people, dates and merges."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from aigon.git.objects import (
    Commit,
    TreeEntry,
    list_commits,
    list_entries,
    read_beginnings,
    read_objects,
    write_commit_again,
    write_tree_with,
)  # fmt: skip
from aigon.git.secret_files import LARGEST
from aigon.git.trusted import TrustedGit

Blocked = Callable[[Sequence[tuple[str, bytes]]], Iterable[tuple[str, bytes]]]
"""Which of these files, by path and content, must not be in a commit."""
Redact = Callable[[bytes], bytes]
_Overlay = dict[str, TreeEntry | None]
"""Where the tree of a rewritten commit differs from the old one: path -> entry, None for no file."""


def rewrite_without(
    git: TrustedGit,
    old: str,
    tip: str,
    blocked: Blocked,
    known: Sequence[str] = (),
    redact: Redact = lambda text: text,
) -> str | None:
    """Rewrite `old..tip` without blocked files and with redacted messages; return the new tip, None for the old one.

    A blocked file that existed before a commit keeps its earlier content; commits that become empty stay. Commits that
    one of `known` contains (branches of people) stay as they are. The old commits stay in git's reflogs; no ref moves.
    Raises AigonError (exit 7) if git cannot write.
    """
    chain = list_commits(git, tip, (old, *known))
    secret = _list_blocked(git, chain, blocked)
    raw = dict(read_objects(git, [commit.name for commit in chain]))
    messages = {name: clean for name, data in raw.items() if (clean := _redact_commit(data, redact)) != data}
    if not secret and not messages:
        return None
    return _Rewriting(git, chain, secret, raw, messages).rewrite_all().get(tip)


def _redact_commit(raw: bytes, redact: Redact) -> bytes:
    """Redact the message of a commit, and the names of its people: an agent can call itself what it likes."""
    head, gap, message = raw.partition(b"\n\n")
    lines = [redact(line) if line.startswith((b"author ", b"committer ")) else line for line in head.split(b"\n")]
    return b"\n".join(lines) + gap + redact(message)


def _list_blocked(git: TrustedGit, chain: Sequence[Commit], blocked: Blocked) -> set[tuple[str, TreeEntry]]:
    """Return paths and entries that some commit brought in and that are blocked, and look at each once."""
    paths: dict[str, set[tuple[str, TreeEntry]]] = {}
    for commit in chain:
        for path, entry in commit.brought.items():
            if entry.is_file:
                paths.setdefault(entry.sha, set()).add((path, entry))
    secret: set[tuple[str, TreeEntry]] = set()
    batch: list[tuple[tuple[str, bytes], TreeEntry]] = []
    for name, data in read_beginnings(git, paths, LARGEST):
        batch += [((path, data), entry) for path, entry in paths[name]]
        if sum(len(data) for (_, data), _ in batch) > LARGEST:
            secret |= _select_blocked(batch, blocked)
            batch = []
    return secret | _select_blocked(batch, blocked)


def _select_blocked(
    batch: Sequence[tuple[tuple[str, bytes], TreeEntry]], blocked: Blocked
) -> set[tuple[str, TreeEntry]]:
    held = {*map(_key, blocked([file for file, _ in batch]))} if batch else set()
    return {(file[0], entry) for file, entry in batch if _key(file) in held}


def _key(file: tuple[str, bytes]) -> tuple[str, int]:
    return file[0], id(file[1])


class _Rewriting:
    """Rewrites the commits, parents first, and knows how the tree of each new one differs from the old one."""

    def __init__(
        self,
        git: TrustedGit,
        chain: Sequence[Commit],
        blocked: set[tuple[str, TreeEntry]],
        raw: Mapping[str, bytes],
        messages: Mapping[str, bytes],
    ) -> None:
        self._git, self._chain, self._blocked = git, chain, blocked
        self._raw, self._messages = {**raw, **messages}, messages
        self._names: dict[str, str] = {}
        self._overlays: dict[str, _Overlay] = {}

    def rewrite_all(self) -> Mapping[str, str]:
        """Rewrite the commits; return old and new names of those that changed."""
        for commit in self._chain:
            overlay = self._overlay(commit)
            if overlay or commit.name in self._messages or any(parent in self._names for parent in commit.parents):
                tree = None
                if overlay:
                    changes = {path: (entry.mode, entry.sha) if entry else None for path, entry in overlay.items()}
                    tree = write_tree_with(self._git, commit.name, changes, lenient=True)
                self._overlays[commit.name] = overlay
                self._names[commit.name] = write_commit_again(self._git, self._raw[commit.name], tree, self._names)
        return self._names

    def _overlay(self, commit: Commit) -> _Overlay:
        """Return what has to change in this commit: what it brought in, and what it has from changed parents."""
        brought = [path for path, entry in commit.brought.items() if (path, entry) in self._blocked]
        inherited = {path for parent in commit.parents for path in self._overlays.get(parent, {})}
        paths = sorted({*brought, *inherited})
        if not paths:
            return {}
        here = list_entries(self._git, commit.name, paths)
        before = [(list_entries(self._git, parent, paths), self._overlays.get(parent, {})) for parent in commit.parents]
        wanted = {path: self._wanted(path, entry, before) for path, entry in here.items()}
        return {path: entry for path, entry in wanted.items() if entry != here[path]}

    def _wanted(
        self, path: str, entry: TreeEntry, before: Sequence[tuple[Mapping[str, TreeEntry], _Overlay]]
    ) -> TreeEntry | None:
        """Return the entry if a parent still has it or it is not blocked; else that of the first parent."""
        now = [overlay.get(path, theirs.get(path)) for theirs, overlay in before]
        had = any(theirs.get(path) == entry for theirs, _ in before)
        if entry in now or (not had and (path, entry) not in self._blocked):
            return entry
        from_parents = [now[i] for i, (theirs, _) in enumerate(before) if theirs.get(path) == entry]
        return (from_parents or now or [None])[0]
