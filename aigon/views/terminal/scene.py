"""The scene of the live view: a fold of the events of each run, with the monotonic seconds at which things began."""

from collections.abc import Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from aigon.arena.lane import ArenaPlan, Lane, LaneEnd
from aigon.journal import events
from aigon.journal.events import Event, Notice
from aigon.journal.spending import Spend
from aigon.model.checks import Check, Finding
from aigon.model.criteria import Criterion, Verdict
from aigon.views.terminal.events import (
    IterationCount,
    criterion_number,
    describe_hook,
    describe_rollback,
    describe_turn,
    describe_wait,
)
from aigon.views.terminal.lines import TurnProgress

NOTICES = 3
"""Notices that stay in sight."""


class CheckProgress(Struct, frozen=True):
    """A check. `running` is the second at which it began; `fresh` says that `finding` is of this assessment."""

    title: str
    running: float | None = None
    finding: Finding | None = None
    fresh: bool = False


class Scene(Struct, frozen=True):
    """One run. `step` is the escalation step, from 0, and how many there are.

    `phase_ends` is when a wait will be over, None if the run does not wait. `proving` has the criteria whose own
    command runs, by number. While an agent works, `turn` is what it does, by a clock that is so many seconds `ahead`.
    In an arena, `since` is when the loop was started, None while it is queued, and `closed` how its process ended;
    `earlier_met` criteria were proven before it was resumed.
    """

    title: str
    criteria: tuple[Criterion, ...] = ()
    place: IterationCount = field(default_factory=IterationCount)
    agent: str = ""
    model: str = ""
    step: tuple[int, int] = (0, 1)
    phase: str = "starting"
    phase_began: float = 0.0
    phase_ends: float | None = None
    began: float = 0.0
    checks: Mapping[str, CheckProgress] = field(default_factory=dict)
    verdicts: Mapping[int, Verdict] = field(default_factory=dict)
    proving: Mapping[int, float] = field(default_factory=dict)
    turn: TurnProgress | None = None
    ahead: float = 0.0
    notices: tuple[Notice, ...] = ()
    spend: Spend = field(default_factory=Spend)
    end: events.RunFinished | None = None
    total: int = 0
    earlier_met: int = 0
    since: float | None = None
    closed: LaneEnd | None = None

    @property
    def met(self) -> int:
        """Criteria that are proven, as far as this run or the one that it resumes has said."""
        return sum(v.status == "met" for v in self.verdicts.values()) if self.verdicts else self.earlier_met

    def apply(self, event: Event, now: float) -> "Scene":
        """Return the scene after `event`, which was seen at `now`."""
        scene = replace(_apply_event(self, event, now), place=self.place.apply(event))
        phase, notice = _name_phase(event) or scene.phase, _find_notice(event)
        if phase != scene.phase or isinstance(event, events.Waiting):
            ends = now + event.seconds if isinstance(event, events.Waiting) else None
            scene = replace(scene, phase=phase, phase_began=now, phase_ends=ends)
        return scene if notice is None else replace(scene, notices=(*scene.notices, notice)[-NOTICES:])


class ArenaScene(Struct, frozen=True):
    """Several runs by label. `notices` are pairs of a label, "" for what concerns all, and a text."""

    title: str = ""
    plan: str = ""
    limits: str = ""
    began: float = 0.0
    lanes: Mapping[str, Scene] = field(default_factory=dict)
    notices: tuple[tuple[str, str], ...] = ()
    hint: str = "Ctrl+C: each finishes its iteration. Twice: all stop now. --resume continues."

    @property
    def spend(self) -> Spend:
        spend = Spend()
        for scene in self.lanes.values():
            spend = spend.and_(scene.spend)
        return spend

    def start(self, label: str, now: float) -> "ArenaScene":
        return self._set(label, replace(self.lanes[label], since=now, phase_began=now))

    def apply(self, label: str, event: Event, now: float) -> "ArenaScene":
        before = self.lanes[label].notices
        arena = self._set(label, self.lanes[label].apply(event, now))
        notices = arena.lanes[label].notices
        is_new = notices and notices != before and notices[-1].level == "warning"
        return arena.add_notice(label, notices[-1].text) if is_new else arena

    def close(self, end: LaneEnd) -> "ArenaScene":
        """Return the scene after the process of a loop has ended, or has never been started."""
        arena = self._set(end.label, replace(self.lanes[end.label], closed=end))
        return arena if end.own_word else arena.add_notice(end.label, end.summary)

    def add_notice(self, label: str, text: str) -> "ArenaScene":
        return replace(self, notices=(*self.notices, (label, text))[-NOTICES:])

    def _set(self, label: str, scene: Scene) -> "ArenaScene":
        return replace(self, lanes={**self.lanes, label: scene})


