"""After a run that stopped short: back to its best iteration commit, with everything that came after it saved aside.

The steps, and what a crash between them leaves: the tip and what no commit holds are saved aside (a ref more);
`RolledBack`, durable (a resume carries it out); the branch moves by compare-and-swap (a resume puts the files right).
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from aigon.errors import Exit, usage
from aigon.git.workspace import Workspace
from aigon.job.job import Job
from aigon.job.world import Attendant, World
from aigon.journal import best
from aigon.journal.events import Event, IterationFinished, Notice, RolledBack, SavedAside
from aigon.journal.state import State
from aigon.model.outcomes import Outcome, Stopped
from aigon.proof.watch import Watch


def _nobody(_question: str) -> bool:
    return False


@dataclass(slots=True)
class RollbackPolicy(Attendant):
    """`keep` leaves the branch as it is, `rollback` goes back to the best iteration commit, `ask` asks by `confirm`.

    If nobody can be asked, `confirm` says no, and the branch stays as it is.
    """

    wanted: Literal["keep", "rollback", "ask"] = "keep"
    confirm: Callable[[str], bool] = _nobody


def has_stopped_short(outcome: Outcome, state: State) -> bool:
    """Whether the run got as far as it could and that was not all.

    Not where the last turn has not been judged: a resume does that. Not where a person asked for the end (a signal, a
    stop file) or where nobody could work or judge: that goes on from the very same place, and what waits for a judge is
    not known to be worse. Not either where a person is to look at what there is, or where there is no room to write
    (exit 7).
    """
    if not isinstance(outcome, Stopped) or state.iteration > state.finished:
        return False
    return outcome.code in (Exit.STOPPED, Exit.SPENT) and outcome.guard != "stop-file"


def roll_back_if_wanted(job: Job, world: World, outcome: Outcome, state: State) -> Generator[Event, State, State]:
    """Go back, where the run stopped short, that is wanted, and there is something better to go back to."""
    target, policy = find_better(state) if has_stopped_short(outcome, state) else None, world.get(RollbackPolicy)
    if target is None or policy.wanted == "keep":
        return state
    tip = world.workspace.tip()
    if tip is None or not world.workspace.is_ancestor(target.checkpoint, tip):
        return state  # somebody rewrote the branch just now: that is for the next resume to say
    if policy.wanted == "ask" and not policy.confirm(_question(target, state)):
        there = describe_target(target, state)
        text = f"the branch stays as it is because nobody said yes; its best checkpoint is {there}"
        return (yield Notice(world.now(), text))
    return (yield from _back(job, world, state, target, tip))


def find_better(state: State) -> IterationFinished | None:
    """The look at the commit that is better than the last one, which may be where the run began; None where none is.

    Its `checkpoint` is that commit.
    """
    looks = list(state.looks.values())
    if len(looks) < 2:
        return None
    found = best.find_best(looks, state.base) or looks[0]
    unchanged = best.is_unchanged_since(state.tried.done, found.number)
    return None if unchanged or found.number == looks[-1].number else found


def describe_target(look: IterationFinished, state: State) -> str:
    """`iteration 2 (3 of 4 passed, 1a2b3c4d5e6f)`."""
    return f"{best.name_assessment(look)} ({best.describe_progress(look, state.base)}, {look.checkpoint[:12]})"


def _question(target: IterationFinished, state: State) -> str:
    return (
        f"The best checkpoint is {describe_target(target, state)}: {_why(target, state)}. Go back to it? "
        "What came after it is parked."
    )


def _why(target: IterationFinished, state: State) -> str:
    return best.explain_better(target, list(state.looks.values())[-1], state.base)


def _back(job: Job, world: World, state: State, target: IterationFinished, tip: str) -> Generator[Event, State, State]:
    workspace, number = world.workspace, state.last_number
    commit = _whole(workspace, tip, f"aigon: parked what came after {best.name_assessment(target)}\n")
    ref = workspace.keep(f"feature-{job.feature.name_for_people}/{world.run_id}-{number}-after-best", commit)
    yield SavedAside(world.now(), number, ref, commit, f"what came after {best.name_assessment(target)}")
    why = f"{best.describe_progress(target, state.base)} there; {_why(target, state)}"
    event = RolledBack(world.now(), target.number, target.checkpoint, tip, ref, why)
    state = yield event
    moved = _carried_out(workspace, event, tip)
    if watch := world.find(Watch):
        watch.own_refs_moved()
    root = workspace.root
    world.own_files.update({path: workspace.file_at(target.checkpoint, path, root) for path in world.own_files})
    for notice in moved:
        state = yield notice
    return state


def _whole(workspace: Workspace, tip: str, message: str) -> str:
    """A commit with all that the branch and the work tree hold: the tip itself, where nothing is beyond it."""
    workspace.snapshot()
    return workspace.commit_tree(workspace.tree(), tip, message) if workspace.changes(tip) else tip


def _carried_out(workspace: Workspace, event: RolledBack, tip: str) -> list[Event]:
    """Move the branch, then the files; return what stood in the way. The index holds the snapshot that was saved."""
    if tip != event.commit:
        workspace.publish(event.commit, tip)
    return restore_work_tree(workspace, event.commit, World.now())


def undo_to(workspace: Workspace, state: State, feature: str, to: str) -> list[Event]:
    """Save aside what came after an iteration commit; return the events after which `caught_up` moves the branch.

    `to` is `best`, or `last-iteration`: the commit before it. Raises AigonError (exit 2) if there is nothing to go
    back from, or if a person has committed since.
    """
    looks, tip = list(state.looks.values()), str(workspace.tip())
    before = looks[-1:] if state.turn_ended else looks[-2:-1]
    target = find_better(state) if to == "best" else before[0] if before else None
    judged = state.turn_ended and to != "best"
    if target is None or state.started is None or not (judged or tip == state.checkpoint):
        nothing = {
            "best": "The branch is at its best checkpoint already",
            "last-iteration": "This run has finished no iteration since it began, or since a commit of a person's",
        }
        why = "A person has committed since the last iteration" if target else nothing[to]
        raise usage(f"There is nothing to go back from. {why}", where=f"--resume-from {to}", hint="Leave it out")
    number = state.iteration if state.turn_ended else state.last_number
    what = (
        f"what came after {best.name_assessment(target)}" if to == "best" else f"iteration {number}, which is repeated"
    )
    name = "after-best" if to == "best" else "repeated"
    commit = _whole(workspace, tip, f"aigon: parked {what}\n")
    ref = workspace.keep(f"feature-{feature}/{state.started.run_id}-{number}-{name}", commit)
    why = best.describe_progress(target, state.base) if to == "best" else f"iteration {number} is repeated"
    back = RolledBack(World.now(), target.number, target.checkpoint, tip, ref, why)
    return [SavedAside(World.now(), number, ref, commit, what), back]


def finish_going_back(workspace: Workspace, state: State, feature: str) -> list[Event]:
    """Carry out what a run was about when it broke off, unless the branch has been moved elsewhere since.

    `feature` is the ID that names what is saved aside, with everything since. The events say so.
    """
    event, tip = state.going_back, workspace.tip()
    if event is None or state.started is None or tip not in (event.commit, event.from_commit):
        return []
    events = _list_saved_since(workspace, event, state, feature)
    events += _carried_out(workspace, event, tip)
    to = f"iteration {event.number}" if event.number else "where the run began"
    return [*events, Notice(World.now(), f"the branch is back at {to}; what came after it is parked as {event.ref}")]


def _list_saved_since(workspace: Workspace, event: RolledBack, state: State, feature: str) -> list[Event]:
    """What is in the work tree and is neither the one state nor the other: files that are half back, a person's."""
    assert state.started is not None
    workspace.snapshot()
    code, kept = workspace.trusted.refs("rev-parse", "--verify", "-q", f"{event.ref}^{{commit}}")
    if not workspace.changes(event.commit) or (code == 0 and not workspace.changes(kept)):
        return []
    message = "aigon: parked what was there when the branch went back\n"
    commit = workspace.commit_tree(workspace.tree(), event.from_commit, message)
    ref = workspace.keep(f"feature-{feature}/{state.started.run_id}-{state.undone}-going-back", commit)
    return [SavedAside(World.now(), state.undone, ref, commit, "what was there when the branch went back")]


def restore_work_tree(workspace: Workspace, tip: str, now: str) -> list[Event]:
    """Make the work tree equal to the commit `tip`; of what stood in the way and is in no commit, where it is now."""
    moved = [(place.name.partition("-")[2], place) for place in workspace.restore(tip)]
    what = "stood in the way of a file of the branch, and no commit holds it; it is now"
    return [Notice(now, f"{name} {what} {_short(place, workspace.root)}", "warning") for name, place in moved]


def _short(place: Path, root: Path) -> str:
    return str(place.relative_to(root) if place.is_relative_to(root) else place)
