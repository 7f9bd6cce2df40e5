"""Take up a run where it stopped: the journal says what was intended, the ref says whether it happened."""

import difflib
import hashlib
from pathlib import Path

from aigon.config.loading import open_work_tree
from aigon.errors import AigonError, Exit, environment
from aigon.git.locks import GitLocks
from aigon.git.person import Checkout
from aigon.git.workspace import Workspace
from aigon.job.world import World
from aigon.journal.events import Event, IterationFinished, Notice, Parked
from aigon.journal.records import Records
from aigon.journal.state import State
from aigon.model.criteria import Spec
from aigon.run.lost_objects import broken
from aigon.run.opening import Confirm
from aigon.run.rolling_back import restored
from aigon.spec import files as specs
from aigon.spec.document import tick
from aigon.spec.features import Feature


def require_branch(checkout: Checkout, state: State) -> None:
    """Raise AigonError (exit 7), before anything is touched, for a branch that was rewritten or deleted meanwhile."""
    assert state.started is not None
    branch, last = state.started.branch, state.checkpoint
    tip = checkout.commit_of(f"refs/heads/{branch}")
    if tip is None:
        hint = f"git branch {branch} {last}   # brings it back; then run again with --resume"
        deleted = environment(f"The branch {branch} was deleted", where=branch, hint=hint)
        raise broken(checkout, branch, last) or deleted
    if checkout.commit_of(last) is None:
        hint = "Start a new run from here with --loop; the old journal is kept"
        raise environment("The last checkpoint of this run is not there any more", where=last[:12], hint=hint)
    if tip != last and not checkout.is_ancestor(last, tip):
        hint = (
            f"git reset --keep {last[:12]}   # goes back to aigon's last checkpoint; --loop starts a new run from here"
        )
        raise environment(f"The branch {branch} was rewritten since the run stopped", where=tip[:12], hint=hint)


def remove_own_lock(git_dir: Path, own: Path) -> None:
    """Remove a lock on the checkout's index that this program left when it was killed; no other is touched.

    It holds aigon's private index, whole: nobody else's does.
    """
    lock, index = git_dir / "index.lock", own / "index"
    if lock.exists() and index.exists() and lock.read_bytes() == index.read_bytes():
        lock.unlink()


def move_stale_locks(checkout: Checkout, records: Records) -> list[Event]:
    """Move aside the locks that git commands left in a turn that was killed with aigon; what was done, as events.

    Such a lock is younger than the note that aigon wrote right before that turn, and no process holds it.
    """
    try:
        since = records.before_turn.stat().st_mtime_ns
    except FileNotFoundError:
        return []
    locks = GitLocks(checkout.root, checkout.git_dir, checkout.common_dir, checkout.git_dir / "aigon" / "displaced")
    return [Notice(World.now(), text, "warning") for text in locks.move_stale(since)]


def published(workspace: Workspace, state: State) -> IterationFinished | None:
    """The iteration that was committed just before the run broke off, if there is one.

    The commit is found by the ref's value, never by a lock; the checkout's index is made to agree with it.
    """
    intended, tip = state.intended, workspace.tip()
    if intended is None or tip is None or not workspace.is_ancestor(intended.commit, tip):
        return None
    if tip == intended.commit and workspace.trusted.attempt("diff-index", "--cached", "--quiet", tip)[0]:
        workspace.trusted.run("read-tree", "--reset", tip)
        workspace.trusted.attempt("update-index", "-q", "--refresh")
        workspace.hand_over_index()
    return intended.finished


def roll_back(workspace: Workspace, feature: Feature, state: State, tip: str, now: str, *, keep: bool) -> list[Event]:
    """Park what a broken-off turn left, and unless `keep` put the work tree back to `tip`; what was done, as events."""
    assert state.started is not None
    number = state.iteration
    workspace.snapshot()
    if not workspace.changes(tip):
        return restored(workspace, tip, now) if not keep and workspace.obstacles(tip) else []
    commit = workspace.commit_tree(workspace.tree(), tip, f"aigon: parked what iteration {number} had begun\n")
    ref = workspace.keep(f"feature-{feature.name_for_people}/{state.started.run_id}-{number}-begun", commit)
    parked = Parked(now, number, ref, commit, f"what iteration {number} had begun")
    if keep:
        return [parked, Notice(now, f"the half-finished work of iteration {number} stays in the work tree")]
    return [
        parked,
        *restored(workspace, tip, now),
        Notice(now, f"iteration {number} was interrupted: its work is parked as {ref}, and the turn runs again"),
    ]


def spec_of(workspace: Workspace, path: str, state: State, tip: str) -> Spec:
    """The spec as people left it: the work tree's, unless an agent's turn may have been the last to write there.

    A run that ended by itself has put back what the agent made of the spec; one that was killed has not. Raises
    AigonError (exit 2) for a spec without criteria.
    """
    killed = state.outcome is None and state.iteration > state.finished
    files = open_work_tree(workspace.root)
    raw = workspace.file_at(tip, path, workspace.root) if killed else files(path)
    return specs.parsed(raw if raw is not None else files(path) or b"", path)


def left_by_checks(state: State) -> tuple[str, ...]:
    """What the git check of the last look named as written by the checks: nobody's changes."""
    findings = state.last.findings if state.last else ()
    return tuple(p.file for f in findings if f.role == "git" for p in f.problems if p.severity == "warning")


def spec_name(spec: Spec) -> str:
    """A name for a spec's text, whatever is ticked: aigon's own ticks do not change it."""
    return hashlib.sha256(tick(spec, {c.number: False for c in spec.criteria})).hexdigest()


def accept_spec(before: bytes, spec: Spec, path: str, accepted: bool, confirm: Confirm) -> None:
    """Show what a person changed in the spec since the run stopped. Raises AigonError (exit 4) unless accepted."""
    old, new = (text.decode(errors="replace").splitlines() for text in (before, spec.raw))
    diff = "\n".join(difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", lineterm=""))
    if accepted or confirm(f"{diff}\n\nThe spec changed since the run stopped. Go on with the new one?"):
        return
    raise AigonError(
        "The spec changed since the run stopped",
        where=path,
        hint=f"Run again with --accept-spec to take it as it is now:\n{diff}",
        code=Exit.NEEDS_HUMAN,
    )
