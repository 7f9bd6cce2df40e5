"""The attempts of a run, folded from its events, and those that failed."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from aigon.journal.attempt import Attempt, add_assessment
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
from aigon.model.assessments import MAX_LINE_CHARS
from aigon.model.turns import TEMPORARY_ENDS, CostStatus, Turn
from aigon.text.quoting import fold

NOTES = 10
"""Notes on what was put back that are kept of one."""
_HELD = 100
"""Notes that are looked at; a flood of them is none on what was put back."""
_UNDONE = re.compile(
    r"\b(?:put back|taken away|left as it is|had been rewritten|written again|kept out of the commit)\b"
)
"""In aigon's own sentences on what it undid: those of `Edited`, `Moved`, `Leak`, and of the snapshot."""
_QUOTED = 12
"""Characters of an agent's words in a note from which it is taken for a quotation of them."""
_CERTAINTY: tuple[CostStatus, ...] = ("unknown", "estimated", "reported")


@dataclass(frozen=True, slots=True)
class Attempts:
    """The fold. `base` is the look at the base, `done` are attempts with a look, `now` is one that has none yet.

    `turns` are the ended tries of `now`, `notes` what aigon warned of since it began; the first `settled` of these came
    before the end of a try.
    """

    base: Attempt | None = None
    done: tuple[Attempt, ...] = ()
    now: Attempt | None = None
    turns: tuple[Turn, ...] = ()
    notes: tuple[str, ...] = ()
    settled: int = 0

    @property
    def all(self) -> tuple[Attempt, ...]:
        """Every attempt, oldest first; one that was not judged (yet) too, the base not."""
        return (*self.done, self.now) if self.now else self.done

    def apply(self, event: Event) -> "Attempts":
        """What is known after `event`."""
        match event:
            case IterationStarted():
                return self._begun(event)
            case TurnEnded():
                return self._turned(event)
            case Waiting() if self.now:
                return replace(self, now=replace(self.now, waited=self.now.waited + event.seconds))
            case Notice(level="warning") if self.now:
                return replace(self, notes=(*self.notes, event.text)[:_HELD])
            case IterationFinished(number=0):
                return replace(self, base=add_assessment(Attempt(0), event, ()))
            case IterationFinished():
                return self._judged(event)
            case RolledBack():
                return replace(self, done=tuple(_taken_back(each, event.number) for each in self.done))
            case _:
                return self

    def _begun(self, event: IterationStarted) -> "Attempts":
        """Another try of the same attempt forgets what was said while it was waited for: that is about no file."""
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
        return replace(before, now=_priced(now, before.turns), notes=before.notes[: before.settled])

    def _turned(self, event: TurnEnded) -> "Attempts":
        turn = event.turn
        known = self.now is not None and self.now.number == turn.number and self.now.end is None
        since = self if known else self._begun(_beginning(event, self.now))
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
        return replace(since, now=_priced(now, turns), turns=turns, settled=len(since.notes))

    def _judged(self, event: IterationFinished) -> "Attempts":
        """A second look at one iteration (an approval, a judge that was away) takes the place of the first."""
        known = (each for each in reversed((*self.done, self.now)) if each and each.number == event.number)
        attempt = next(known, Attempt(event.number))
        if attempt is self.now:
            attempt = replace(attempt, notes=_put_back(self.notes, self.turns))
        earlier, later = self.done, self.done[:0]
        if self.done and self.done[-1].number >= event.number:
            earlier = tuple(each for each in self.done if each.number < event.number)
            later = tuple(each for each in self.done if each.number > event.number)  # the branch went back before these
        looks = (self.base, *earlier) if self.base else earlier
        return Attempts(self.base, (*earlier, add_assessment(attempt, event, looks), *later))


def fold_attempts(events: Iterable[Event]) -> tuple[Attempt, ...]:
    """What a journal's events tell of each iteration, oldest first; the look at the base is none."""
    return reduce(Attempts.apply, events, Attempts()).all


def _taken_back(attempt: Attempt, number: int) -> Attempt:
    """An attempt that the branch does not hold any more says so: nobody should look for its changes."""
    if attempt.number <= number:
        return attempt
    to = f"iteration {number}" if number else "where it began"
    note = f"the whole iteration was put back: the branch went back to {to}"
    return replace(attempt, notes=(*attempt.notes, note)[-NOTES:])


def _beginning(event: TurnEnded, now: Attempt | None) -> IterationStarted:
    """Of a turn of which only the end is known: on the rung of the try before, where there was one."""
    turn = event.turn
    before = now if now and now.number == turn.number else Attempt(turn.number)
    start = IterationStarted(event.at, turn.number, turn.agent, turn.model, before.rung, before.rungs, 0)
    return replace(start, effort=before.effort)


def _priced(attempt: Attempt, turns: Sequence[Turn]) -> Attempt:
    """As certain as the least certain sum. A try that was held up and says nothing cost nothing; one that broke off
    says nothing."""
    paid = [turn for turn in turns if turn.cost is not None]
    silent = sum(turn.cost is None and not turn.held for turn in turns)
    broken_off = max(attempt.tries - len(turns) - (attempt.end is None), 0)
    return replace(
        attempt,
        cost=sum(turn.cost or 0.0 for turn in paid) if paid else None,
        cost_status=min((turn.cost_status for turn in paid), key=_CERTAINTY.index, default="unknown"),
        unpriced=silent + broken_off,
    )


def _put_back(notes: Sequence[str], turns: Sequence[Turn]) -> tuple[str, ...]:
    """The notes in which aigon says what it undid, less those that quote the agent's own words."""
    heard = [fold(text, 40).rstrip("…") for turn in turns for text in (turn.said, turn.detail)]
    words = [text for text in heard if len(text) >= _QUOTED]
    lines = [fold(note, 10 * MAX_LINE_CHARS) for note in notes if _UNDONE.search(note)]
    own = [line for line in lines if not any(text in line for text in words)]
    return tuple(fold(line, MAX_LINE_CHARS) for line in own[:NOTES])


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """An attempt that failed, the `number`th of the feature (from 1), in the run `run_id`.

    `times` is how often its failure came in all, `nth` which of these times it is (from 1); 0 where it has no name.
    `label` tells the agents of an arena apart, and is empty in solo mode.
    """

    number: int
    run_id: str
    attempt: Attempt
    nth: int = 0
    times: int = 0
    label: str = ""


def list_failures(runs: Iterable[Sequence[Event]]) -> tuple[tuple[FailedAttempt, ...], int]:
    """The failed attempts over the `runs` of a feature, oldest first, and how many attempts there were.

    One has failed whose look found something red or open, or whose turn did not end as it should.
    """
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
    """Whether an attempt failed. One that was only held up, or that is still under way, has not."""
    if attempt.fingerprint:
        return True
    return attempt.tries > 0 and attempt.end not in ("finished", None, *TEMPORARY_ENDS)


def _identify_run(events: Sequence[Event]) -> tuple[str, str]:
    """The id of a run, and the label of its agent, where it has one."""
    started = next((event for event in events if isinstance(event, RunStarted)), None)
    if started is None:
        return "", ""
    return started.run_id, started.label if started.mode != "solo" else ""
