"""From the question to the verdicts: a generator that yields each question and is sent its answer.

First everything is decided, then every "met" whose quotes stand is put to a call that tries to refute it. What was
not plainly said, not shown or not confirmed is unclear.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from aigon.judge import reply
from aigon.judge.bounded import bounded
from aigon.judge.case import Call, Case, Claim, Judgement, Task
from aigon.judge.evidence import Evidence
from aigon.judge.question import deciding, refuting
from aigon.judge.quotes import Standing, counters, standings
from aigon.judge.selection import Shown, shown
from aigon.loop.decide import JUDGE_UNAVAILABLE
from aigon.model.criteria import Criterion, Verdict
from aigon.model.judging import JudgeAnswer, JudgeQuestion

NOTHING = "nothing was changed yet, so there is nothing to judge; `aigon approve` decides"
One = TypeVar("One")
Asking = Generator[JudgeQuestion, JudgeAnswer, dict[int, One]]


@dataclass(frozen=True, slots=True)
class Silence:
    """Why nothing was heard of a criterion; not `available` when no later call can help."""

    why: str
    available: bool = True


@dataclass(slots=True)
class _Sitting:
    """What is known of the case, and what happened so far."""

    case: Case
    view: Shown
    evidence: Evidence
    calls: list[Call] = field(default_factory=list)
    rejected: int = 0


def judgement(case: Case) -> Generator[JudgeQuestion, JudgeAnswer, Judgement]:
    """One verdict for each criterion. Nothing is asked where nothing was changed."""
    if not case.diffs:
        return Judgement(tuple(Verdict(c.number, "unclear", "human", reason=NOTHING) for c in case.criteria))
    view = shown(case.diffs, case.criteria)
    sitting = _Sitting(case, view, Evidence(view.files, case.observed))
    decided = yield from _decided(sitting)
    claims = [found for found in decided.values() if isinstance(found, Claim)]
    confirmed = yield from _confirmed(sitting, claims)
    verdicts = (confirmed.get(number) or found for number, found in decided.items())
    final = tuple(verdict for verdict in verdicts if isinstance(verdict, Verdict))
    return Judgement(final, tuple(sitting.calls), sitting.rejected)


def _batches(case: Case, items: Sequence[One]) -> list[Sequence[One]]:
    return [[item] for item in items] if case.mode == "each" else [items] if items else []


def _decided(sitting: _Sitting) -> Asking[Verdict | Claim]:
    found: dict[int, Verdict | Claim] = {}
    heard: dict[int, reply.Decision | Silence] = {}
    for criteria in _batches(sitting.case, sitting.case.criteria):
        question = deciding(sitting.case, sitting.view, criteria)
        heard |= yield from _heard(sitting, "decide", question, [c.number for c in criteria], reply.decisions)
    for criterion in sitting.case.criteria:
        said = heard[criterion.number]
        found[criterion.number] = _opinion(sitting, criterion, said)
    return found


def _heard(
    sitting: _Sitting,
    task: Task,
    question: JudgeQuestion,
    asked: Sequence[int],
    read: Callable[[str, Sequence[int]], Mapping[int, One | str]],
) -> Asking[One | Silence]:
    """One call. After one that says that no other can help, none is made."""
    last = sitting.calls[-1].answer if sitting.calls else JudgeAnswer()
    if not last.available:
        return dict.fromkeys(asked, Silence(last.failure, available=False))
    answer = yield question
    sitting.calls.append(Call(task, tuple(asked), answer))
    if answer.failure or not answer.available:
        why = answer.failure or "the judge cannot be asked"
        return dict.fromkeys(asked, Silence(why, answer.available))
    said = read(answer.text, asked)
    return {number: Silence(one) if isinstance(one, str) else one for number, one in said.items()}


def _opinion(sitting: _Sitting, criterion: Criterion, said: reply.Decision | Silence) -> Verdict | Claim:
    if isinstance(said, Silence):
        return _silent(criterion.number, said)
    if said.status == "unclear":
        return _unsure(criterion.number, _lacking(said))
    if said.status == "unmet":
        evidence = _named(counters(said.quotes, sitting.evidence))
        return Verdict(criterion.number, "unmet", "judge", evidence, bounded(_lacking(said)))
    return _claim(sitting, criterion, said)


def _claim(sitting: _Sitting, criterion: Criterion, said: reply.Decision) -> Verdict | Claim:
    """A "met" whose quotes stand; unclear where one does not, or none counts."""
    found = standings(said.quotes, criterion, sitting.evidence)
    refused = [one for one in found if one.result == "refused"]
    sitting.rejected += len(refused)
    if refused:
        return _unsure(criterion.number, f"the judge says met, but its quote was refused: {_reason(refused[0])}")
    counting = [one.shown for one in found if one.result == "counts"]
    if not counting:
        idle = f": {_reason(found[0])}" if found else ""
        return _unsure(criterion.number, f"the judge says met and quotes nothing that proves it{idle} ({said.reason})")
    return Claim(criterion, bounded(said.reason), tuple(counting))


def _confirmed(sitting: _Sitting, claims: Sequence[Claim]) -> Asking[Verdict]:
    """What is left of the claims after somebody tried to refute them."""
    heard: dict[int, reply.Refutation | Silence] = {}
    for some in _batches(sitting.case, claims):
        question = refuting(sitting.case, sitting.view, some)
        numbers = [claim.criterion.number for claim in some]
        heard |= yield from _heard(sitting, "refute", question, numbers, reply.refutations)
    return {claim.criterion.number: _upheld(sitting, claim, heard[claim.criterion.number]) for claim in claims}


def _upheld(sitting: _Sitting, claim: Claim, said: reply.Refutation | Silence) -> Verdict:
    number = claim.criterion.number
    if isinstance(said, Silence):
        return _silent(number, said, "met was not confirmed by a second call: ")
    if not said.refuted:
        return Verdict(number, "met", "judge", bounded("; ".join(claim.quotes)), claim.reason)
    found = counters(said.quotes, sitting.evidence)
    sitting.rejected += sum(one.result == "refused" for one in found)
    if against := _named(found):
        return Verdict(number, "unmet", "judge", against, bounded(said.reason))
    return _unsure(number, f"a second call disputes met without a quote that stands: {said.reason}")


def _named(found: Sequence[Standing]) -> str:
    return bounded("; ".join(one.shown for one in found if one.result == "counts"))


def _reason(standing: Standing) -> str:
    return f"{standing.shown!r}, because {standing.why}"


def _lacking(said: reply.Decision) -> str:
    return f"{said.reason} (missing: {said.missing})" if said.missing.strip() else said.reason


def _silent(number: int, silence: Silence, before: str = "") -> Verdict:
    if silence.available:
        return _unsure(number, before + silence.why)
    return Verdict(number, "unclear", JUDGE_UNAVAILABLE, reason=bounded(before + silence.why))


def _unsure(number: int, why: str) -> Verdict:
    return Verdict(number, "unclear", "judge", reason=bounded(why))
