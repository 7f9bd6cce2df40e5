"""Carry the events of a loop to the sinks: durable ones may stop the run, observers may not."""

import contextlib
import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from aigon.errors import AigonError
from aigon.files.system_errors import explain_os_error
from aigon.job.world import World
from aigon.journal.events import Event, RunFinished
from aigon.journal.state import State
from aigon.loop.issues import list_remaining
from aigon.loop.loop import Loop
from aigon.model.outcomes import Refused
from aigon.secrets.redaction import Redact, redact_value


class Durable(Protocol):
    """A record: what it cannot write down did not happen, so its errors end the run."""

    def __call__(self, event: Event, state: State, /) -> None: ...

    def close(self) -> None: ...


class Observer(Protocol):
    """Somebody who watches: an error here is the watcher's own."""

    def __call__(self, event: Event, /) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Recorder:
    """Where events go. `deliver` returns the state after an event once every record has it.

    All that is written passes here: `redact` takes secrets out of the texts of every event.
    """

    records: Sequence[Durable]
    observers: Sequence[Observer]
    redact: Redact = field(default=lambda text: text)

    def deliver(self, event: Event, state: State) -> State:
        """Record, then show. Raises AigonError (exit 7) when a record cannot be written."""
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

    def show(self, event: Event) -> None:
        """Tell those who watch."""
        for observer in self.observers:
            with _forgiven():
                observer(event)

    def close(self) -> None:
        """Close observers first: the terminal is a person's."""
        for observer in self.observers:
            with _forgiven():
                observer.close()
        for record in self.records:
            record.close()


@contextmanager
def _forgiven() -> Iterator[None]:
    """What goes wrong in here is a watcher's own: it is said, and the run goes on."""
    try:
        yield
    except OSError as error:  # a full disk has been said, or will be, by what has to be written there
        logging.getLogger("aigon").warning("something for people could not be written: %s", error.strerror)
    except Exception:
        logging.getLogger("aigon").exception("an observer failed; the run goes on")


def drive_loop(loop: Loop, state: State, recorder: Recorder) -> RunFinished:
    """Run `loop` to its end, which is its last event. Raises AigonError where it could not go on, after noting that."""
    try:
        event = next(loop)
        while True:
            last, state = event, recorder.deliver(event, state)
            event = loop.send(state)
    except StopIteration:
        assert isinstance(last, RunFinished), "a loop ends with its run_finished"
        return last
    except AigonError as error:
        _note(error, state, recorder)
        raise
    except OSError as error:  # a full disk, a folder that is gone
        refused = explain_os_error("The run cannot go on", error)
        _note(refused, state, recorder)
        raise refused from error


def _note(error: AigonError, state: State, recorder: Recorder) -> None:
    """Write down that the run was refused; a record that cannot be written is what may have refused it."""
    issues = list_remaining(state.last.findings, state.last.verdicts) if state.last else ()
    end = RunFinished(World.now(), Refused(str(error)), "refused", int(error.code), str(error), "", state.done, issues)
    end = redact_value(end, recorder.redact)
    for record in recorder.records:
        with contextlib.suppress(OSError):
            record(end, state.apply(end))
    recorder.show(end)
