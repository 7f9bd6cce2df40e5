"""What the live view of an arena shows: a scene for each candidate, and what holds for all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from aigon.arena.lane import Lane
from aigon.arena.outcome import Ended, Plan
from aigon.journal.events import Event, RunStarted
from aigon.journal.spending import Spend
from aigon.views.terminal.place import Place
from aigon.views.terminal.scene import NOTICES, Scene


@dataclass(frozen=True, slots=True)
class Rider:
    """One candidate: what its run shows, how many criteria it has, since when it runs, how it ended."""

    scene: Scene
    total: int = 0
    met: int = 0
    since: float | None = None
    ended: Ended | None = None

    def apply(self, event: Event, now: float) -> "Rider":
        """After `event`, which was seen at `now`."""
        scene = self.scene.apply(event, now)
        total = event.criteria_total if isinstance(event, RunStarted) else self.total
        met = sum(verdict.status == "met" for verdict in scene.verdicts.values()) if scene.verdicts else self.met
        return replace(self, scene=scene, total=total, met=met)


@dataclass(frozen=True, slots=True)
class Stage:
    """All that one frame needs. `began` is in monotonic seconds; `notices` are labels with a text each."""

    title: str = ""
    plan: str = ""
    limits: str = ""
    began: float = 0.0
    riders: Mapping[str, Rider] = field(default_factory=dict)
    notices: tuple[tuple[str, str], ...] = ()

    @property
    def spend(self) -> Spend:
        """What all of them spent."""
        spend = Spend()
        for rider in self.riders.values():
            spend = spend.and_(rider.scene.spend)
        return spend

    def started(self, label: str, now: float) -> "Stage":
        """The loop of `label` runs since `now`."""
        rider = self.riders[label]
        return self._with(label, replace(rider, since=now, scene=replace(rider.scene, phase_began=now)))

    def apply(self, label: str, event: Event, now: float) -> "Stage":
        """The stage after an event of `label`."""
        before = self.riders[label]
        rider = before.apply(event, now)
        told = rider.scene.notices
        fresh = told[-1:] if told and told != before.scene.notices and told[-1].level == "warning" else ()
        return self._with(label, rider)._noticed(*((label, notice.text) for notice in fresh))

    def ended(self, ended: Ended) -> "Stage":
        """With how a loop ended."""
        stage = self._with(ended.label, replace(self.riders[ended.label], ended=ended))
        return stage if ended.own_word else stage._noticed((ended.label, ended.summary))

    def said(self, text: str) -> "Stage":
        """With a notice about all."""
        return self._noticed(("", text))

    def _with(self, label: str, rider: Rider) -> "Stage":
        return replace(self, riders={**self.riders, label: rider})

    def _noticed(self, *notices: tuple[str, str]) -> "Stage":
        return replace(self, notices=(*self.notices, *notices)[-NOTICES:])


def stage(plan: Plan, lanes: Sequence[Lane], now: float) -> Stage:
    """Before anybody has started."""
    riders = {lane.label: _rider(lane, now) for lane in lanes}
    return Stage(f"feature {plan.feature}: {plan.slug}", plan.said, plan.limits, now, riders)


def _rider(lane: Lane, now: float) -> Rider:
    place = Place(finished=lane.finished or 0)
    scene = Scene(lane.label, place=place, agent=lane.candidate.agent, spend=lane.spend, phase_began=now)
    return Rider(scene, lane.total, lane.met)
