"""After a run that stopped short: back to its best iteration commit, with everything that came after it saved aside.

The steps, and what a crash between them leaves: the tip and what no commit holds are saved aside (a ref more);
`RolledBack`, durable (a resume carries it out); the branch moves by compare-and-swap (a resume puts the files right).
"""

from collections.abc import Callable, Generator
from typing import Literal

from msgspec import Struct

from aigon.errors import Exit, usage
from aigon.git.workspace import Workspace
from aigon.job.job import Job
from aigon.job.world import Attendant, World
from aigon.journal import best
from aigon.journal.events import Event, IterationFinished, Notice, RolledBack, SavedAside
from aigon.journal.state import State
from aigon.model.outcomes import Outcome, Stopped
from aigon.proof.restore import Watch


class RollbackPolicy(Struct, Attendant):
    """`keep` leaves the branch as it is, `rollback` goes back to the best iteration commit, `ask` asks by `confirm`.

    If no person can be asked, `confirm` says no, and the branch stays as it is.
    """

    wanted: Literal["keep", "rollback", "ask"] = "keep"
    confirm: Callable[[str], bool] = lambda _question: False


def has_stopped_short(outcome: Outcome, state: State) -> bool:
    """Return whether the run got as far as it could and that was not all.

    It did not if the last turn has no assessment yet (a resume makes it), if a person asked for the end (a signal, a
    stop file), if no agent could work or no judge answer (the run goes on from the very same place, and what waits for
    a judge may be better), if a person is to look at what there is, or if there is no room to write (exit 7).
    """
    if not isinstance(outcome, Stopped) or state.iteration > state.finished:
        return False
    return outcome.code in (Exit.STOPPED, Exit.SPENT) and outcome.guard != "stop-file"


def find_better(state: State) -> IterationFinished | None:
    """Return the assessment of a commit (its `checkpoint`) that is better than the last; it may be the baseline."""
    found = state.looks.best
    if found is None or found.number == state.looks.newest[-1].number:
        return None
    return None if best.is_unchanged_since(state.tried.done, found.number) else found


def describe_target(look: IterationFinished, state: State) -> str:
    """Return `iteration 2 (3 of 4 passed, 1a2b3c4d5e6f)`."""
    return f"{best.name_assessment(look)} ({best.describe_progress(look, state.base)}, {look.checkpoint[:12]})"


def roll_back_if_wanted(job: Job, world: World, outcome: Outcome, state: State) -> Generator[Event, State, State]:
    """Go back if the run stopped short, a person wants it, and there is something better to go back to."""
    target, policy = find_better(state) if has_stopped_short(outcome, state) else None, world.get(RollbackPolicy)
    if target is None or policy.wanted == "keep":
        return state
    workspace, number = world.workspace, state.last_number
    tip = workspace.tip()
    if tip is None or not workspace.is_ancestor(target.checkpoint, tip):
        return state  # somebody rewrote the branch just now: that is for the next resume to say
    reason = best.explain_better(target, state.looks.newest[-1], state.base)
    there = describe_target(target, state)
    question = f"The best iteration commit is {there}: {reason}. Go back to it? What came after it is saved aside."
    if policy.wanted == "ask" and not policy.confirm(question):
        text = f"the branch stays as it is since no person confirmed; its best iteration commit is {there}"
        return (yield Notice(world.now(), text))
    what = f"what came after {best.name_assessment(target)}"
    commit = _commit_all(workspace, tip, f"aigon: parked {what}\n")
    ref = workspace.keep(f"feature-{job.feature.name_for_people}/{world.run_id}-{number}-after-best", commit)
    yield SavedAside(world.now(), number, ref, commit, what)
    why = f"{best.describe_progress(target, state.base)} there; {reason}"
    event = RolledBack(world.now(), target.number, target.checkpoint, tip, ref, why)
    state = yield event
    notices = _move_branch(workspace, event, tip)
    if watch := world.find(Watch):
        watch.own_refs_moved()
    contents = {path: workspace.file_at(target.checkpoint, path, workspace.root) for path in world.own_files}
    world.own_files.update(contents)
    for notice in notices:
        state = yield notice
    return state


