"""What aigon's own records tell of a candidate: its journals, and what the base's tests came to."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from aigon.compare.rules.entry import Entry
from aigon.journal.events import Event, IterationFinished, MoneySpent, RunFinished, RunStarted, TurnEnded
from aigon.journal.history import History, build_history
from aigon.journal.records import Records
from aigon.journal.replay import read_events
from aigon.model.turns import CostStatus
from aigon.proof.frozen import Frozen
from aigon.proof.frozen import load as frozen_of


@dataclass(frozen=True, slots=True)
class Told:
    """The events of every run of a candidate, oldest run first; the last ones are of its current run."""

    runs: tuple[tuple[Event, ...], ...]

    @property
    def whole(self) -> History:
        """All runs."""
        return build_history(self.runs)

    @property
    def current(self) -> tuple[Event, ...]:
        """The current run, over its resumes."""
        return self.runs[-1] if self.runs else ()


def told(records: Records) -> Told:
    """What the journals say. Raises AigonError (exit 7) for a damaged one."""
    return Told(tuple(found for path in records.journals() if (found := tuple(read_events(path)))))


def with_record(entry: Entry, found: Told, records: Records) -> Entry:
    """The entry with what the records tell of it."""
    whole, now = found.whole, build_history([found.current])
    looked, judged = _commits(found.current)
    look = now.last.look if now.last else None
    frozen = frozen_of(records.frozen)
    return replace(
        _with_costs(entry, found, whole),
        looked=looked,
        judged=judged,
        at=_newest(found.current),
        outcome=now.outcome,
        skipped=bool(now.started and now.started.skip_validation),
        look=look,
        first=whole.base.look if whole.base else None,
        criteria=now.started.criteria_total if now.started else None,
        concerns=look.concerns if look else (),
        regressed=_regressed(frozen, look),
        was_tested=_was_tested(frozen),
        iterations=sum(step.number > 0 for step in whole.steps),
        seconds=sum(_seconds(run) for run in found.runs),
    )


def _with_costs(entry: Entry, found: Told, whole: History) -> Entry:
    """A cost that one turn kept to itself is not known; neither is one of a turn that broke off."""
    asked = [event for run in found.runs for event in run if isinstance(event, TurnEnded | MoneySpent)]
    statuses: set[CostStatus] = {e.turn.cost_status if isinstance(e, TurnEnded) else e.status for e in asked}
    known = whole.spend.unknown == 0 and not _broken_off(found)
    return replace(
        entry,
        cost=whole.spend.usd if known else None,
        at_least=whole.spend.usd,
        cost_status=("estimated" if "estimated" in statuses else "reported") if known else "unknown",
        usage=whole.usage,
        silent=sum(turn.usage is None for turn in whole.turns),
    )


def _broken_off(found: Told) -> bool:
    """Whether a turn was begun that never said how it ended."""
    begun = sum(event.event == "iteration_started" for run in found.runs for event in run)
    return begun > sum(event.event == "turn_ended" for run in found.runs for event in run)


def _commits(run: Sequence[Event]) -> tuple[str, str]:
    """The commit that the last look speaks of, and the one that the outcome speaks of; "" where there is none."""
    head = looked = judged = ""
    for event in run:
        match event:
            case RunStarted():
                head, judged = event.head, ""
            case IterationFinished():
                looked = head = event.checkpoint or head
            case RunFinished():
                judged = event.commit
    return looked, judged


def _newest(run: Sequence[Event]) -> str:
    return run[-1].at if run else ""


def _seconds(run: Sequence[Event]) -> float:
    """How long a run took over all its invocations; nobody worked between one and the next."""
    total, begun, last = 0.0, None, None
    for event in run:
        at = datetime.fromisoformat(event.at)
        if isinstance(event, RunStarted):
            total += (last - begun).total_seconds() if begun and last else 0.0
            begun = at
        last = at
    return total + ((last - begun).total_seconds() if begun and last else 0.0)


def _regressed(frozen: Frozen | None, look: IterationFinished | None) -> tuple[str, ...] | None:
    """Tests that passed on the base and are named as red by the last look. Parsers name them as the base's report."""
    if frozen is None or look is None or not frozen.tested:
        return None
    red = {(f.check, p.test) for f in look.findings for p in f.problems if p.test and p.severity == "error"}
    return tuple(sorted(test for check, test in red if _passed(frozen, check, test)))


def _passed(frozen: Frozen, check: str, test: str) -> bool:
    return check in frozen.tested and frozen.tested[check].tests.get(test) == "passed"


def _was_tested(frozen: Frozen | None) -> bool | None:
    if frozen is None:
        return None
    return any(each.tests for each in frozen.tested.values()) or _has_tests(check.role for check in frozen.checks)


def _has_tests(roles: Iterable[str]) -> bool:
    """A script may run tests of which nobody knows."""
    return any(role in ("tests", "script") for role in roles)
