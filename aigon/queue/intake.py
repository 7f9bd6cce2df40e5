"""Make a feature of a task file: an ID, a branch with its spec, and a record. No checkout of a person is touched."""

from collections.abc import Callable
from pathlib import Path, PurePosixPath

from msgspec.structs import replace

from aigon.files.home import ensure_home
from aigon.git import objects
from aigon.git.person import Checkout
from aigon.job import bookkeeping
from aigon.job.bookkeeping import Committing
from aigon.job.seat import hold_set_up_lock
from aigon.job.spec_locations import choose_next_id
from aigon.journal.queue import QueueEntry, append_entry
from aigon.journal.records import Origin, candidate_records, find_candidates
from aigon.model.candidates import Candidate, RequestedAgent
from aigon.queue.folders import TaskFile
from aigon.spec import files
from aigon.spec.features import ROOT, Feature, parse_feature_path, slugify
from aigon.worktrees.setup import create_candidate

Say = Callable[[str], None]


def take_up(
    main: Checkout, task: TaskFile, content: bytes, agent: RequestedAgent, begun: QueueEntry, say: Say
) -> Candidate:
    """Return the candidate that builds a task: the one of before, or a new one. `begun` is the step to record.

    The spec is copied to the feature's branch; the task file stays where it is.
    """
    home = ensure_home(main.common_dir)
    with hold_set_up_lock(home, say):
        known = find_candidates(home, begun.feature) if begun.feature else ()
        feature = _choose_feature(main, task, begun)
        label = known[0].label if known else agent.label
        append_entry(home, replace(begun, feature=feature.id, slug=feature.slug, label=label))
        if known:
            return known[0]
        candidate = create_candidate(agent, feature, "worktree", home, [])
        records = candidate_records(home, candidate)
        ref = f"refs/heads/{candidate.branch}"
        commit = main.commit_of(ref)  # a killed watcher may have come so far
        if commit is None:
            commit = _commit_spec(main, task, content, feature)
            main.git("update-ref", ref, commit, "")
        records.set_origin(Origin(main.branch or "", commit))
        records.set_candidate(candidate)
        return candidate


def _choose_feature(main: Checkout, task: TaskFile, begun: QueueEntry) -> Feature:
    if begun.feature:
        return Feature(begun.feature, begun.slug, task.path, "in-progress")
    named = parse_feature_path(task.path)
    slug = named.slug if named else slugify(PurePosixPath(task.path).stem)
    id = named.id if named and task.path.startswith(f"{ROOT}/") else ""
    return Feature(id or choose_next_id(main.root, main.common_dir), slug, task.path, "in-progress")


def _commit_spec(main: Checkout, task: TaskFile, content: bytes, feature: Feature) -> str:
    """Return a commit on HEAD that has the spec in progress; a spec of the backlog is moved."""
    git = bookkeeping.open_own_git(main)
    changes: dict[str, tuple[str, str] | None] = {task.path: None} if task.path.startswith(f"{ROOT}/") else {}
    changes[feature.at("in-progress")] = ("100644", objects.write_blob(git, content))
    tree = objects.write_tree_with(git, str(main.head), changes)
    message = f"docs(feature-{feature.id}): take up {PurePosixPath(task.path).name}\n"
    return git.run("commit-tree", tree, "-p", str(main.head), "-F", "-", stdin=message.encode()).decode().strip()


def update_spec(candidate: Candidate, content: bytes, say: Say) -> None:
    """Commit what a person made of the task file since as the spec in the candidate's worktree."""
    with Checkout.open(Path(candidate.path)) as checkout:
        feature = files.locate_feature(checkout.root, candidate.feature)
        (checkout.root / feature.path).write_bytes(content)
        message = f"docs(feature-{candidate.feature}): update the spec"
        if checkout.list_changed():
            bookkeeping.commit_as_asked(checkout, [feature.path], message, Committing(say, verify=False))
