"""Rewrite an agent's own commits without their secrets, with the same messages, people, dates and merges."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from aigon.git.commits import Commit, list_commits, write_commit_again
from aigon.git.objects import TreeEntry, list_entries, read_beginnings, read_objects, write_tree_with
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
    new_names: dict[str, str] = {}
    overlays: dict[str, _Overlay] = {}
    for commit in chain:  # parents first
        overlays[commit.name] = overlay = _find_overlay(git, commit, secret, overlays)
        if overlay or commit.name in messages or any(parent in new_names for parent in commit.parents):
            changes = {path: (entry.mode, entry.sha) if entry else None for path, entry in overlay.items()}
            tree = write_tree_with(git, commit.name, changes) if overlay else None
            data = messages.get(commit.name, raw[commit.name])
            new_names[commit.name] = write_commit_again(git, data, tree, new_names)
    return new_names.get(tip)


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
    # Contents may be large: they are compared by identity.
    held = {(path, id(data)) for path, data in blocked([file for file, _ in batch])} if batch else set()
    return {(path, entry) for (path, data), entry in batch if (path, id(data)) in held}


def _find_overlay(
    git: TrustedGit, commit: Commit, blocked: set[tuple[str, TreeEntry]], overlays: Mapping[str, _Overlay]
) -> _Overlay:
    brought = [path for path, entry in commit.brought.items() if (path, entry) in blocked]
    inherited = {path for parent in commit.parents for path in overlays.get(parent, {})}
    paths = sorted({*brought, *inherited})
    if not paths:
        return {}
    here = list_entries(git, commit.name, paths)
    before = [(list_entries(git, parent, paths), overlays.get(parent, {})) for parent in commit.parents]
    overlay: _Overlay = {}
    for path, entry in here.items():
        now = [changed.get(path, theirs.get(path)) for theirs, changed in before]
        had = [theirs.get(path) == entry for theirs, _ in before]
        if entry in now or (not any(had) and (path, entry) not in blocked):
            continue  # a parent still has it, or it is new and not blocked
        from_parents = [new for new, same in zip(now, had, strict=True) if same]
        overlay[path] = (from_parents or now or [None])[0]
    return {path: entry for path, entry in overlay.items() if entry != here[path]}
