"""Read what the tree holds beyond the base, as text for the integrity rules, once everything else is proven."""

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from aigon.git import objects
from aigon.git.objects import TreeEntry
from aigon.git.trusted import TrustedGit
from aigon.job.assessment import Snapshot
from aigon.job.job import Job
from aigon.job.world import TurnNotes, World
from aigon.journal.decisions import HumanDecision
from aigon.model.changes import Concern, Edit, Edits, FilePart, hash_change
from aigon.model.checks import Finding, Problem
from aigon.profiles.protection import Protection
from aigon.proof.analysis import protected_keys
from aigon.proof.frozen import Frozen, ProtectedFiles
from aigon.proof.integrity import concerns
from aigon.proof.restore import OWN
from aigon.text.quoting import code_span, fingerprint

FILES = 5_000
"""Changed files that are read, and test files of the base. Files beyond them are not read, which is said."""
EMPTY = (
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)
"""The names of the empty blob, by SHA-1 and SHA-256."""
_IGNORED = "What git ignores is easily left out of the next commit. Take the line out, or give the file another place."
_PART_ORDER = {"product": 0, "config": 1, "tests": 2, "other": 3}
Texts = Mapping[str, tuple[str, str]]
"""The texts of files by path: the base's and the tree's."""


class Changed(Struct, frozen=True):
    """One path that differs: its entry in the version that counts as the base's, and in the tree."""

    path: str
    base: TreeEntry | None
    tree: TreeEntry | None


def list_changed(git: TrustedGit, snapshot: Snapshot, frozen: Frozen) -> tuple[Changed, ...]:
    """Return every path in which the snapshot differs from the base, or from people's later version of a file."""
    now: dict[str, TreeEntry | None] = {}
    by_commit: dict[str, list[str]] = {}
    for path, raw in snapshot.content().entries.items():
        mode, _, sha, _ = raw.split(" ", 3)  # git's raw format: modes and objects' names, then the status
        now[path] = None if mode == "000000" else TreeEntry(mode, sha, path)
        by_commit.setdefault(frozen.version(path), []).append(path)
    base: dict[str, TreeEntry] = {}
    for commit, paths in by_commit.items():
        base |= objects.list_entries(git, commit, paths)
    return tuple(Changed(path, base.get(path), entry) for path, entry in now.items() if base.get(path) != entry)


def read_versions(git: TrustedGit, rows: Iterable[Changed]) -> dict[str, tuple[str | None, str | None]]:
    """Return by path the base's and the tree's version of each file as text; None for a version without text."""
    wanted = {row.path: [e if e and e.mode != "160000" else None for e in (row.base, row.tree)] for row in rows}
    blobs = objects.read_blobs(git, [entry.sha for both in wanted.values() for entry in both if entry])

    def read(entry: TreeEntry | None) -> str | None:
        return blobs[entry.sha].decode("utf-8", "replace") if entry else None

    return {path: (read(base), read(tree)) for path, (base, tree) in wanted.items()}


def find_concerns(job: Job, world: World, rows: tuple[Changed, ...]) -> tuple[Concern, ...]:
    """Return what the rules say of the whole change from the base; what a person approved of is only noted."""
    git, protection = world.workspace.trusted, job.protection
    open_ = [row for row in rows if not protection.is_allowed(row.path)]
    open_.sort(key=lambda row: _PART_ORDER[protection.part(row.path)])
    tests = [e for path, e in objects.list_entries(git, job.base_commit).items() if protection.part(path) == "tests"]
    edits = read_edits(git, open_[:FILES], protection, tests[:FILES], tuple(world.get(TurnNotes).commit_messages))
    own = [*_list_unreadable(edits, rows), *_judge_paths(world, protection, rows)]
    own += find_ignored_source(git, open_, protection)
    # A change that is too large for the rules is one for a person. Prose and data do not count.
    unread = [row.path for row in open_[FILES:] if protection.part(row.path) != "other"]
    if unread:
        what = f"the change has more files than the {FILES:,} that the rules read: {len(unread)} were not read"
        own.append(Concern("unread", "review", what, tuple(unread[:20]), hash_change(unread), mendable=False))
    return apply_decisions((*concerns(edits), *own), job.decisions)


def read_edits(
    git: TrustedGit,
    rows: Sequence[Changed],
    protection: Protection,
    tests: Sequence[TreeEntry] = (),
    messages: tuple[str, ...] = (),
) -> Edits:
    """Return the changes as text, and the tests of the base."""
    wanted = [entry.sha for row in rows for entry in (row.base, row.tree) if entry and entry.mode != "160000"]
    blobs = objects.read_blobs(git, [*wanted, *(entry.sha for entry in tests)])

    def read(entry: TreeEntry | None) -> str | None:
        if entry is None or entry.mode == "160000":  # the content of a submodule is the name of its commit
            return entry.sha if entry else None
        data = blobs[entry.sha]
        return "" if b"\0" in data[:8000] else data.decode("utf-8", "replace")

    files = (
        Edit(
            row.path,
            read(row.base),
            read(row.tree),
            protection.part(row.path),
            row.tree.mode if row.tree else "",
            row.base.mode if row.base else "",
        )
        for row in rows
    )
    return Edits(tuple(files), {entry.path: read(entry) or "" for entry in tests}, messages)


