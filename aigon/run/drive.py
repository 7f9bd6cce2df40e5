"""Carry the events of a loop to the sinks: durable ones may stop the run, observers may not."""

import contextlib
import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from aigon.core.errors import AigonError, environment
from aigon.core.events import Event, RunFinished
from aigon.core.outcome import Refused
from aigon.core.state import State
from aigon.run.loop import Loop
from aigon.run.world import World


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
    """Where events go. `deliver` returns the state after an event once every record has it."""

    records: Sequence[Durable]
    observers: Sequence[Observer]

    def deliver(self, event: Event, state: State) -> State:
        """Record, then show. Raises AigonError (exit 7) when a record cannot be written."""
        after = state.apply(event)
        for record in self.records:
            try:
                record(event, after)
            except OSError as error:
                raise _no_further("The record of the run cannot be written", error) from error
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
    except Exception:
        logging.getLogger("aigon").exception("an observer failed; the run goes on")


def _no_further(what: str, error: OSError) -> AigonError:
    return environment(
        f"{what}: {error.strerror or error}",
        where=str(error.filename or ""),
        hint="Make room or mend the disk, then run again with --resume",
    )


def drive(loop: Loop, state: State, recorder: Recorder) -> RunFinished:
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
        refusal = _no_further("The run cannot go on", error)
        _note(refusal, state, recorder)
        raise refusal from error


def _note(error: AigonError, state: State, recorder: Recorder) -> None:
    """Write down that the run was refused; a record that cannot be written is what may have refused it."""
    end = RunFinished(World.now(), Refused(str(error)), "refused", int(error.code), str(error), "")
    for record in recorder.records:
        with contextlib.suppress(OSError):
            record(end, state.apply(end))
    recorder.show(end)
