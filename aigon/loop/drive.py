"""Carry the events of a loop to the sinks: records may stop the run, observers may not."""

import contextlib
from collections.abc import Iterable, Sequence
from typing import Protocol

from msgspec import Struct, field

from aigon.errors import AigonError
from aigon.files.system_errors import explain_os_error
from aigon.job.world import World
from aigon.journal.events import Event, RunFinished
from aigon.journal.sinks import Observer, log_failures
from aigon.journal.state import State
from aigon.loop.issues import list_remaining
from aigon.loop.loop import Loop
from aigon.model.outcomes import Refused
from aigon.secrets.redaction import Redact, redact_value


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
