"""What was found by running something for a comparison: new tests, cross-checks, what a judge prefers.

All of it was seen by aigon itself or is `unknown`; names of tests are text that agents wrote.
"""

from dataclasses import dataclass
from typing import Literal

from aigon.model.turns import CostStatus

Preferred = Literal["one", "other", "tie", "unknown"]


@dataclass(frozen=True, slots=True)
class NewTests:
    """The tests that a candidate added, by name, and what they do on the base without its work.

    A test is in exactly one of `red_on_base`, `green_on_base` and `unknown` (it could not be run there); `why` says in
    words why something is unknown, "" where all is known. Nothing added and no `why`: it added none, and that is known.
    """

    added: tuple[str, ...] = ()
    red_on_base: tuple[str, ...] = ()
    green_on_base: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class CrossCheck:
    """The new tests of one candidate on the work of another; both are labels. Advisory: names and places may differ.

    `failed` names tests that ran and failed, `errors` what could not run (an import that is missing there); `why` says
    why nothing is known, "" where it is.
    """

    tests_of: str
    against: str
    passed: int = 0
    failed: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    why: str = ""

    @property
    def known(self) -> bool:
        """Whether it ran at all."""
        return not self.why and bool(self.passed or self.failed or self.errors)


@dataclass(frozen=True, slots=True)
class Preference:
    """Which of two a judge prefers, asked in both orders without names; answers that do not agree are a tie.

    `one` and `other` are labels, `reasons` the judge's words. `cost` is in US dollars, of both calls together; None
    where it is not known.
    """

    one: str
    other: str
    result: Preferred
    reasons: tuple[str, ...] = ()
    cost: float | None = None
    cost_status: CostStatus = "unknown"
