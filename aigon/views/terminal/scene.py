"""What the live view shows of a run: a fold of its events, with the seconds at which things began."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

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
from aigon.views.terminal.phrases import asked_by, hook, turn, waits, went_back
from aigon.views.terminal.place import Place

NOTICES = 3
"""Notices that stay in sight."""


@dataclass(frozen=True, slots=True)
class Row:
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
    place: Place = field(default_factory=Place)
    agent: str = ""
    model: str = ""
    rung: tuple[int, int] = (0, 1)
    phase: str = "starting"
    phase_began: float = 0.0
    phase_ends: float | None = None
    began: float = 0.0
    checks: Mapping[str, Row] = field(default_factory=dict)
    verdicts: Mapping[int, Verdict] = field(default_factory=dict)
    proving: Mapping[int, float] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()
    spend: Spend = field(default_factory=Spend)
    end: RunFinished | None = None

    def apply(self, event: Event, now: float) -> "Scene":
        """The scene after `event`, which was seen at `now`."""
        return replace(_told(_changed(self, event, now), event, now), place=self.place.apply(event))


def waiting(checks: Sequence[Check]) -> dict[str, Row]:
    """Rows for checks that are known to come."""
    return {check.name: Row(check.title) for check in checks}


def _changed(scene: Scene, event: Event, now: float) -> Scene:
    match event:
        case RunStarted():
            return replace(scene, agent=event.agent, began=now)
        case IterationStarted():
            return _turned(scene, event)
        case CheckStarted():
            return _begun(scene, event, now)
        case CheckFinished():
            return _ended(scene, event.finding)
        case CriterionJudged():
            return replace(scene, verdicts={**scene.verdicts, event.verdict.criterion: event.verdict})
        case IterationFinished():
            return _looked(scene, event)
        case TurnEnded():
            return replace(scene, spend=scene.spend.plus(event.turn.cost))
        case MoneySpent():
            return replace(scene, spend=scene.spend.plus(event.cost))
        case RunFinished():
            return replace(scene, end=event)
        case _:
            return scene


def _begun(scene: Scene, event: CheckStarted, now: float) -> Scene:
    number, old = asked_by(event.check), scene.checks.get(event.check)
    if number is not None:
        return replace(scene, proving={**scene.proving, number: now})
    row = Row(event.title, running=now, finding=old.finding if old else None)
    return replace(scene, checks={**scene.checks, event.check: row})


def _ended(scene: Scene, finding: Finding) -> Scene:
    number = asked_by(finding.check)
    if number is not None:
        return replace(scene, proving={key: since for key, since in scene.proving.items() if key != number})
    return replace(scene, checks={**scene.checks, finding.check: _row(finding)})


def _turned(scene: Scene, event: IterationStarted) -> Scene:
    """What was found is of an older tree from here on."""
    checks = {name: replace(row, running=None, fresh=False) for name, row in scene.checks.items()}
    rung = (event.rung, event.rungs)
    return replace(scene, agent=event.agent, model=event.model, rung=rung, checks=checks)


def _looked(scene: Scene, event: IterationFinished) -> Scene:
    """The whole look at once: it also has what came without an event of its own, and drops what did not come."""
    checks = {finding.check: _row(finding) for finding in event.findings if asked_by(finding.check) is None}
    return replace(scene, checks=checks, proving={}, verdicts={v.criterion: v for v in event.verdicts})


def _row(finding: Finding) -> Row:
    return Row(finding.title, finding=finding, fresh=True)


def _told(scene: Scene, event: Event, now: float) -> Scene:
    """With what the run is doing now, and with the notice that `event` is or deserves."""
    phase, notice = _phase(event) or scene.phase, _notice(event)
    if phase != scene.phase or isinstance(event, Waiting):
        ends = now + event.seconds if isinstance(event, Waiting) else None
        scene = replace(scene, phase=phase, phase_began=now, phase_ends=ends)
    return scene if notice is None else replace(scene, notices=(*scene.notices, notice)[-NOTICES:])


def _phase(event: Event) -> str:
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


def _notice(event: Event) -> Notice | None:
    match event:
        case Notice():
            return event
        case SavedAside():
            return Notice(event.at, f"parked {event.what} as {event.commit[:7]}", "warning")
        case RolledBack():
            return Notice(event.at, went_back(event))
        case Waiting():
            return Notice(event.at, waits(event), "warning")
        case HookRan() if event.status != "ok":
            return Notice(event.at, hook(event), "warning")
        case TurnEnded() if event.turn.end != "finished" or event.turn.denied:
            return Notice(event.at, turn(event.turn), "warning")
        case _:
            return None
