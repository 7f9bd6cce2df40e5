"""Programs of the project that are told of the moments of a run. The loop knows nothing of them.

A loop yields events and takes states; this wraps one in another that looks at the events as they pass by, runs what is
to be run, and adds an event of its own for each. What it does between two events happens while nothing else runs.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from time import monotonic

from aigon.errors import AigonError, Exit
from aigon.hooks.list import Hook
from aigon.hooks.run import CONTEXT, Stage, changed_of, ran, told
from aigon.job.world import World
from aigon.journal.events import (
    CheckpointIntended,
    Event,
    HookRan,
    IterationFinished,
    IterationStarted,
    Notice,
    RunFinished,
    TurnEnded,
)
from aigon.journal.state import State
from aigon.loop.loop import Loop
from aigon.model.outcomes import Refused

LAST = ("needs_human", "after_loop")
"""Points that come at any end of a run, one that was asked for at once too."""
HURRY = 2.0
"""Seconds for all of these together where somebody waits for the process to be gone: that takes at most 10 s in all."""
Steps = Generator[Event, State, State]


@dataclass(slots=True)
class Passing:
    """What went by: `begun` is the last iteration that has, `looked` says that the look at hand was complete;
    `withheld` that a turn was not let begin; `limit` is when hooks have to be over, in monotonic seconds.
    """

    hooks: Sequence[Hook]
    stage: Stage
    number: int = 0
    begun: int = -1
    looked: bool = False
    withheld: bool = False
    limit: float | None = field(default=None)


def around(loop: Loop, hooks: Sequence[Hook], stage: Stage, state: State, said: Sequence[str] = ()) -> Loop:
    """`loop` with `hooks`; `said` is what people should know about them. Without both it is `loop` itself."""
    number = state.iteration if state.turn_ended else state.finished
    return _around(loop, Passing(hooks, stage, number), state, said) if hooks or said else loop


def _around(loop: Loop, passing: Passing, state: State, said: Sequence[str]) -> Loop:
    try:
        for text in said:
            state = yield Notice(World.now(), text, "warning")
        if state.started:
            state = yield from _tell(passing, ("before_loop", "before_checks"), state.started, state)
        event = next(loop)
        while True:
            state = yield from _before(passing, event, state)
            if not _withheld(passing, event):
                state = yield event
                state = yield from _after(passing, event, state)
            event = loop.send(state)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    except (AigonError, OSError) as error:
        yield from _tell(passing, ("after_loop",), _refused(error), state)
        raise
    finally:
        loop.close()


def _before(passing: Passing, event: Event, state: State) -> Steps:
    """What is to be run before anybody else learns of `event`."""
    match event:
        case IterationStarted():
            passing.number = event.number
            again, passing.begun = event.number == passing.begun, event.number
            points = (*(() if again else ("before_iteration",)), "before_agent", CONTEXT)
            state = yield from _tell(passing, points, event, state)
        case CheckpointIntended():
            passing.looked = True
            state = yield from _tell(passing, ("after_checks",), replace(event.finished, checkpoint=""), state)
        case IterationFinished() if not passing.looked:
            passing.number = event.number
            state = yield from _tell(passing, ("after_checks",), event, state)
        case RunFinished():
            points = LAST if event.status == "needs_human" else LAST[1:]
            state = yield from _tell(passing, points, event, state)
    return state


def _withheld(passing: Passing, event: Event) -> bool:
    """Whether nobody learns of `event`: a turn that a hook did not let begin, and its end, which cost nothing.

    So the record has the run as it was before, and a resume begins the iteration as if for the first time.
    """
    if isinstance(event, IterationStarted):
        passing.withheld = passing.stage.stop.now
        return passing.withheld
    if not isinstance(event, TurnEnded):
        return False
    passing.withheld, withheld = False, passing.withheld
    return withheld and event.turn.end in ("killed", "not_started") and not event.turn.cost


def _after(passing: Passing, event: Event, state: State) -> Steps:
    """What is to be run once `event` is on record. A look follows every turn, and its checks run side by side."""
    match event:
        case TurnEnded():
            state = yield from _tell(passing, ("after_agent", "before_checks"), event, state)
        case IterationFinished():
            passing.looked = False
            if event.number and event.checkpoint:
                state = yield from _tell(passing, ("after_iteration",), event, state)
    return state


def _tell(passing: Passing, points: Sequence[str], event: Event, state: State) -> Steps:
    """Run the hooks of these points, one after the other, until one of them does not let the run go on."""
    stage = passing.stage
    due = [hook for point in points for hook in passing.hooks if hook.point == point]
    for point, hooks in groupby(due, lambda hook: hook.point):
        text = told(stage, point, event)
        for hook in hooks:
            for each in _run(passing, hook, text):
                state = yield each
    return state


def _run(passing: Passing, hook: Hook, text: bytes) -> Iterator[HookRan | Notice]:
    stage, last = passing.stage, hook.point in LAST
    if (hook.trouble and not hook.veto) or (not last and stage.stop.look()):
        return  # what cannot run was said before the first turn
    at_most = _left(passing, hook) if last and stage.stop.look() else None
    if at_most == 0:
        return
    if (changed := changed_of(hook, stage)) and not hook.line:
        listed = ", ".join(changed[:3]) + (f" and {len(changed) - 3} more" if len(changed) > 3 else "")
        said = f"hook {hook.point} runs as it was when the run began: {listed} changed since"
        yield Notice(World.now(), said, "warning")
    done = ran(hook, stage, text, passing.number, at_most)
    refused = hook.veto and done.status != "ok" and not stage.stop.now
    if refused:
        stage.stop.veto(_why(done))
    yield replace(done, veto=refused)


def _left(passing: Passing, hook: Hook) -> float:
    """How long a hook may take after the run was asked to end at once; 0 where there is no time left."""
    if not passing.stage.hurried:
        return hook.timeout
    passing.limit = passing.limit or monotonic() + HURRY
    left = passing.limit - monotonic()
    return left if left > 0.1 else 0


def _why(done: HookRan) -> str:
    words = done.output.strip().splitlines()
    what = "took too long" if done.status == "timed_out" else words[-1] if words else "failed"
    return f"{done.point} ({done.name}) does not let it go on: {what}"


def _refused(error: AigonError | OSError) -> RunFinished:
    """The end of a run that cannot go on, as hooks are told of it; who drives the loop writes it down."""
    code = error.code if isinstance(error, AigonError) else Exit.ENVIRONMENT
    return RunFinished(World.now(), Refused(str(error)), "refused", int(code), str(error), "")
