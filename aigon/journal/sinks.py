"""Sinks of a run's events: the journal, observers in the background, standard output, fail points of tests."""

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Literal, Protocol, TextIO, get_args

from msgspec import Struct, field

from aigon.errors import AigonError, as_document, usage
from aigon.files.checksums import JournalFile
from aigon.files.system_errors import write_line
from aigon.journal.events import DURABLE, Event, RunFinished
from aigon.journal.replay import dump_compact, dumps, to_ndjson
from aigon.journal.state import State
from aigon.model.outcomes import Refused
from aigon.text.patterns import compile_re

VARIABLE = "AIGON_FAILPOINT"
RecordingStage = Literal["before", "between", "after"]
EVENT_NAMES = tuple(event.__struct_defaults__[-1] for event in get_args(Event))
_POINT = compile_re(
    r"(?P<event>[a-z_]+)(?:\.(?P<stage>before|between))?(?:@(?P<nth>[1-9]\d*))?"
    r":(?P<action>kill|stop|raise|sleep)(?:=(?P<seconds>\d+(?:\.\d+)?))?"
)


class JournalSink:
    """Appends to the journal at `path`; a durable event is on disk when the call returns."""

    def __init__(self, path: Path) -> None:
        self._journal = JournalFile(path)

    def __call__(self, event: Event, _state: State) -> None:
        self._journal.append(dumps(event), durable=isinstance(event, DURABLE))

    def close(self) -> None:
        self._journal.close()


class NdjsonSink:
    """Writes each event to `stream` until the run has finished or the reader has gone. The stream stays open."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._open, self._ended = True, False

    def __call__(self, event: Event) -> None:
        """Write `event`. A reader that went away is no error; any other failure to write is an OSError."""
        if self._open:
            self._ended = isinstance(event, RunFinished)
            self._open = write_line(self._stream, dump_compact(to_ndjson(event))) and not self._ended

    def refused(self, error: AigonError, at: str) -> None:
        """Write the end of a run that could not begin or go on, unless its end is written already."""
        if not self._ended:
            event = RunFinished(at, Refused(str(error)), "refused", int(error.code), str(error), "")
            write_line(self._stream, dump_compact({**to_ndjson(event), "error": as_document(error)}))

    def close(self) -> None:
        self._open = False


class Observer(Protocol):
    """Receives events and decides nothing."""

    def __call__(self, event: Event, /) -> None: ...

    def close(self) -> None: ...


@contextmanager
def log_failures() -> Iterator[None]:
    """Log what an observer raises: the run goes on."""
    try:
        yield
    except OSError as error:  # a full disk is reported by the sinks that must write
        logging.getLogger("aigon").warning("what aigon writes about this run is incomplete: %s", error.strerror)
    except Exception:
        logging.getLogger("aigon").exception("an observer failed; the run continues")


PAUSE_SECONDS, LONGEST_DELAY_SECONDS = 0.05, 1.0
"""How long no event comes before files are written, and after how long they are written anyway: what a file says of one
event is mostly replaced by the next, and files that are new burden the flush of the journal, which a run waits for."""


class BackgroundObservers:
    """Passes events to `observers` in a thread, in order. Their exceptions are logged and do not end the run.

    Those that write files have a method `settle`, in which they write what is due. It is called when events pause.
    """

    def __init__(
        self, observers: Sequence[Observer], pause: float = PAUSE_SECONDS, longest: float = LONGEST_DELAY_SECONDS
    ) -> None:
        self._observers, self._pause, self._longest = observers, pause, longest
        self._settling = [settle for each in observers if (settle := getattr(each, "settle", None))]
        self._events: SimpleQueue[Event | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._pass_on, name="observers", daemon=True)
        self._thread.start()

    def __call__(self, event: Event) -> None:
        self._events.put(event)

    def _pass_on(self) -> None:
        due: float | None = None
        while True:
            try:
                left = None if due is None else max(0.0, min(self._pause, due - time.monotonic()))
                event = self._events.get(timeout=left)
            except Empty:
                due = None
                for settle in self._settling:
                    with log_failures():
                        settle()
                continue
            if event is None:
                return
            due = due or time.monotonic() + self._longest
            for observer in self._observers:
                with log_failures():
                    observer(event)

    def close(self) -> None:
        """Wait until they have seen everything, then close them."""
        self._events.put(None)
        self._thread.join()
        for observer in self._observers:
            observer.close()


class FailPointReached(Exception):
    """Raised by the action `raise`: an error that nothing is prepared for."""


class FailPoint(Struct, frozen=True):
    """A point at which a test makes a run fail: at the `nth` event of that name, at one `stage` of its recording."""

    event: str
    stage: RecordingStage
    nth: int
    action: str
    seconds: float


class FailPoints(Struct):
    """A sink that fails at one `stage` of recording. `rest` waits, or returns early if the run has to end."""

    stage: RecordingStage
    points: tuple[FailPoint, ...]
    rest: Callable[[float], None] = time.sleep
    counts: dict[str, int] = field(default_factory=dict)

    def __call__(self, event: Event, _state: State) -> None:
        self.counts[event.event] = self.counts.get(event.event, 0) + 1
        for point in self.points:
            if (point.event, point.stage, point.nth) == (event.event, self.stage, self.counts[event.event]):
                match point.action:
                    case "kill":
                        os.kill(os.getpid(), signal.SIGKILL)
                    case "stop":
                        os.kill(os.getpid(), signal.SIGSTOP)
                    case "raise":
                        raise FailPointReached(f"the fail point {point.event} was reached")
                    case _:
                        self.rest(point.seconds)

    def close(self) -> None:
        """Nothing is open."""


def parse_fail_points(env: Mapping[str, str]) -> tuple[FailPoint, ...]:
    """Return the fail points in `AIGON_FAILPOINT=EVENT:ACTION,...`; a run without the variable has none.

    EVENT is an event's name in the journal, with `.before` (no record has it yet) or `.between` (the journal has it,
    the state file does not), and `@3` for the third one of this process. ACTION is `kill` (SIGKILL to this process),
    `stop` (SIGSTOP to it, until somebody sends SIGCONT), `raise` or `sleep=5` (30 seconds by default). Raises
    AigonError (exit 2) for a point that cannot be reached.
    """
    return tuple(_parse_fail_point(word.strip()) for word in env.get(VARIABLE, "").split(",") if word.strip())


def _parse_fail_point(word: str) -> FailPoint:
    match = _POINT.fullmatch(word)
    if not match or match["event"] not in EVENT_NAMES or (match["seconds"] and match["action"] != "sleep"):
        hint = f"EVENT[.before|.between][@N]:kill|stop|raise|sleep[=SECONDS]; the events are {', '.join(EVENT_NAMES)}"
        raise usage(f"There is no such fail point: {word}", where=VARIABLE, hint=hint)
    stage: RecordingStage = match["stage"] or "after"  # type: ignore[assignment]
    return FailPoint(match["event"], stage, int(match["nth"] or 1), match["action"], float(match["seconds"] or 30))
