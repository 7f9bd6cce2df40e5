"""The accuracy of a judge on changes of which the truth is known."""

from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct, field

from aigon.model.criteria import VerdictStatus
from aigon.model.requests import JudgeAnswer
from aigon.model.turns import CostStatus, Usage

Truth = Literal["met", "unmet"]


class LabelledVerdict(Struct, frozen=True):
    """A judge's verdict on one criterion, and the truth."""

    number: int
    text: str
    truth: Truth
    said: VerdictStatus
    reason: str = ""

    @property
    def is_false_tick(self) -> bool:
        """True if it was said to be met and is not: a run could end as proven on it."""
        return self.said == "met" and self.truth == "unmet"

    @property
    def is_missed_tick(self) -> bool:
        """True if it is met and was said not to be: an agent would be sent to fix what is whole."""
        return self.said == "unmet" and self.truth == "met"


class Calls(Struct, frozen=True):
    """Totals over some calls. `failures` says why some brought no answer.

    `cost` is in US dollars, of the calls that said it, None if none did; `unsaid` counts the others.
    """

    number: int = 0
    failures: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    cost_status: CostStatus = "unknown"
    unsaid: int = 0


def sum_calls(answers: Iterable[JudgeAnswer]) -> Calls:
    """Return the sum of all calls. Its cost is as certain as that of the least certain call."""
    made = tuple(answers)
    used = [answer.usage for answer in made if answer.usage]
    costs = [answer.cost for answer in made if answer.cost is not None]
    estimated = any(answer.cost_status == "estimated" for answer in made)
    return Calls(
        number=len(made),
        failures=tuple(answer.failure for answer in made if answer.failure),
        usage=Usage.of_all(used),
        cost=sum(costs) if costs else None,
        cost_status="unknown" if len(costs) < len(made) or not made else "estimated" if estimated else "reported",
        unsaid=len(made) - len(costs),
    )


class JudgedCase(Struct, frozen=True):
    """One change, judged once; `round` counts from 1, `rejected` the quotes that were refused.

    `answers` are those of its calls; `seconds` is wall-clock time.
    """

    case: str
    about: str
    round: int
    decided: tuple[LabelledVerdict, ...]
    rejected: int = 0
    answers: tuple[JudgeAnswer, ...] = ()
    seconds: float = 0.0


class AccuracyReport(Struct, frozen=True):
    """Every judgement. `source` is where the changes are; `complete` is False if it was stopped; `expected` is how
    many judgements were due."""

    backend: str
    model: str
    mode: str
    source: str
    expected: int
    judged: tuple[JudgedCase, ...]
    complete: bool = True

    @property
    def decided(self) -> tuple[LabelledVerdict, ...]:
        """Every verdict."""
        return tuple(one for each in self.judged for one in each.decided)

    @property
    def calls(self) -> Calls:
        """The total of all calls."""
        return sum_calls(answer for each in self.judged for answer in each.answers)

    @property
    def wavering(self) -> tuple[tuple[str, int], ...]:
        """Criteria (case and number) on which the judge did not say the same in every round."""
        said: dict[tuple[str, int], set[str]] = {}
        for each in self.judged:
            for one in each.decided:
                said.setdefault((each.case, one.number), set()).add(one.said)
        return tuple(criterion for criterion, words in said.items() if len(words) > 1)


def count_verdicts(decided: Iterable[LabelledVerdict]) -> Mapping[str, int]:
    """Return how many verdicts were right and wrong, by the way in which they were."""
    verdicts = tuple(decided)
    return {
        "verdicts": len(verdicts),
        "right": sum(one.said == one.truth for one in verdicts),
        "false_ticks": sum(one.is_false_tick for one in verdicts),
        "missed_ticks": sum(one.is_missed_tick for one in verdicts),
        "unclear": sum(one.said == "unclear" for one in verdicts),
        "unclear_though_met": sum(one.said == "unclear" and one.truth == "met" for one in verdicts),
    }
