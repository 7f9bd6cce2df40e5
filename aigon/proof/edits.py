"""What the tree holds beyond the base, read as text for the integrity rules. Only when everything else is proven."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from aigon.git import objects
from aigon.git.objects import TreeEntry
from aigon.git.trusted import TrustedGit
from aigon.job.assessment import Snapshot
from aigon.model.changes import Concern, Edit, Edits, hash_change
from aigon.profiles.protection import Protection
from aigon.proof.frozen import Frozen

FILES = 5_000
"""Changed files that are read, and test files of the base; beyond them nobody looks, which is said."""


@dataclass(frozen=True, slots=True)
class Changed:
    """One path that differs: its entry in the version that counts as the base's, and in the tree."""

    path: str
    base: TreeEntry | None
    tree: TreeEntry | None


def changed(git: TrustedGit, snapshot: Snapshot, frozen: Frozen) -> tuple[Changed, ...]:
    """Every path in which the snapshot differs from the base, or from people's later version of a file."""
    now = {path: _entry(path, raw) for path, raw in snapshot.content().entries.items()}
    then = base_entries(git, frozen, now)
    rows = (Changed(path, then.get(path), entry) for path, entry in now.items())
    return tuple(row for row in rows if _name(row.base) != _name(row.tree))


def base_entries(git: TrustedGit, frozen: Frozen, paths: Mapping[str, object]) -> dict[str, TreeEntry]:
    """The entries of these paths in the versions that count as the base's."""
    by_commit: dict[str, list[str]] = {}
    for path in paths:
        by_commit.setdefault(frozen.version(path), []).append(path)
    found: dict[str, TreeEntry] = {}
    for commit, some in by_commit.items():
        found |= objects.list_entries(git, commit, some)
    return found


def _entry(path: str, raw: str) -> TreeEntry | None:
    """By git's raw format: modes and objects' names, then the status."""
    mode, _, sha, _ = raw.split(" ", 3)
    return None if mode == "000000" else TreeEntry(mode, sha, path)


def _name(entry: TreeEntry | None) -> tuple[str, str] | None:
    return (entry.mode, entry.sha) if entry else None


def edits(
    git: TrustedGit, rows: tuple[Changed, ...], protection: Protection, base: str, messages: tuple[str, ...]
) -> Edits:
    """The changes as text, less what the spec allows, and the tests of the base."""
    rows = _first(rows, protection)[:FILES]
    tests = [e for path, e in objects.list_entries(git, base).items() if protection.part(path) == "tests"][:FILES]
    wanted = [entry.sha for row in rows for entry in (row.base, row.tree) if entry and entry.mode != "160000"]
    texts = objects.read_blobs(git, [*wanted, *(entry.sha for entry in tests)])
    files = tuple(_edit(row, texts, protection) for row in rows)
    return Edits(files, {entry.path: _text(texts[entry.sha]) for entry in tests}, messages)


def _first(rows: tuple[Changed, ...], protection: Protection) -> tuple[Changed, ...]:
    """What the spec does not allow, code before everything else."""
    order = {"product": 0, "config": 1, "tests": 2, "other": 3}
    open_ = (row for row in rows if not protection.allowed(row.path))
    return tuple(sorted(open_, key=lambda row: order[protection.part(row.path)]))


def unread(rows: tuple[Changed, ...], protection: Protection) -> Iterator[Concern]:
    """A change that is too large for the rules is one that a person has to look at; files of prose and data apart."""
    left = [row.path for row in _first(rows, protection)[FILES:] if protection.part(row.path) != "other"]
    if left:
        what = f"the change has more files than the {FILES:,} that the rules read: {len(left)} were not looked at"
        yield Concern("unread", "review", what, tuple(left[:20]), hash_change(left))


def _edit(row: Changed, texts: Mapping[str, bytes], protection: Protection) -> Edit:
    before, after = (_content(entry, texts) for entry in (row.base, row.tree))
    modes = (row.tree.mode if row.tree else "", row.base.mode if row.base else "")
    return Edit(row.path, before, after, protection.part(row.path), *modes)


def _content(entry: TreeEntry | None, texts: Mapping[str, bytes]) -> str | None:
    """A submodule's content is the name of its commit."""
    if entry is None:
        return None
    return entry.sha if entry.mode == "160000" else _text(texts[entry.sha])


def _text(data: bytes) -> str:
    return "" if b"\0" in data[:8000] else data.decode("utf-8", "replace")
