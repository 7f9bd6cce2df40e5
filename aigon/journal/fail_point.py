"""Fail points: a seam for tests, at which a run can be killed, made to fail or held up.

`AIGON_FAILPOINT=EVENT:ACTION`, several with commas between them. EVENT is the name of an event of the journal, as
`turn_ended`; `.before` after it means before any record has the event, `.between` when the journal has it and the state
file has not, nothing when all records have it; `@3` after that means the third one of this process, and the first is
meant otherwise. ACTION is `kill` (SIGKILL to this process itself), `raise` (an error that nobody expects) or `sleep`
(`sleep=5` for so many seconds, 30 otherwise). Without the variable there is no fail point in a run.
"""

import os
import re
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from aigon.errors import usage
from aigon.journal.events import Event
from aigon.journal.state import State

VARIABLE = "AIGON_FAILPOINT"
Stage = Literal["before", "between", "after"]
Rest = Callable[[float], None]
NAMES = tuple(event.__dataclass_fields__["event"].default for event in get_args(Event))
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
    stage: Stage
    nth: int
    action: str
    seconds: float


@dataclass(slots=True)
class FailPoints:
    """A record that writes nothing down: what happens at one `stage` of recording an event.

    `rest` waits for so many seconds, or until the run has to end at once, as whatever takes long in a run does.
    """

    stage: Stage
    points: tuple[FailPoint, ...]
    rest: Rest = time.sleep
    seen: dict[str, int] = field(default_factory=dict)

    def __call__(self, event: Event, _state: State) -> None:
        self.seen[event.event] = self.seen.get(event.event, 0) + 1
        for point in self.points:
            if (point.event, point.stage, point.nth) == (event.event, self.stage, self.seen[event.event]):
                _happen(point, self.rest)

    def close(self) -> None:
        """Nothing is held open."""


def _happen(point: FailPoint, rest: Rest) -> None:
    match point.action:
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "raise":
            raise FailPointReached(f"the fail point {point.event} was reached")
        case _:
            rest(point.seconds)


def fail_points(env: Mapping[str, str]) -> tuple[FailPoint, ...]:
    """The fail points that the environment asks for. Raises AigonError (exit 2) for one that could never be reached."""
    return tuple(map(_parsed, filter(None, (word.strip() for word in env.get(VARIABLE, "").split(",")))))


def _parsed(word: str) -> FailPoint:
    match = _POINT.fullmatch(word)
    if not match or match["event"] not in NAMES or (match["seconds"] and match["action"] != "sleep"):
        known = ", ".join(NAMES)
        hint = f"EVENT[.before|.between][@N]:kill|raise|sleep[=SECONDS]; the events are {known}"
        raise usage(f"There is no such fail point: {word}", where=VARIABLE, hint=hint)
    stage: Stage = match["stage"] or "after"  # type: ignore[assignment]
    return FailPoint(match["event"], stage, int(match["nth"] or 1), match["action"], float(match["seconds"] or 30))
