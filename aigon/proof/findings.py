"""What the tree holds beyond the base, read as text for the integrity rules. Only when everything else is proven."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from aigon.git import objects
from aigon.git.objects import TreeEntry
from aigon.git.trusted import TrustedGit
from aigon.job.assessment import Snapshot
from aigon.job.job import Job
from aigon.job.world import TurnNotes, World
from aigon.journal.decisions import HumanDecision
from aigon.model.changes import Concern, ConcernLevel, Edit, Edits, hash_change
from aigon.model.checks import Finding, Problem
from aigon.profiles.protection import Protection
from aigon.proof import protected_keys
from aigon.proof import restore as guards
from aigon.proof.frozen import Frozen, ProtectedFiles
from aigon.proof.integrity import concerns
from aigon.text.fingerprints import fingerprint

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


EMPTY = (
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)
"""The names of the empty blob, by SHA-1 and SHA-256."""


def found(job: Job, world: World, rows: tuple[Changed, ...]) -> tuple[Concern, ...]:
    """What the rules say of the whole change from the base; what a person approved of is only noted."""
    text = edits(
        world.workspace.trusted, rows, job.protection, job.base_commit, tuple(world.get(TurnNotes).commit_messages)
    )
    own = (*_unreadable(text, rows), *_by_path(world, job.protection, rows), *unread(rows, job.protection))
    return settled((*concerns(text), *own), job.decisions)


def _unreadable(text: Edits, rows: Iterable[Changed]) -> Iterable[Concern]:
    """Code that is no text, or too large to be read, is for a person to look at."""
    shas = {row.path: row.tree.sha for row in rows if row.tree}
    for edit in text.files:
        if edit.part == "product" and edit.after == "" and edit.path in shas and shas[edit.path] not in EMPTY:
            what = f"{edit.path} is no text that the rules can read, and it is not where the project keeps its data"
            yield Concern("unread", "review", what, (edit.path,), hash_change([edit.path, shas[edit.path]]))


def _by_path(world: World, protection: Protection, rows: Sequence[Changed]) -> Iterable[Concern]:
    """Files that a rule on paths alone is about: notes, and reviews that no second run can settle."""
    ruled = [(row, rule) for row in rows for rule in protection.rules_of(row.path) if not rule.relaid]
    shas = [entry.sha for row, rule in ruled if rule.keys for entry in (row.base, row.tree) if entry]
    texts = objects.read_blobs(world.workspace.trusted, shas)
    for row, rule in ruled:
        put_back = rule.level == "restore" and (
            row.path in world.get(ProtectedFiles).files or row.path.startswith(f"{guards.OWN}/")
        )
        if put_back or (rule.keys and protected_keys.have_equal_keys(*_both(row, texts), row.path, rule.keys)):
            continue
        level: ConcernLevel = "note" if rule.level == "note" else "review"
        key = hash_change([row.path, row.tree.sha if row.tree else "", *rule.keys])
        yield Concern("protected", level, f"{row.path} was changed ({rule.source})", (row.path,), key)


def _both(row: Changed, texts: Mapping[str, bytes]) -> tuple[str | None, str | None]:
    before, after = (texts[e.sha].decode("utf-8", "replace") if e else None for e in (row.base, row.tree))
    return before, after


def settled(found: Iterable[Concern], decisions: Sequence[HumanDecision]) -> tuple[Concern, ...]:
    """The concerns, a note instead of a review where a person approved of that very change."""
    return tuple(_decided(concern, decisions) for concern in found)


def _decided(concern: Concern, decisions: Sequence[HumanDecision]) -> Concern:
    last = [d for d in decisions if (d.criterion, d.text, d.content) == (0, concern.rule, concern.key)][-1:]
    if concern.level != "review" or not last:
        return concern
    by = f"by {last[0].who} on {last[0].at[:10]}"
    if last[0].decision == "approve":
        return replace(concern, level="note", what=f"{concern.what} (approved {by})")
    # Under another key: the agent has not been told of the rejection yet, and gets a turn to act on it.
    return replace(concern, key=f"{concern.key}-rejected", what=f"{concern.what} (rejected {by}: {last[0].why})")


def finding(concerns: Sequence[Concern]) -> tuple[Finding, ...]:
    """The concerns as a finding beside those of the checks; none where there is nothing to say."""
    if not concerns:
        return ()
    reviews = [concern for concern in concerns if concern.level == "review"]
    problems = tuple(_problem(concern) for concern in (*reviews, *(c for c in concerns if c.level != "review")))
    names = tuple(fingerprint("integrity", c.rule, c.key) for c in reviews)
    summary = _review(reviews) if reviews else f"{len(problems)} to know"
    made = Finding("integrity", "integrity", "Integrity", "pass", summary, problems=problems, fingerprints=names)
    return (replace(made, status="fail") if reviews else made,)


def _review(reviews: Sequence[Concern]) -> str:
    rules = ", ".join(dict.fromkeys(concern.rule for concern in reviews))
    return f"a person has to look at {rules}: {reviews[0].what}"


def _problem(concern: Concern) -> Problem:
    place = concern.paths[0] if concern.paths else ""
    problem = Problem(concern.what, place, rule=concern.rule)
    return problem if concern.level == "review" else replace(problem, severity="warning")