def _list_unreadable(edits: Edits, rows: Iterable[Changed]) -> Iterator[Concern]:
    """Yield a review for code that is no text, or too large to be read."""
    shas = {row.path: row.tree.sha for row in rows if row.tree}
    for edit in edits.files:
        sha = shas.get(edit.path, EMPTY[0])
        if edit.part == "product" and edit.after == "" and sha not in EMPTY:
            what = f"{edit.path} is no text that the rules can read, and it is not where the project keeps its data"
            yield Concern("unread", "review", what, (edit.path,), hash_change([edit.path, sha]))


def find_ignored_source(git: TrustedGit, rows: Sequence[Changed], protection: Protection) -> Iterator[Concern]:
    """Yield a review for each .gitignore in the work tree whose new lines ignore product files of the same change."""
    files = [row for row in rows if row.tree and posixpath.basename(row.path) == ".gitignore"]
    if not files:
        return
    product = [row.path for row in rows if protection.part(row.path) == "product" and row not in files]
    ignored = git.find_ignored(product, even_tracked=True)
    for path, (before, after) in read_versions(git, files).items():
        known = (before or "").splitlines()
        hidden = {each: line for each, (file, line) in ignored.items() if file == path and line not in known}
        for each, line in [*hidden.items()][:1]:
            more = f" and {len(hidden) - 1} more" if len(hidden) > 1 else ""
            what = f"{path} ignores {each}{more}, which this change is about: {code_span(line, 160)}. {_IGNORED}"
            yield Concern("ignored-source", "review", what, (path,), hash_change([path, after or ""]))


def _judge_paths(world: World, protection: Protection, rows: Sequence[Changed]) -> Iterator[Concern]:
    """Yield what rules on paths alone say: notes, and reviews that no second run can settle."""
    ruled = [(row, rule) for row in rows for rule in protection.rules_of(row.path) if not rule.relaid]
    versions = read_versions(world.workspace.trusted, [row for row, rule in ruled if rule.keys])
    restored = world.get(ProtectedFiles).files
    for row, rule in ruled:
        if rule.level == "restore" and (row.path in restored or row.path.startswith(f"{OWN}/")):
            continue
        if rule.keys and protected_keys.have_equal_keys(*versions[row.path], row.path, rule.keys):
            continue
        key = hash_change([row.path, row.tree.sha if row.tree else "", *rule.keys])
        what = f"{row.path} was changed ({rule.source})"
        mendable = not protection.asks_for((row.path,))
        yield Concern("protected", "note" if rule.level == "note" else "review", what, (row.path,), key, mendable)


def apply_decisions(concerns: Iterable[Concern], decisions: Sequence[HumanDecision]) -> tuple[Concern, ...]:
    """Return the concerns, with a note instead of a review if a person approved of that very change."""
    return tuple(_apply_decision(concern, decisions) for concern in concerns)


def _apply_decision(concern: Concern, decisions: Sequence[HumanDecision]) -> Concern:
    last = [d for d in decisions if (d.criterion, d.text, d.content) == (0, concern.rule, concern.key)][-1:]
    if concern.level != "review" or not last:
        return concern
    by = f"by {last[0].who} on {last[0].at[:10]}"
    if last[0].decision == "approve":
        return replace(concern, level="note", what=f"approved {by}: {concern.what}")
    # Under another key: the agent has not been told of the rejection yet, and gets a turn to act on it.
    what = f"rejected {by} ({last[0].why}): {concern.what}"
    return replace(concern, key=f"{concern.key}-rejected", what=what, mendable=True)


def make_finding(concerns: Sequence[Concern]) -> tuple[Finding, ...]:
    """Return the concerns as a finding next to those of the checks; nothing without concerns."""
    if not concerns:
        return ()
    reviews = [concern for concern in concerns if concern.level == "review"]
    problems = tuple(
        Problem(
            c.what, c.paths[0] if c.paths else "", rule=c.rule, severity="error" if c.level == "review" else "warning"
        )
        for c in sorted(concerns, key=lambda concern: concern.level != "review")
    )
    summary = f"{len(problems)} to know"
    if reviews:
        rules = ", ".join(dict.fromkeys(concern.rule for concern in reviews))
        summary = f"a person has to look at {rules}: {reviews[0].what}"
    names = tuple(fingerprint("integrity", c.rule, c.key) for c in reviews)
    made = Finding("integrity", "integrity", "Integrity", "pass", summary, problems=problems, fingerprints=names)
    return (replace(made, status="fail") if reviews else made,)


class Tree(Struct, frozen=True):
    """The tree to prove, how it differs from the base, and what its files are for."""

    git: TrustedGit
    name: str
    rows: Sequence[Changed]
    part: Callable[[str], FilePart]

    def lay_over(self, texts: Mapping[str, str]) -> str:
        """Return the name of the tree with these texts."""
        entries = objects.list_entries(self.git, self.name, texts)
        blobs = {path: objects.write_blob(self.git, text.encode("utf-8", "replace")) for path, text in texts.items()}
        return objects.write_tree_with(
            self.git, self.name, {path: (entries[path].mode, sha) for path, sha in blobs.items()}
        )

    def read_changes(self, *parts: str) -> dict[str, tuple[str, str]]:
        """Return the texts of the files that are there and differ, by path."""
        rows = [row for row in self.rows if row.tree and row.tree.is_file and self.part(row.path) in parts]
        versions = read_versions(self.git, rows).items()
        return {path: (before or "", after or "") for path, (before, after) in versions}
