"""The attempts of a run, folded from its events, and those that failed."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import reduce
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from aigon.journal.attempt import MAX_LINE_CHARS, Attempt, add_assessment
from aigon.journal.events import (
    Event,
    IterationFinished,
    IterationStarted,
    Notice,
    RolledBack,
    RunStarted,
    TurnEnded,
    Waiting,
)
from aigon.model.turns import TEMPORARY_ENDS, CostStatus, Turn
from aigon.text.patterns import compile_re
from aigon.text.quoting import fold

MAX_NOTES = 10
"""Notes on what aigon undid that are kept of an attempt."""
_MAX_WARNINGS = 100
"""Warnings that are read: what aigon undid comes first, and never in a flood."""
_UNDONE = compile_re(
    r"\b(?:put back|taken away|left as it is|had been rewritten|written again|kept out of the commit)\b"
)
"""Words of aigon's own sentences on what it undid."""
_QUOTE_CHARS = 12
"""A note with this many characters of an agent's words quotes them."""
_get_number = attrgetter("number")
_CERTAINTY: tuple[CostStatus, ...] = ("unknown", "estimated", "reported")


class Attempts(Struct, frozen=True):
    """The fold. `base` is the baseline, `done` are the assessed attempts, `now` is the one without an assessment.

    `turns` are the ended tries of `now`, `notes` the warnings since it began; the first `settled` came before the end
    of a try.
    """

    base: Attempt | None = None
    done: tuple[Attempt, ...] = ()
    now: Attempt | None = None
    turns: tuple[Turn, ...] = ()
    notes: tuple[str, ...] = ()
    settled: int = 0

    @property
    def all(self) -> tuple[Attempt, ...]:
        """Every attempt, oldest first, without the baseline."""
        if self.now is None:
            return self.done
        end = bisect_right(self.done, self.now.number, key=_get_number)
        return (*self.done[:end], self.now, *self.done[end:])

    def apply(self, event: Event) -> "Attempts":
        """Return what is known after `event`."""
        match event:
            case IterationStarted():
                return self._begin(event)
            case TurnEnded():
                return self._end_turn(event)
            case Waiting() if self.now:
                return replace(self, now=replace(self.now, waited=self.now.waited + event.seconds))
            case Notice(level="warning") if self.now:
                return replace(self, notes=(*self.notes, event.text)[:_MAX_WARNINGS])
            case IterationFinished(number=0):
                return replace(self, base=add_assessment(Attempt(0), event, ()))
            case IterationFinished():
                return self._assess(event)
            case RolledBack():
                return replace(self, done=tuple(_mark_undone(each, event.number) for each in self.done))
            case _:
                return self

    def _begin(self, event: IterationStarted) -> "Attempts":
        """Begin a try. Notes that came while it was waited for are dropped: they are about no file."""
        again = self.now is not None and self.now.number == event.number
        before = self if again else Attempts(self.base, self.all, Attempt(event.number, at=event.at))
        assert before.now is not None, "either of them has one"
        now = replace(
            before.now,
            agent=event.agent,
            model=event.model,
            effort=event.effort,
            rung=event.rung,
            rungs=event.rungs,
            tries=before.now.tries + 1,
            end=None,
        )
        return replace(before, now=_add_costs(now, before.turns), notes=before.notes[: before.settled])

    def _end_turn(self, event: TurnEnded) -> "Attempts":
        turn = event.turn
        known = self.now is not None and self.now.number == turn.number and self.now.end is None
        since = self if known else self._begin(_reconstruct_start(event, self.now))
        assert since.now is not None, "it was begun"
        turns = (*since.turns, turn)
        now = replace(
            since.now,
            agent=turn.agent,
            model=turn.model or since.now.model,
            end=turn.end,
            exit_code=turn.exit_code,
            detail=fold(turn.detail, MAX_LINE_CHARS),
            duration=sum(each.duration for each in turns),
        )
        return replace(since, now=_add_costs(now, turns), turns=turns, settled=len(since.notes))

    def _assess(self, event: IterationFinished) -> "Attempts":
        """Add an assessment. A second one of the same iteration (an approval, an absent judge) replaces the first."""
        # After `later` ones the branch went back.
        first, end = (find(self.done, event.number, key=_get_number) for find in (bisect_left, bisect_right))
        earlier, later = self.done[:first], self.done[end:]
        if self.now and self.now.number == event.number:
            attempt = replace(self.now, notes=_select_undo_notes(self.notes, self.turns))
        else:
            attempt = self.done[first] if first < end else Attempt(event.number)
        looks = (self.base, *earlier) if self.base else earlier
        return Attempts(self.base, (*earlier, add_assessment(attempt, event, looks), *later))


