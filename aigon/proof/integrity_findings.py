"""Integrity findings: what a person may have to look at before a run may end as proven."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from aigon.git import objects
from aigon.job.job import Job
from aigon.job.world import World
from aigon.journal.decisions import HumanDecision
from aigon.model.changes import Concern, ConcernLevel, Edits, hash_change
from aigon.model.checks import Finding, Problem
from aigon.profiles.protection import Protection
from aigon.proof import keyed
from aigon.proof import put_back as guards
from aigon.proof.edits import Changed, edits, unread
from aigon.proof.integrity import concerns
from aigon.text.fingerprints import fingerprint

EMPTY = (
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)
"""The names of the empty blob, by SHA-1 and SHA-256."""


def found(job: Job, world: World, rows: tuple[Changed, ...]) -> tuple[Concern, ...]:
    """What the rules say of the whole change from the base; what a person approved of is only noted."""
    text = edits(world.workspace.trusted, rows, job.protection, job.base_commit, tuple(world.messages))
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
        put_back = rule.level == "restore" and (row.path in world.guarded or row.path.startswith(f"{guards.OWN}/"))
        if put_back or (rule.keys and keyed.same(*_both(row, texts), row.path, rule.keys)):
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
