"""Generate the questions of a judgement and turn the answers into verdicts.

First every criterion is decided. Then each "met" whose quotes hold is put to a call that tries to refute it. What was
not plainly said, not shown or not confirmed is unclear.
"""

import secrets
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from aigon.judge import reply
from aigon.judge.question import (
    Call,
    Case,
    Claim,
    Judgement,
    ObservedCheck,
    Task,
    build_decide_question,
    build_refute_question,
)
from aigon.judge.quotes import QuoteCheck, QuotedEvidence, check_countering, check_supporting
from aigon.judge.reply import bound_text
from aigon.judge.selection import ShownChange, select_shown
from aigon.model.changes import FileDiff
from aigon.model.criteria import Criterion, Verdict
from aigon.model.judging import JUDGE_UNAVAILABLE, JudgeAnswer, JudgeQuestion, JudgeSettings

NOTHING_CHANGED = "nothing was changed yet, so there is nothing to judge; `aigon approve` decides"
Item = TypeVar("Item")
Asking = Generator[JudgeQuestion, JudgeAnswer, dict[int, Item]]


@dataclass(frozen=True, slots=True)
class NoReply:
    """Why nothing was heard of a criterion; not `available` when no later call can help."""

    why: str
    available: bool = True


@dataclass(slots=True)
class _Sitting:
    """What is known of the case, and what happened so far."""

    case: Case
    view: ShownChange
    evidence: QuotedEvidence
    calls: list[Call] = field(default_factory=list)
    rejected: int = 0


def judge_case(case: Case) -> Generator[JudgeQuestion, JudgeAnswer, Judgement]:
    """One verdict for each criterion. Nothing is asked where nothing was changed."""
    if not case.diffs:
        return Judgement(tuple(Verdict(c.number, "unclear", "human", reason=NOTHING_CHANGED) for c in case.criteria))
    view = select_shown(case.diffs, case.criteria)
    sitting = _Sitting(case, view, QuotedEvidence(view.files, case.observed))
    decided = yield from _decide_all(sitting)
    claims = [found for found in decided.values() if isinstance(found, Claim)]
    confirmed = yield from _refute_all(sitting, claims)
    verdicts = (confirmed.get(number) or found for number, found in decided.items())
    final = tuple(verdict for verdict in verdicts if isinstance(verdict, Verdict))
    return Judgement(final, tuple(sitting.calls), sitting.rejected)


def _batches(case: Case, items: Sequence[Item]) -> list[Sequence[Item]]:
    return [[item] for item in items] if case.mode == "each" else [items] if items else []


def _decide_all(sitting: _Sitting) -> Asking[Verdict | Claim]:
    found: dict[int, Verdict | Claim] = {}
    heard: dict[int, reply.Decision | NoReply] = {}
    for criteria in _batches(sitting.case, sitting.case.criteria):
        question = build_decide_question(sitting.case, sitting.view, criteria)
        heard |= yield from _ask(sitting, "decide", question, [c.number for c in criteria], reply.parse_decisions)
    for criterion in sitting.case.criteria:
        said = heard[criterion.number]
        found[criterion.number] = _opinion(sitting, criterion, said)
    return found


def _ask(
    sitting: _Sitting,
    task: Task,
    question: JudgeQuestion,
    asked: Sequence[int],
    read: Callable[[str, Sequence[int]], Mapping[int, Item | str]],
) -> Asking[Item | NoReply]:
    """One call. After one that says that no other can help, none is made."""
    last = sitting.calls[-1].answer if sitting.calls else JudgeAnswer()
    if not last.available:
        return dict.fromkeys(asked, NoReply(last.failure, available=False))
    answer = yield question
    sitting.calls.append(Call(task, tuple(asked), answer))
    if answer.failure or not answer.available:
        why = answer.failure or "the judge cannot be asked"
        return dict.fromkeys(asked, NoReply(why, answer.available))
    said = read(answer.text, asked)
    return {number: NoReply(one) if isinstance(one, str) else one for number, one in said.items()}


def _opinion(sitting: _Sitting, criterion: Criterion, said: reply.Decision | NoReply) -> Verdict | Claim:
    if isinstance(said, NoReply):
        return _unanswered(criterion.number, said)
    if said.status == "unclear":
        return _unsure(criterion.number, _describe_missing(said))
    if said.status == "unmet":
        evidence = _join_counting(check_countering(said.quotes, sitting.evidence))
        return Verdict(criterion.number, "unmet", "judge", evidence, bound_text(_describe_missing(said)))
    return _check_claim(sitting, criterion, said)


