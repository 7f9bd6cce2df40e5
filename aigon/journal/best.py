"""The assessments that a branch can go back to, the best of them, and why it is the best.

What counts, the most important first: criteria passed, nothing lost of what the baseline had, checks passed, tests
passed. An open integrity review voids the criteria: that very change may have made them pass. Of equals the earliest is
the best.
"""

from collections.abc import Sequence
from itertools import takewhile

from msgspec import Struct

from aigon.journal.attempt import Attempt
from aigon.journal.events import IterationFinished
from aigon.model.checks import OWN_ROLES, Finding
from aigon.model.failures import has_failed
from aigon.text.amounts import format_count

Rating = tuple[int, int, int, int]
KEPT = 20
"""Assessments of each kind that are kept: a run of 1,000 iterations holds no more than one of 20."""


class Looks(Struct, frozen=True):
    """The assessments of commits that a branch can go back to, oldest first.

    `newest` are the last ones, one for each time that the last iteration is repeated; each of `leaders` was better than
    all before it, so that the best is still known after some were undone.
    """

    newest: tuple[IterationFinished, ...] = ()
    leaders: tuple[IterationFinished, ...] = ()

    @property
    def best(self) -> IterationFinished | None:
        """The best of all; where the run began, if none is better."""
        return self.leaders[-1] if self.leaders else None

    def find(self, number: int) -> IterationFinished | None:
        """Return the assessment of that iteration."""
        return next((look for look in (*self.newest, *self.leaders) if look.number == number), None)

    def add(self, look: IterationFinished, base: IterationFinished | None) -> "Looks":
        """Return these with one more, which replaces that of the same number."""
        before = self.until(look.number - 1)
        leads = before.best is None or rate_assessment(look, base) > rate_assessment(before.best, base)
        leaders = (*before.leaders, look)[-KEPT:] if leads else before.leaders
        return Looks((*before.newest, look)[-KEPT:], leaders)

    def until(self, number: int) -> "Looks":
        """Return these without those of later iterations."""
        newest, leaders = ([look for look in kept if look.number <= number] for kept in (self.newest, self.leaders))
        return Looks(tuple(newest or leaders[-1:]), tuple(leaders))


def is_unchanged_since(attempts: Sequence[Attempt], number: int) -> bool:
    """Return whether no iteration after that one changed a file: then there is nothing to go back from."""
    later = takewhile(lambda attempt: attempt.number > number, reversed(attempts))
    return bool(attempts) and attempts[-1].number > number and not any(attempt.changed for attempt in later)


def rate_assessment(look: IterationFinished, base: IterationFinished | None) -> Rating:
    """Return the rank of an assessment: the greater the better."""
    # aigon's own checks are no progress of the project's: some run only where all else is proven.
    own = [finding for finding in look.findings if finding.role not in OWN_ROLES]
    green = sum(finding.status == "pass" for finding in own)
    passed = sum(finding.counts.passed for finding in own if finding.counts)
    return (0 if count_reviews(look) else count_passed_criteria(look), -count_regressions(look, base), green, passed)


def count_passed_criteria(look: IterationFinished) -> int:
    """Return how many criteria passed."""
    return sum(verdict.status == "met" for verdict in look.verdicts)


def count_reviews(look: IterationFinished) -> int:
    """Return how many integrity findings a person has to review."""
    return sum(concern.level == "review" for concern in look.concerns)


def count_regressions(look: IterationFinished, base: IterationFinished | None) -> int:
    """Count what the baseline had and `look` lacks: passing checks, and passing tests.

    The tests that passed in a failing check are not known by name, so the drop in their number counts.
    """
    now = {finding.check: finding for finding in look.findings}
    before = [finding for finding in base.findings if finding.role not in OWN_ROLES] if base else []
    return sum(_lost(finding, now.get(finding.check)) for finding in before)


def _lost(before: Finding, now: Finding | None) -> int:
    if now is None:
        return int(before.status == "pass")
    fewer = before.counts.passed - now.counts.passed if before.counts and now.counts and has_failed(now) else 0
    return max(fewer, 0) + int(before.status == "pass" and has_failed(now))


def name_assessment(look: IterationFinished) -> str:
    """Return `iteration 2`, or `the base`."""
    return f"iteration {look.number}" if look.number else "the base"


def describe_progress(look: IterationFinished, base: IterationFinished | None = None) -> str:
    """Return `3 of 4 passed`, and what speaks against it."""
    against = [f"{count_reviews(look)} to review"] if count_reviews(look) else []
    against += [f"{format_count(gone, 'regression')} from the base"] if (gone := count_regressions(look, base)) else []
    return ", ".join([f"{count_passed_criteria(look)} of {len(look.verdicts)} passed", *against])


def explain_better(look: IterationFinished, other: IterationFinished, base: IterationFinished | None) -> str:
    """Return why `look` is better than the later `other`, by the first thing that tells them apart."""
    mine, theirs = rate_assessment(look, base), rate_assessment(other, base)
    if mine == theirs:
        return "no more criteria passed after it"
    at = next(number for number in range(len(mine)) if mine[number] != theirs[number])
    if at < 2:
        return f"{name_assessment(other)} has {describe_progress(other, base)}"
    what = ("checks passed", "tests passed")[at - 2]
    return f"{name_assessment(other)} has {theirs[at]} {what} instead of {mine[at]}"