def fold_attempts(events: Iterable[Event]) -> tuple[Attempt, ...]:
    """Return what a journal's events tell of each iteration, oldest first, without the baseline."""
    return reduce(Attempts.apply, events, Attempts()).all


def _mark_undone(attempt: Attempt, number: int) -> Attempt:
    """Note on an attempt that its changes are no longer in the branch."""
    if attempt.number <= number:
        return attempt
    to = f"iteration {number}" if number else "where it began"
    note = f"the whole iteration was put back: the branch went back to {to}"
    return replace(attempt, notes=(*attempt.notes, note)[-MAX_NOTES:])


def _reconstruct_start(event: TurnEnded, now: Attempt | None) -> IterationStarted:
    """Make the beginning of a turn of which only the end is known."""
    turn = event.turn
    before = now if now and now.number == turn.number else Attempt(turn.number)
    start = IterationStarted(event.at, turn.number, turn.agent, turn.model, before.rung, before.rungs, 0)
    return replace(start, effort=before.effort)


def _add_costs(attempt: Attempt, turns: Sequence[Turn]) -> Attempt:
    """Add up the tries. A rate-limited try without a cost was free; a broken-off one is unknown."""
    paid = [turn for turn in turns if turn.cost is not None]
    silent = sum(turn.cost is None and not turn.held for turn in turns)
    broken_off = max(attempt.tries - len(turns) - (attempt.end is None), 0)
    return replace(
        attempt,
        cost=sum(turn.cost or 0.0 for turn in paid) if paid else None,
        cost_status=min((turn.cost_status for turn in paid), key=_CERTAINTY.index, default="unknown"),
        unpriced=silent + broken_off,
    )


def _select_undo_notes(notes: Sequence[str], turns: Sequence[Turn]) -> tuple[str, ...]:
    """Return the notes on what aigon undid, except those that quote the agent's own words."""
    heard = [fold(text, 40).rstrip("…") for turn in turns for text in (turn.said, turn.detail)]
    words = [text for text in heard if len(text) >= _QUOTE_CHARS]
    lines = [fold(note, 10 * MAX_LINE_CHARS) for note in notes if _UNDONE.search(note)]
    own = [line for line in lines if not any(text in line for text in words)]
    return tuple(fold(line, MAX_LINE_CHARS) for line in own[:MAX_NOTES])


class FailedAttempt(Struct, frozen=True):
    """A failed attempt, the `number`th of the feature.

    Its failure came `times` times; this is the `nth` (0: it has no name).
    """

    number: int
    run_id: str
    attempt: Attempt
    nth: int = 0
    times: int = 0
    label: str = ""


def list_failures(runs: Iterable[Sequence[Event]]) -> tuple[tuple[FailedAttempt, ...], int]:
    """Return the failed attempts over the `runs` of a feature, oldest first, and the number of all attempts."""
    every = [(*_identify_run(events), attempt) for events in runs for attempt in fold_attempts(events)]
    times = Counter(attempt.fingerprint for _, _, attempt in every if attempt.fingerprint)
    seen: Counter[str] = Counter()
    found: list[FailedAttempt] = []
    for number, (run_id, label, attempt) in enumerate(every, 1):
        seen[attempt.fingerprint] += 1
        name = attempt.fingerprint
        if has_failed(attempt):
            found.append(FailedAttempt(number, run_id, attempt, seen[name] if name else 0, times[name], label))
    return tuple(found), len(every)


def has_failed(attempt: Attempt) -> bool:
    """Return whether the assessment found a failure or the turn did not finish. A rate-limited turn has not failed."""
    if attempt.fingerprint:
        return True
    return attempt.tries > 0 and attempt.end not in ("finished", None, *TEMPORARY_ENDS)


def _identify_run(events: Sequence[Event]) -> tuple[str, str]:
    """Return the id of a run, and in an arena the label of its agent."""
    started = next((event for event in events if isinstance(event, RunStarted)), None)
    if started is None:
        return "", ""
    return started.run_id, started.label if started.mode != "solo" else ""
