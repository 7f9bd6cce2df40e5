"""Take up a run where it stopped: the journal says what was intended, the ref says whether it happened."""

import difflib
import hashlib
from collections.abc import Callable

from aigon.core.errors import AigonError, Exit, environment
from aigon.core.events import Event, IterationFinished, Notice, Parked
from aigon.core.model import Spec
from aigon.core.spec import tick
from aigon.core.state import State
from aigon.ports.workspace import Workspace

Confirm = Callable[[str], bool]
"""Asks a person; False where nobody can be asked."""


def published(workspace: Workspace, state: State) -> IterationFinished | None:
    """The iteration that was committed just before the run broke off, if there is one.

    The commit is found by the ref's value, never by a lock; the checkout's index is made to agree with it.
    """
    intended, tip = state.intended, workspace.tip()
    if intended is None or tip is None or not workspace.is_ancestor(intended.commit, tip):
        return None
    workspace.remove_own_lock()
    if tip == intended.commit:
        workspace.hand_over_index()
    return intended.finished


def start_commit(workspace: Workspace, state: State) -> str:
    """The commit to go on from: the last checkpoint, or a person's commit on top of it.

    Raises AigonError (exit 7) for a branch that was rewritten or deleted meanwhile.
    """
    tip, branch, last = workspace.tip(), workspace.branch, state.checkpoint
    if tip is None:
        hint = f"git branch {branch} {last}   brings it back; then run again with --resume"
        raise environment(f"The branch {branch} was deleted", where=branch, hint=hint)
    if tip != last and not workspace.is_ancestor(last, tip):
        hint = f"git reset --keep {last[:12]}   goes back to aigon's last checkpoint; --loop starts a new run from here"
        raise environment(f"The branch {branch} was rewritten since the run stopped", where=tip[:12], hint=hint)
    return tip


def roll_back(workspace: Workspace, name: str, tip: str, number: int, now: str, *, keep: bool) -> list[Event]:
    """Park what a broken-off turn left, and unless `keep` put the work tree back to `tip`; what was done, as events."""
    workspace.snapshot()
    if not workspace.changes(tip):
        return []
    commit = workspace.commit_tree(workspace.tree(), tip, f"aigon: parked what iteration {number} had begun\n")
    ref = workspace.keep(f"{name}-begun", commit)
    parked = Parked(now, number, ref, commit, f"what iteration {number} had begun")
    if keep:
        return [parked, Notice(now, f"the half-finished work of iteration {number} stays in the work tree")]
    workspace.restore(tip)
    return [
        parked,
        Notice(now, f"iteration {number} was not finished: its work is kept as {ref}, the turn is repeated"),
    ]


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