def _check_claim(sitting: _Sitting, criterion: Criterion, said: reply.Decision) -> Verdict | Claim:
    """Return a "met" whose quotes stand; unclear where one does not, or none counts."""
    found = check_supporting(said.quotes, criterion, sitting.evidence)
    refused = [one for one in found if one.result == "refused"]
    sitting.rejected += len(refused)
    if refused:
        return _unsure(criterion.number, f"the judge says met, but its quote was refused: {_reason(refused[0])}")
    counting = [one.shown for one in found if one.result == "counts"]
    if not counting:
        idle = f": {_reason(found[0])}" if found else ""
        return _unsure(criterion.number, f"the judge says met and quotes nothing that proves it{idle} ({said.reason})")
    return Claim(criterion, bound_text(said.reason), tuple(counting))


def _refute_all(sitting: _Sitting, claims: Sequence[Claim]) -> Asking[Verdict]:
    """Return what is left of the claims after somebody tried to refute them."""
    heard: dict[int, reply.Refutation | NoReply] = {}
    for some in _batches(sitting.case, claims):
        question = build_refute_question(sitting.case, sitting.view, some)
        numbers = [claim.criterion.number for claim in some]
        heard |= yield from _ask(sitting, "refute", question, numbers, reply.parse_refutations)
    return {claim.criterion.number: _upheld(sitting, claim, heard[claim.criterion.number]) for claim in claims}


def _upheld(sitting: _Sitting, claim: Claim, said: reply.Refutation | NoReply) -> Verdict:
    number = claim.criterion.number
    if isinstance(said, NoReply):
        return _unanswered(number, said, "met was not confirmed by a second call: ")
    if not said.refuted:
        return Verdict(number, "met", "judge", bound_text("; ".join(claim.quotes)), claim.reason)
    found = check_countering(said.quotes, sitting.evidence)
    sitting.rejected += sum(one.result == "refused" for one in found)
    if against := _join_counting(found):
        return Verdict(number, "unmet", "judge", against, bound_text(said.reason))
    return _unsure(number, f"a second call disputes met without a quote that stands: {said.reason}")


def _join_counting(found: Sequence[QuoteCheck]) -> str:
    return bound_text("; ".join(one.shown for one in found if one.result == "counts"))


def _reason(standing: QuoteCheck) -> str:
    return f"{standing.shown!r}, because {standing.why}"


def _describe_missing(said: reply.Decision) -> str:
    return f"{said.reason} (missing: {said.missing})" if said.missing.strip() else said.reason


def _unanswered(number: int, silence: NoReply, before: str = "") -> Verdict:
    if silence.available:
        return _unsure(number, before + silence.why)
    return Verdict(number, "unclear", JUDGE_UNAVAILABLE, reason=bound_text(before + silence.why))


def _unsure(number: int, why: str) -> Verdict:
    return Verdict(number, "unclear", "judge", reason=bound_text(why))


def judge_change(
    settings: JudgeSettings,
    criteria: Sequence[Criterion],
    spec_text: str,
    file_diffs: Sequence[FileDiff],
    findings: Sequence[ObservedCheck],
    *,
    ask: Callable[[JudgeQuestion], JudgeAnswer],
) -> Judgement:
    """Return the verdicts on `criteria`, with every quote checked and every "met" put to a refuting call.

    `ask` makes one call (a backend's `ask`, bound to settings). It is called once for all criteria or once for each
    (`settings.mode`), then again for the claims that stood. What fails is an unclear verdict, never an exception.
    `file_diffs` come from `aigon.git.diff.diff_trees` or `aigon.git.diff.parse_diff` (text of one).
    """

    case = build_case(settings, criteria, spec_text, file_diffs, findings)
    steps = judge_case(case)
    try:
        question = next(steps)
        while True:
            question = steps.send(ask(question))
    except StopIteration as end:
        result: Judgement = end.value
        return result


def build_case(
    settings: JudgeSettings,
    criteria: Sequence[Criterion],
    spec_text: str,
    file_diffs: Sequence[FileDiff],
    findings: Sequence[ObservedCheck],
) -> Case:
    """Return the case, with delimiters that nobody could foresee."""
    mark = secrets.token_hex(8)
    return Case(tuple(criteria), spec_text, tuple(file_diffs), tuple(findings), mark, settings.mode)
