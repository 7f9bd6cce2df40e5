"""What the live view shows: a fold of the events of each run, with the seconds at which things began."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from aigon.arena.lane import ArenaPlan, Lane, LaneEnd
from aigon.journal.events import (
    CheckFinished,
    CheckStarted,
    CommitIntended,
    CriterionJudged,
    Event,
    HookRan,
    IterationFinished,
    IterationStarted,
    JudgeAsked,
    MoneySpent,
    Notice,
    RolledBack,
    RunFinished,
    RunStarted,
    SavedAside,
    TurnEnded,
    Waiting,
)
from aigon.journal.spending import Spend
from aigon.model.checks import Check, Finding
from aigon.model.criteria import Criterion, Verdict
from aigon.views.terminal.lines import (
    IterationCount,
    criterion_number,
    describe_hook,
    describe_rollback,
    describe_turn,
    describe_wait,
)

NOTICES = 3
"""Notices that stay in sight."""


@dataclass(frozen=True, slots=True)
class CheckProgress:
    """A check. `running` is since when it runs, in monotonic seconds; `fresh` says that `finding` is of this look."""

    title: str
    running: float | None = None
    finding: Finding | None = None
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Scene:
    """All that one frame needs. `began` and `phase_began` are monotonic seconds; `rung` is one of how many, from 0;
    `phase_ends` is when the run will have waited long enough, None where it waits for nobody.

    A criterion whose own command runs is in `proving`, by its number and with the second at which it began.
    """

    title: str
    criteria: tuple[Criterion, ...] = ()
    place: IterationCount = field(default_factory=IterationCount)
    agent: str = ""
    model: str = ""
    rung: tuple[int, int] = (0, 1)
    phase: str = "starting"
    phase_began: float = 0.0
    phase_ends: float | None = None
    began: float = 0.0
    checks: Mapping[str, CheckProgress] = field(default_factory=dict)
    verdicts: Mapping[int, Verdict] = field(default_factory=dict)
    proving: Mapping[int, float] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()
    spend: Spend = field(default_factory=Spend)
    end: RunFinished | None = None

    def apply(self, event: Event, now: float) -> "Scene":
        """The scene after `event`, which was seen at `now`."""
        return replace(_apply_phase(_apply_event(self, event, now), event, now), place=self.place.apply(event))


def list_waiting_checks(checks: Sequence[Check]) -> dict[str, CheckProgress]:
    """Rows for checks that are known to come."""
    return {check.name: CheckProgress(check.title) for check in checks}


def _apply_event(scene: Scene, event: Event, now: float) -> Scene:
    match event:
        case RunStarted():
            return replace(scene, agent=event.agent, began=now)
        case IterationStarted():
            return _start_iteration(scene, event)
        case CheckStarted():
            return _start_check(scene, event, now)
        case CheckFinished():
            return _finish_check(scene, event.finding)
        case CriterionJudged():
            return replace(scene, verdicts={**scene.verdicts, event.verdict.criterion: event.verdict})
        case IterationFinished():
            return _finish_iteration(scene, event)
        case TurnEnded():
            return replace(scene, spend=scene.spend.plus(event.turn.cost))
        case MoneySpent():
            return replace(scene, spend=scene.spend.plus(event.cost))
        case RunFinished():
            return replace(scene, end=event)
        case _:
            return scene


def _start_check(scene: Scene, event: CheckStarted, now: float) -> Scene:
    number, old = criterion_number(event.check), scene.checks.get(event.check)
    if number is not None:
        return replace(scene, proving={**scene.proving, number: now})
    row = CheckProgress(event.title, running=now, finding=old.finding if old else None)
    return replace(scene, checks={**scene.checks, event.check: row})


def _finish_check(scene: Scene, finding: Finding) -> Scene:
    number = criterion_number(finding.check)
    if number is not None:
        return replace(scene, proving={key: since for key, since in scene.proving.items() if key != number})
    return replace(scene, checks={**scene.checks, finding.check: _finished_check(finding)})


def _start_iteration(scene: Scene, event: IterationStarted) -> Scene:
    """What was found is of an older tree from here on."""
    checks = {name: replace(row, running=None, fresh=False) for name, row in scene.checks.items()}
    rung = (event.rung, event.rungs)
    return replace(scene, agent=event.agent, model=event.model, rung=rung, checks=checks)


def _finish_iteration(scene: Scene, event: IterationFinished) -> Scene:
    """The whole look at once: it also has what came without an event of its own, and drops what did not come."""
    checks = {
        finding.check: _finished_check(finding) for finding in event.findings if criterion_number(finding.check) is None
    }
    return replace(scene, checks=checks, proving={}, verdicts={v.criterion: v for v in event.verdicts})


def _finished_check(finding: Finding) -> CheckProgress:
    return CheckProgress(finding.title, finding=finding, fresh=True)


def _apply_phase(scene: Scene, event: Event, now: float) -> Scene:
    """With what the run is doing now, and with the notice that `event` is or deserves."""
    phase, notice = _find_phase(event) or scene.phase, _find_notice(event)
    if phase != scene.phase or isinstance(event, Waiting):
        ends = now + event.seconds if isinstance(event, Waiting) else None
        scene = replace(scene, phase=phase, phase_began=now, phase_ends=ends)
    return scene if notice is None else replace(scene, notices=(*scene.notices, notice)[-NOTICES:])


def _find_phase(event: Event) -> str:
    match event:
        case RunStarted():
            return "taking up the run" if event.resumed else "looking at the base"
        case CheckStarted(number=number) | CriterionJudged(number=number):
            return "checking the result" if number else "looking at the base"
        case IterationStarted():
            return f"{event.agent} is working"
        case TurnEnded():
            return "checking the result"
        case JudgeAsked():
            return "waiting for the judge"
        case Waiting():
            return f"waiting for {event.agent}"
        case CommitIntended():
            return f"committing {event.commit[:7]}"
        case RolledBack():
            return f"going back to {event.commit[:7]}"
        case IterationFinished():
            return "deciding what is next"
        case _:
            return ""


def _find_notice(event: Event) -> Notice | None:
    match event:
        case Notice():
            return event
        case SavedAside():
            return Notice(event.at, f"parked {event.what} as {event.commit[:7]}", "warning")
        case RolledBack():
            return Notice(event.at, describe_rollback(event))
        case Waiting():
            return Notice(event.at, describe_wait(event), "warning")
        case HookRan() if event.status != "ok":
            return Notice(event.at, describe_hook(event), "warning")
        case TurnEnded() if event.turn.end != "finished" or event.turn.denied:
            return Notice(event.at, describe_turn(event.turn), "warning")
        case _:
            return None


@dataclass(frozen=True, slots=True)
class LaneScene:
    """One candidate: what its run shows, how many criteria it has, since when it runs, how it ended."""

    scene: Scene
    total: int = 0
    met: int = 0
    since: float | None = None
    ended: LaneEnd | None = None

    def apply(self, event: Event, now: float) -> "LaneScene":
        """After `event`, which was seen at `now`."""
        scene = self.scene.apply(event, now)
        total = event.criteria_total if isinstance(event, RunStarted) else self.total
        met = sum(verdict.status == "met" for verdict in scene.verdicts.values()) if scene.verdicts else self.met
        return replace(self, scene=scene, total=total, met=met)


@dataclass(frozen=True, slots=True)
class ArenaScene:
    """All that one frame needs. `began` is in monotonic seconds; `notices` are labels with a text each."""

    title: str = ""
    plan: str = ""
    limits: str = ""
    began: float = 0.0
    riders: Mapping[str, LaneScene] = field(default_factory=dict)
    notices: tuple[tuple[str, str], ...] = ()

    @property
    def spend(self) -> Spend:
        """What all of them spent."""
        spend = Spend()
        for rider in self.riders.values():
            spend = spend.and_(rider.scene.spend)
        return spend

    def started(self, label: str, now: float) -> "ArenaScene":
        """The loop of `label` runs since `now`."""
        rider = self.riders[label]
        return self._with(label, replace(rider, since=now, scene=replace(rider.scene, phase_began=now)))

    def apply(self, label: str, event: Event, now: float) -> "ArenaScene":
        """The stage after an event of `label`."""
        before = self.riders[label]
        rider = before.apply(event, now)
        told = rider.scene.notices
        fresh = told[-1:] if told and told != before.scene.notices and told[-1].level == "warning" else ()
        return self._with(label, rider)._noticed(*((label, notice.text) for notice in fresh))

    def ended(self, ended: LaneEnd) -> "ArenaScene":
        """With how a loop ended."""
        stage = self._with(ended.label, replace(self.riders[ended.label], ended=ended))
        return stage if ended.own_word else stage._noticed((ended.label, ended.summary))

    def said(self, text: str) -> "ArenaScene":
        """With a notice about all."""
        return self._noticed(("", text))

    def _with(self, label: str, rider: LaneScene) -> "ArenaScene":
        return replace(self, riders={**self.riders, label: rider})

    def _noticed(self, *notices: tuple[str, str]) -> "ArenaScene":
        return replace(self, notices=(*self.notices, *notices)[-NOTICES:])


def build_arena_scene(plan: ArenaPlan, lanes: Sequence[Lane], now: float) -> ArenaScene:
    """Before anybody has started."""
    riders = {lane.label: _build_lane_scene(lane, now) for lane in lanes}
    return ArenaScene(f"feature {plan.feature}: {plan.slug}", plan.said, plan.limits, now, riders)


def _build_lane_scene(lane: Lane, now: float) -> LaneScene:
    place = IterationCount(finished=lane.finished or 0)
    scene = Scene(lane.label, place=place, agent=lane.candidate.agent, spend=lane.spend, phase_began=now)
    return LaneScene(scene, lane.total, lane.met)
