"""Generate the questions of a judgement and turn the answers into verdicts.

First every criterion is decided. Then each "met" whose quotes hold is put to a call that tries to refute it. What was
not plainly said, not shown or not confirmed is unclear.
"""

import secrets
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct, field

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
from aigon.judge.selection import select_shown
from aigon.model.changes import FileDiff
from aigon.model.criteria import Criterion, Verdict
from aigon.model.requests import JUDGE_UNAVAILABLE, JudgeAnswer, JudgeQuestion, JudgeSettings

NOTHING_CHANGED = "nothing was changed yet, so there is nothing to judge; `aigon approve` decides"
Item = TypeVar("Item")


class NoReply(Struct, frozen=True):
    """Why nothing was heard of a criterion; not `available` if no later call can help."""

    why: str
    available: bool = True


class _Sitting(Struct):
    """The facts of a case, and what happened so far."""

    case: Case
    evidence: QuotedEvidence
    calls: list[Call] = field(default_factory=list)
    rejected: int = 0


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
    (`settings.mode`), then again for the claims whose quotes hold. What fails is an unclear verdict, never an
    exception. `file_diffs` come from `aigon.git.diff.diff_trees` or `aigon.git.diff.parse_diff` (text of one).
    """
    steps = judge_case(build_case(settings, criteria, spec_text, file_diffs, findings))
    try:
        question = next(steps)
        while True:
            question = steps.send(ask(question))
    except StopIteration as end:
        judgement: Judgement = end.value
        return judgement


def build_case(
    settings: JudgeSettings,
    criteria: Sequence[Criterion],
    spec_text: str,
    file_diffs: Sequence[FileDiff],
    findings: Sequence[ObservedCheck],
) -> Case:
    """Return the case, with unpredictable delimiters."""
    mark = secrets.token_hex(8)
    return Case(tuple(criteria), spec_text, tuple(file_diffs), tuple(findings), mark, settings.mode)


def judge_case(case: Case) -> Generator[JudgeQuestion, JudgeAnswer, Judgement]:
    """Yield the questions and return one verdict for each criterion. Without a change nothing is asked."""
    if not case.diffs:
        return Judgement(tuple(Verdict(c.number, "unclear", "human", reason=NOTHING_CHANGED) for c in case.criteria))
    view = select_shown(case.diffs, case.criteria)
    sitting = _Sitting(case, QuotedEvidence(view.files, case.observed))
    decisions: dict[int, reply.Decision | NoReply] = {}
    for criteria in _split(case, case.criteria):
        question = build_decide_question(case, view, criteria)
        numbers = [criterion.number for criterion in criteria]
        decisions |= yield from _ask(sitting, "decide", question, numbers, reply.parse_decisions)
    opinions = [_weigh_decision(sitting, criterion, decisions[criterion.number]) for criterion in case.criteria]
    refutations: dict[int, reply.Refutation | NoReply] = {}
    for claims in _split(case, [opinion for opinion in opinions if isinstance(opinion, Claim)]):
        question = build_refute_question(case, view, claims)
        numbers = [claim.criterion.number for claim in claims]
        refutations |= yield from _ask(sitting, "refute", question, numbers, reply.parse_refutations)
    verdicts = tuple(
        _weigh_refutation(sitting, opinion, refutations[opinion.criterion.number])
        if isinstance(opinion, Claim)
        else opinion
        for opinion in opinions
    )
    return Judgement(verdicts, tuple(sitting.calls), sitting.rejected)


def _split(case: Case, items: Sequence[Item]) -> list[Sequence[Item]]:
    """Return what each call is about: one item, or all of them."""
    return [[item] for item in items] if case.mode == "each" else [items] if items else []


def _ask(
    sitting: _Sitting,
    task: Task,
    question: JudgeQuestion,
    numbers: Sequence[int],
    parse: Callable[[str, Sequence[int]], Mapping[int, Item | str]],
) -> Generator[JudgeQuestion, JudgeAnswer, dict[int, Item | NoReply]]:
    """Make one call. After one that says that no other can help, none is made."""
    last = sitting.calls[-1].answer if sitting.calls else JudgeAnswer()
    if not last.available:
        return dict.fromkeys(numbers, NoReply(last.failure, available=False))
    answer = yield question
    sitting.calls.append(Call(task, tuple(numbers), answer))
    if answer.failure or not answer.available:
        return dict.fromkeys(numbers, NoReply(answer.failure or "the judge cannot be asked", answer.available))
    items = parse(answer.text, numbers)
    return {number: NoReply(item) if isinstance(item, str) else item for number, item in items.items()}


def _weigh_decision(sitting: _Sitting, criterion: Criterion, decision: reply.Decision | NoReply) -> Verdict | Claim:
    """Return the verdict of a decision; a claim for a "met" whose quotes hold, of which one at least counts."""
    number = criterion.number
    if isinstance(decision, NoReply):
        return _make_unanswered(number, decision)
    if decision.status != "met":
        why = f"{decision.reason} (missing: {decision.missing})" if decision.missing.strip() else decision.reason
        if decision.status == "unclear":
            return _unclear(number, why)
        evidence = _join_counting(check_countering(decision.quotes, sitting.evidence))
        return Verdict(number, "unmet", "judge", evidence, bound_text(why))
    checks = check_supporting(decision.quotes, criterion, sitting.evidence)
    refused = [check for check in checks if check.result == "refused"]
    sitting.rejected += len(refused)
    if refused:
        return _unclear(number, f"the judge says met, but its quote was refused: {_explain(refused[0])}")
    counting = tuple(check.shown for check in checks if check.result == "counts")
    if not counting:
        idle = f": {_explain(checks[0])}" if checks else ""
        return _unclear(number, f"the judge says met and quotes nothing that proves it{idle} ({decision.reason})")
    return Claim(criterion, bound_text(decision.reason), counting)


def _weigh_refutation(sitting: _Sitting, claim: Claim, refutation: reply.Refutation | NoReply) -> Verdict:
    """Return the verdict on a claim after an attempt to refute it."""
    number = claim.criterion.number
    if isinstance(refutation, NoReply):
        return _make_unanswered(number, refutation, "met was not confirmed by a second call: ")
    if not refutation.refuted:
        return Verdict(number, "met", "judge", bound_text("; ".join(claim.quotes)), claim.reason)
    checks = check_countering(refutation.quotes, sitting.evidence)
    sitting.rejected += sum(check.result == "refused" for check in checks)
    if against := _join_counting(checks):
        return Verdict(number, "unmet", "judge", against, bound_text(refutation.reason))
    return _unclear(number, f"a second call disputes met without a valid quote: {refutation.reason}")


def _join_counting(checks: Sequence[QuoteCheck]) -> str:
    return bound_text("; ".join(check.shown for check in checks if check.result == "counts"))


def _explain(check: QuoteCheck) -> str:
    return f"{check.shown!r}, because {check.why}"


def _make_unanswered(number: int, silence: NoReply, before: str = "") -> Verdict:
    method = "judge" if silence.available else JUDGE_UNAVAILABLE
    return Verdict(number, "unclear", method, reason=bound_text(before + silence.why))


def _unclear(number: int, why: str) -> Verdict:
    return Verdict(number, "unclear", "judge", reason=bound_text(why))