def build_arena_scene(plan: ArenaPlan, lanes: Sequence[Lane], now: float) -> ArenaScene:
    """Return the scene before any loop has started."""
    scenes = {
        lane.label: Scene(
            lane.label,
            place=IterationCount(finished=lane.finished or 0),
            agent=lane.candidate.agent,
            spend=lane.spend,
            phase_began=now,
            total=lane.total,
            earlier_met=lane.met,
        )
        for lane in lanes
    }
    return ArenaScene(f"feature {plan.feature}: {plan.slug}", plan.said, plan.limits, now, scenes)


def list_waiting_checks(checks: Sequence[Check]) -> dict[str, CheckProgress]:
    """Return rows for checks that will run."""
    return {check.name: CheckProgress(check.title) for check in checks}


def _apply_event(scene: Scene, event: Event, now: float) -> Scene:
    match event:
        case events.RunStarted():
            return replace(scene, agent=event.agent, began=now, total=event.criteria_total)
        case events.IterationStarted():
            # From here on every finding is of an older tree.
            checks = {name: replace(row, running=None, fresh=False) for name, row in scene.checks.items()}
            step = (event.rung, event.rungs)
            return replace(scene, agent=event.agent, model=event.model, step=step, checks=checks)
        case events.CheckStarted():
            return _start_check(scene, event, now)
        case events.CheckFinished(finding=finding):
            if (number := criterion_number(finding.check)) is not None:
                return replace(scene, proving={key: since for key, since in scene.proving.items() if key != number})
            return replace(scene, checks={**scene.checks, finding.check: _show_finished(finding)})
        case events.CriterionJudged():
            return replace(scene, verdicts={**scene.verdicts, event.verdict.criterion: event.verdict})
        case events.IterationFinished():
            # It also has the findings that came without an event of their own, and drops checks that did not run.
            checks = {f.check: _show_finished(f) for f in event.findings if criterion_number(f.check) is None}
            return replace(scene, checks=checks, proving={}, verdicts={v.criterion: v for v in event.verdicts})
        case events.TurnEnded():
            return replace(scene, spend=scene.spend.plus(event.turn.cost))
        case events.MoneySpent():
            return replace(scene, spend=scene.spend.plus(event.cost))
        case events.RunFinished():
            return replace(scene, end=event)
        case _:
            return scene


def _start_check(scene: Scene, event: events.CheckStarted, now: float) -> Scene:
    if (number := criterion_number(event.check)) is not None:
        return replace(scene, proving={**scene.proving, number: now})
    earlier = scene.checks.get(event.check)
    row = CheckProgress(event.title, running=now, finding=earlier.finding if earlier else None)
    return replace(scene, checks={**scene.checks, event.check: row})


def _show_finished(finding: Finding) -> CheckProgress:
    return CheckProgress(finding.title, finding=finding, fresh=True)


def _name_phase(event: Event) -> str:
    match event:
        case events.RunStarted():
            return "taking up the run" if event.resumed else "looking at the base"
        case events.CheckStarted(number=number) | events.CriterionJudged(number=number):
            return "checking the result" if number else "looking at the base"
        case events.IterationStarted():
            return f"{event.agent} is working"
        case events.TurnEnded():
            return "checking the result"
        case events.JudgeAsked():
            return "waiting for the judge"
        case events.Waiting():
            return f"waiting for {event.agent}"
        case events.CommitIntended():
            return f"committing {event.commit[:7]}"
        case events.RolledBack():
            return f"going back to {event.commit[:7]}"
        case events.IterationFinished():
            return "deciding what is next"
        case _:
            return ""


def _find_notice(event: Event) -> Notice | None:
    match event:
        case Notice():
            return event
        case events.SavedAside():
            return Notice(event.at, f"saved {event.what} aside as {event.commit[:7]}", "warning")
        case events.RolledBack():
            return Notice(event.at, describe_rollback(event))
        case events.Waiting():
            return Notice(event.at, describe_wait(event), "warning")
        case events.HookRan() if event.status != "ok":
            return Notice(event.at, describe_hook(event), "warning")
        case events.TurnEnded() if event.turn.end != "finished" or event.turn.denied:
            return Notice(event.at, describe_turn(event.turn), "warning")
        case _:
            return None
