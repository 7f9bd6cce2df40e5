"""Sinks of a run's events: the journal, observers in the background, standard output, fail points of tests."""

import logging
import os
import re
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, TextIO, get_args

from aigon.errors import AigonError, as_document, usage
from aigon.files.checksums import JournalFile
from aigon.files.pipe import write_line
from aigon.journal.codec import dump_compact, dumps, to_ndjson
from aigon.journal.events import DURABLE, Event, RunFinished
from aigon.journal.state import State
from aigon.model.outcomes import Refused

VARIABLE = "AIGON_FAILPOINT"
RecordingStage = Literal["before", "between", "after"]
RestFunction = Callable[[float], None]
EVENT_NAMES = tuple(event.__dataclass_fields__["event"].default for event in get_args(Event))
"""The events that there are, by the names that the journal gives them."""
_POINT = re.compile(
    r"(?P<event>[a-z_]+)(?:\.(?P<stage>before|between))?(?:@(?P<nth>[1-9]\d*))?"
    r":(?P<action>kill|raise|sleep)(?:=(?P<seconds>\d+(?:\.\d+)?))?"
)


class FailPointReached(Exception):
    """What `raise` raises: an error of no kind that anything is prepared for."""


@dataclass(frozen=True, slots=True)
class FailPoint:
    """Where a run fails, and how: at the `nth` event of that name, at one `stage` of its being recorded."""

    event: str
    stage: RecordingStage
    nth: int
    action: str
    seconds: float


@dataclass(slots=True)
class FailPoints:
    """A record that writes nothing down: what happens at one `stage` of recording an event.

    `rest` waits for so many seconds, or until the run has to end at once, as whatever takes long in a run does.
    """

    stage: RecordingStage
    points: tuple[FailPoint, ...]
    rest: RestFunction = time.sleep
    seen: dict[str, int] = field(default_factory=dict)

    def __call__(self, event: Event, _state: State) -> None:
        self.seen[event.event] = self.seen.get(event.event, 0) + 1
        for point in self.points:
            if (point.event, point.stage, point.nth) == (event.event, self.stage, self.seen[event.event]):
                _happen(point, self.rest)

    def close(self) -> None:
        """Nothing is held open."""


def _happen(point: FailPoint, rest: RestFunction) -> None:
    match point.action:
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "raise":
            raise FailPointReached(f"the fail point {point.event} was reached")
        case _:
            rest(point.seconds)


def parse_fail_points(env: Mapping[str, str]) -> tuple[FailPoint, ...]:
    """The fail points that the environment asks for. Raises AigonError (exit 2) for one that could never be reached."""
    return tuple(map(_parsed, filter(None, (word.strip() for word in env.get(VARIABLE, "").split(",")))))


def _parsed(word: str) -> FailPoint:
    match = _POINT.fullmatch(word)
    if not match or match["event"] not in EVENT_NAMES or (match["seconds"] and match["action"] != "sleep"):
        known = ", ".join(EVENT_NAMES)
        hint = f"EVENT[.before|.between][@N]:kill|raise|sleep[=SECONDS]; the events are {known}"
        raise usage(f"There is no such fail point: {word}", where=VARIABLE, hint=hint)
    stage: RecordingStage = match["stage"] or "after"  # type: ignore[assignment]
    return FailPoint(match["event"], stage, int(match["nth"] or 1), match["action"], float(match["seconds"] or 30))


class Observer(Protocol):
    """Somebody who watches."""

    def __call__(self, event: Event, /) -> None: ...

    def close(self) -> None: ...


class BackgroundObservers:
    """Hands events on to `observers` in one thread. An exception of theirs is logged, and the run goes on."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = observers
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="observers")

    def __call__(self, event: Event) -> None:
        """Take `event`, and return at once."""
        self._thread.submit(self._tell, event)

    def _tell(self, event: Event) -> None:
        for observer in self._observers:
            try:
                observer(event)
            except OSError as error:  # a full disk has been said, or will be, by what has to be written there
                logging.getLogger("aigon").warning("something for people could not be written: %s", error.strerror)
            except Exception:
                logging.getLogger("aigon").exception("an observer failed; the run goes on")

    def close(self) -> None:
        """Wait until they have seen everything."""
        self._thread.shutdown()
        for observer in self._observers:
            observer.close()


class JournalSink:
    """Appends to the journal at `path`; an event marked durable is on disk when the call returns."""

    def __init__(self, path: Path) -> None:
        self._journal = JournalFile(path)

    def __call__(self, event: Event, _state: State) -> None:
        self._journal.append(dumps(event), durable=isinstance(event, DURABLE))

    def close(self) -> None:
        """Close the file."""
        self._journal.close()


class NdjsonSink:
    """Writes each event to `stream` as it comes, until the run has finished or nobody reads any more."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._open = True
        self._ended = False

    def __call__(self, event: Event) -> None:
        """Write `event`. A reader that went away is no error; any other failure to write is an OSError."""
        if self._open:
            self._ended = isinstance(event, RunFinished)
            self._open = write_line(self._stream, dump_compact(to_ndjson(event))) and not self._ended

    def refused(self, error: AigonError, at: str) -> None:
        """Write the end of a run that could not begin, or could not go on, unless its end is written already."""
        if self._ended:
            return
        text = str(error)
        event = RunFinished(at, Refused(text), "refused", int(error.code), text, "")
        write_line(self._stream, dump_compact({**to_ndjson(event), "error": as_document(error)}))

    def close(self) -> None:
        """Write nothing from here on. The stream stays open: it is the caller's."""
        self._open = False
