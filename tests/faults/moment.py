"""When a run is killed: at a fail point, at a step of a queue, or after a part of the time that a whole run takes."""

import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from aigon.journal.sinks import EVENT_NAMES
from tests.faults.steps import QUEUE_STEPS

STAGES = (".before", ".between", "")
_MOMENT = re.compile(
    r"(?P<point>[a-z_]+(?:\.before|\.between)?(?:@\d+)?)|!(?P<step>[a-z]+(?:\.before)?)"
    r"|~(?P<part>[01]\.\d+)(?:/(?P<whom>[\w-]+))?"
)


@dataclass(frozen=True, slots=True)
class Moment:
    """A fail point of aigon's (`turn_ended.between@2`), or `part` (0 to 1) of the whole time.

    `whom` is whose loop is killed in an arena or a queue; nobody's means the process that a person started. `step` is
    one of a queue's own. Written down it is `turn_ended.between@2`, `~0.4312`, `~0.4312/two-step` or `!taken.before`.
    """

    point: str = ""
    part: float = 0.0
    whom: str = ""
    step: str = ""

    def __str__(self) -> str:
        whom = f"/{self.whom}" if self.whom else ""
        return self.point or (self.step and f"!{self.step}") or f"~{self.part:.4f}{whom}"


@dataclass(frozen=True, slots=True)
class Trial:
    """One way to kill runs of one scenario: at each moment once, and resumed after each. `solo:honest:~0.5+~0.1`."""

    mode: str
    agent: str
    moments: tuple[Moment, ...]

    def __str__(self) -> str:
        return f"{self.mode}:{self.agent}:{'+'.join(map(str, self.moments))}"


def trial_of(text: str) -> Trial:
    """A trial as it was written down. Raises ValueError for anything else."""
    mode, agent, moments = text.split(":", 2)
    return Trial(mode, agent, tuple(_moment(word) for word in moments.split("+")))


def _moment(word: str) -> Moment:
    match = _MOMENT.fullmatch(word)
    if not match or (match["point"] and re.split(r"[.@]", word)[0] not in EVENT_NAMES):
        raise ValueError(f"no moment: {word}")
    return Moment(match["point"] or "", float(match["part"] or 0), match["whom"] or "", match["step"] or "")


def at_every_point(mode: str, agent: str, counts: Mapping[str, int]) -> list[Trial]:
    """A trial for every event that the scenario reaches, as often as it does, at every stage of recording it."""
    points = [
        f"{event}{stage}" + (f"@{nth}" if nth > 1 else "")
        for event, count in counts.items()
        for nth in range(1, count + 1)
        for stage in STAGES
    ]
    return [Trial(mode, agent, (Moment(point),)) for point in points]


def at_every_step(mode: str, agent: str) -> list[Trial]:
    """A trial before and after each step of a watcher or a start; none for other modes."""
    steps = [name + stage for name in QUEUE_STEPS.get(mode, {}) for stage in (".before", "")]
    return [Trial(mode, agent, (Moment(step=step),)) for step in steps]


def at_random(number: int, scenarios: Iterable[tuple[str, str, tuple[str, ...]]], seed: int) -> list[Trial]:
    """So many trials at moments drawn from `seed`, shared out among `scenarios` (mode, agent, labels).

    In an arena and a queue each second one kills one loop alone. Each fourth trial kills the resume as well.
    """
    drawn, ways, trials = random.Random(seed), list(scenarios), []
    for at in range(number):
        mode, agent, labels = ways[at % len(ways)]
        whom = drawn.choice(labels) if mode in ("arena", *QUEUE_STEPS) and drawn.random() < 0.5 else ""
        moments = [Moment(part=round(drawn.random(), 4), whom=whom)]
        if at % 4 == 3:
            moments.append(Moment(part=round(drawn.random(), 4)))
        trials.append(Trial(mode, agent, tuple(moments)))
    return trials
