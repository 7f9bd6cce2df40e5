"""The answer of a judge, and the verdicts it amounts to. What is not plainly said is unclear."""

from collections import Counter
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from aigon.core.model import Criterion, Verdict
from aigon.judges._unclear import bounded, unclear


class Decision(BaseModel):
    """One criterion. The status comes last, so that it follows from what was found."""

    model_config = ConfigDict(extra="forbid", strict=True)

    criterion: int
    evidence: str
    reason: str
    status: Literal["met", "unmet", "unclear"]


class Answer(BaseModel):
    """One decision for each criterion, exactly once."""

    model_config = ConfigDict(extra="forbid", strict=True)

    verdicts: list[Decision]


def verdicts(text: str, criteria: tuple[Criterion, ...]) -> tuple[Verdict, ...]:
    """One verdict per criterion, by the reply's text."""
    try:
        answer = Answer.model_validate_json(text)
    except ValidationError as error:
        return unclear(criteria, f"the judge's reply is not in the format that was asked for ({_first(error)})")
    strangers = {one.criterion for one in answer.verdicts} - {one.number for one in criteria}
    if strangers:
        named = ", ".join(map(str, sorted(strangers)))
        return unclear(criteria, f"the judge's reply speaks of criteria that were not asked ({named})")
    return _matched(answer.verdicts, criteria)


def _matched(decisions: list[Decision], criteria: tuple[Criterion, ...]) -> tuple[Verdict, ...]:
    times = Counter(one.criterion for one in decisions)
    by_number = {one.criterion: one for one in decisions}
    return tuple(_verdict(one.number, times[one.number], by_number.get(one.number)) for one in criteria)


def _verdict(number: int, times: int, decision: Decision | None) -> Verdict:
    if decision is None:
        return Verdict(number, "unclear", "judge", reason="the judge's reply leaves this criterion out")
    if times > 1:
        return Verdict(number, "unclear", "judge", reason=f"the judge decided this criterion {times} times")
    evidence, reason = bounded(decision.evidence), bounded(decision.reason)
    if decision.status == "met" and not evidence:
        return Verdict(number, "unclear", "judge", reason=f"the judge gave no evidence: {reason}")
    return Verdict(number, decision.status, "judge", evidence, reason)


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}" if first["loc"] else first["msg"]