def _commit_all(workspace: Workspace, tip: str, message: str) -> str:
    """Return a commit with all that the branch and the work tree hold: the tip itself if that is all."""
    workspace.snapshot()
    return workspace.commit_tree(workspace.tree(), tip, message) if workspace.changes(tip) else tip


def _move_branch(workspace: Workspace, event: RolledBack, tip: str) -> list[Event]:
    """Move the branch, then the files; return what stood in the way. The index holds the snapshot that was saved."""
    if tip != event.commit:
        workspace.publish(event.commit, tip)
    return restore_work_tree(workspace, event.commit, World.now())


def undo_to(workspace: Workspace, state: State, feature: str, to: str) -> list[Event]:
    """Save aside what came after an iteration commit; return the events after which a resume moves the branch.

    `to` is `best`, or `last-iteration`: the commit before it. Raises AigonError (exit 2) if there is nothing to go
    back from, or if a person has committed since.
    """
    looks, tip, to_best = state.looks.newest, str(workspace.tip()), to == "best"
    before = looks[-1:] if state.turn_ended else looks[-2:-1]
    target = find_better(state) if to_best else before[0] if before else None
    is_unassessed = state.turn_ended and not to_best
    if target is None or state.started is None or not (is_unassessed or tip == state.checkpoint):
        why = "This run has finished no iteration since it began, or since a commit of a person's"
        if to_best:
            why = "The branch is at its best iteration commit already"
        if target:
            why = "A person has committed since the last iteration"
        raise usage(f"There is nothing to roll back. {why}", where=f"--resume-from {to}", hint="Leave it out")
    number = state.iteration if state.turn_ended else state.last_number
    if to_best:
        what, name = f"what came after {best.name_assessment(target)}", "after-best"
        why = best.describe_progress(target, state.base)
    else:
        what, name, why = f"iteration {number}, which is repeated", "repeated", f"iteration {number} is repeated"
    commit = _commit_all(workspace, tip, f"aigon: parked {what}\n")
    ref = workspace.keep(f"feature-{feature}/{state.started.run_id}-{number}-{name}", commit)
    back = RolledBack(World.now(), target.number, target.checkpoint, tip, ref, why)
    return [SavedAside(World.now(), number, ref, commit, what), back]


def finish_going_back(workspace: Workspace, state: State, feature: str) -> list[Event]:
    """Carry out the way back that was intended when the run broke off, unless the branch has been moved since.

    `feature` is the ID that names what is saved aside. Return the events that tell of it.
    """
    event, tip = state.going_back, workspace.tip()
    if event is None or state.started is None or tip not in (event.commit, event.from_commit):
        return []
    events: list[Event] = []
    workspace.snapshot()
    code, kept = workspace.trusted.refs("rev-parse", "--verify", "-q", f"{event.ref}^{{commit}}")
    # What is neither state of the work tree: files that are half back, or a person's.
    if workspace.changes(event.commit) and (code or workspace.changes(kept)):
        message = "aigon: parked what was there when the branch went back\n"
        commit = workspace.commit_tree(workspace.tree(), event.from_commit, message)
        ref = workspace.keep(f"feature-{feature}/{state.started.run_id}-{state.undone}-going-back", commit)
        events += [SavedAside(World.now(), state.undone, ref, commit, "what was there when the branch went back")]
    events += _move_branch(workspace, event, tip)
    to = f"iteration {event.number}" if event.number else "where the run began"
    return [
        *events,
        Notice(World.now(), f"the branch is back at {to}; what came after it is saved aside as {event.ref}"),
    ]


def restore_work_tree(workspace: Workspace, tip: str, now: str) -> list[Event]:
    """Make the work tree equal to the commit `tip`; of what stood in the way and is in no commit, say where it is."""
    notices: list[Event] = []
    for place in workspace.restore(tip):
        short = place.relative_to(workspace.root) if place.is_relative_to(workspace.root) else place
        what = "was in the way of a file of the branch and in no commit; it is now"
        notices.append(Notice(now, f"{place.name.partition('-')[2]} {what} {short}", "warning"))
    return notices
