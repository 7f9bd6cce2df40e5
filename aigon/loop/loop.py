"""Assess, decide, act, until every criterion is proven or a guard says stop; and carry the events of that to the sinks.

One path serves the baseline, a resume, "already done" and a normal iteration. Each `yield` hands an event
out and gets back the state after it; durable events are on disk by then. Records may stop the run, observers may not.
"""

import contextlib
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Protocol

from msgspec import Struct, field

from aigon.errors import AigonError
from aigon.files.system_errors import explain_os_error
from aigon.job.assessment import Assessment, Snapshot
from aigon.job.job import Job
from aigon.job.world import World
from aigon.journal.events import Event, RunFinished
from aigon.journal.sinks import Observer, log_failures
from aigon.journal.state import State
from aigon.loop.assess import assess
from aigon.loop.decide import decide_within_budget
from aigon.loop.finish import finish
from aigon.loop.issues import list_remaining
from aigon.loop.publish import draft_iteration, publish
from aigon.loop.take import take
from aigon.loop.turn import act
from aigon.model.outcomes import Outcome, Refused
from aigon.proof.prove import prove
from aigon.secrets.redaction import Redact, redact_value

Loop = Generator[Event, State, Outcome]
Assess = Callable[[Job, World, Snapshot, State], Generator[Event, State, Assessment]]
"""Decides what a snapshot is worth."""


def assess_and_prove(job: Job, world: World, snapshot: Snapshot, state: State) -> Generator[Event, State, Assessment]:
    """Run the checks and decide every criterion; if all pass, prove it."""
    assessment = yield from assess(job, world, snapshot, state)
    return (yield from prove(job, world, snapshot, assessment, state))


def run_loop(job: Job, world: World, state: State, assess_tree: Assess = assess_and_prove) -> Loop:
    """Run the job from `state` on to its outcome. Raises AigonError where the world does not let it go on."""
    while True:
        snapshot = yield from take(job, world, state)
        assessment = yield from assess_tree(job, world, snapshot, state)
        draft = draft_iteration(job, world, snapshot, assessment, state)
        outcome = decide_within_budget(job, world, state.apply(draft))
        state = yield from publish(job, world, snapshot, assessment, draft, outcome, state)
        outcome = outcome or decide_within_budget(job, world, state)
        if outcome:
            return (yield from finish(job, world, outcome, state))
        state = yield from act(job, world, state)


class Durable(Protocol):
    """A record. What it cannot write down did not happen, so its errors end the run."""

    def __call__(self, event: Event, state: State, /) -> None: ...

    def close(self) -> None: ...


class Recorder(Struct, frozen=True):
    """Passes events to their sinks. All that is written goes through here: `redact` removes secrets from every text."""

    records: Sequence[Durable]
    observers: Sequence[Observer]
    redact: Redact = field(default=lambda text: text)

    def deliver(self, event: Event, state: State) -> State:
        """Record the event, then show it, and return the state after it. Raises AigonError (exit 7)."""
        event = redact_value(event, self.redact)
        after = state.apply(event)
        for record in self.records:
            try:
                record(event, after)
            except OSError as error:
                raise explain_os_error("The record of the run cannot be written", error) from error
        self.show(event)
        return after

    def deliver_all(self, events: Iterable[Event], state: State) -> State:
        """Deliver several events in order."""
        for event in events:
            state = self.deliver(event, state)
        return state

    def deliver_refusal(self, error: AigonError, state: State) -> None:
        """Record that the run was refused, as far as that is possible: a full disk may be why."""
        issues = list_remaining(state.last.findings, state.last.verdicts) if state.last else ()
        text, code = str(error), int(error.code)
        end = RunFinished(World.now(), Refused(text), "refused", code, text, "", state.done, issues)
        end = redact_value(end, self.redact)
        for record in self.records:
            with contextlib.suppress(OSError):
                record(end, state.apply(end))
        self.show(end)

    def show(self, event: Event) -> None:
        """Show the event to the observers."""
        for observer in self.observers:
            with log_failures():
                observer(event)

    def close(self) -> None:
        """Close observers first: the terminal is a person's."""
        for observer in self.observers:
            with log_failures():
                observer.close()
        for record in self.records:
            record.close()


def drive_loop(loop: Loop, state: State, recorder: Recorder) -> RunFinished:
    """Run `loop` to its end, and return its last event. Raises AigonError, once recorded, if it could not go on."""
    try:
        event = next(loop)
        while True:
            last, state = event, recorder.deliver(event, state)
            event = loop.send(state)
    except StopIteration:
        assert isinstance(last, RunFinished), "a loop ends with its run_finished"
        return last
    except AigonError as error:
        recorder.deliver_refusal(error, state)
        raise
    except OSError as error:  # a full disk, a folder that is gone
        refused = explain_os_error("The run cannot go on", error)
        recorder.deliver_refusal(refused, state)
        raise refused from error
