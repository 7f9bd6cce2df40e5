"""The replies of a judge, read strictly: what is not plainly said was not said."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal, TypeVar

from aigon.judge.strict_json import Strict, document, malformed


class Quote(Strict):
    """`source` is `diff` or the name of a check; `path` and `line` belong to a quote from the diff."""

    source: str
    path: str
    line: int
    text: str


class Decision(Strict):
    """One criterion. The status comes last, so that it follows from what was found."""

    criterion: int
    quotes: list[Quote]
    missing: str
    reason: str
    status: Literal["met", "unmet", "unclear"]


class Refutation(Strict):
    """One claim, and whether something that can be quoted speaks against it."""

    criterion: int
    quotes: list[Quote]
    reason: str
    refuted: bool


class Decisions(Strict):
    """The reply to `decide`."""

    verdicts: list[Decision]


class Refutations(Strict):
    """The reply to `refute`."""

    refutations: list[Refutation]


One = TypeVar("One", Decision, Refutation)


def decisions(text: str, asked: Sequence[int]) -> dict[int, Decision | str]:
    """For each criterion asked its decision, or why there is none."""
    try:
        return _matched(Decisions.model_validate(document(text)).verdicts, asked)
    except (ValueError, RecursionError) as error:
        return dict.fromkeys(asked, malformed(error))


def refutations(text: str, asked: Sequence[int]) -> dict[int, Refutation | str]:
    """For each criterion asked what was said against it, or why that is not known."""
    try:
        return _matched(Refutations.model_validate(document(text)).refutations, asked)
    except (ValueError, RecursionError) as error:
        return dict.fromkeys(asked, malformed(error))


def _matched(found: Sequence[One], asked: Sequence[int]) -> dict[int, One | str]:
    strangers = sorted({one.criterion for one in found} - set(asked))
    if strangers:
        named = ", ".join(map(str, strangers[:10]))
        return dict.fromkeys(asked, f"the judge's reply speaks of criteria that were not asked ({named})")
    times = Counter(one.criterion for one in found)
    by_number: dict[int, One] = {one.criterion: one for one in found}
    return {number: _only(times[number], by_number.get(number)) for number in asked}


def _only(times: int, one: One | None) -> One | str:
    if one is None:
        return "the judge's reply leaves this criterion out"
    return one if times == 1 else f"the judge decided this criterion {times} times"
