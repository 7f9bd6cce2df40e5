"""Find the best assessment, and say why it is.

What counts, the most important first: criteria passed, nothing lost of what the baseline had, checks passed, tests
passed. An open integrity review voids the criteria: that very change may have made them pass. Of equals the earliest is
the best.
"""

from collections.abc import Callable, Iterable

from aigon.journal.attempt import Attempt
from aigon.journal.events import IterationFinished
from aigon.model.checks import OWN_ROLES, Finding
from aigon.model.failures import has_failed
from aigon.text.amounts import format_count

Rating = tuple[int, int, int, int]
RateAssessment = Callable[[IterationFinished, IterationFinished | None], Rating]


def find_best(
    looks: Iterable[IterationFinished], base: IterationFinished | None, order: RateAssessment | None = None
) -> IterationFinished | None:
    """Return the best of `looks`, oldest first; None if none is better than the first, where the run began."""
    known = list(looks)
    # `max` keeps the first of equals.
    found = max(known, key=lambda look: (order or rate_assessment)(look, base), default=None)
    return None if found is None or found is known[0] else found


def is_unchanged_since(attempts: Iterable[Attempt], number: int) -> bool:
    """Return whether no iteration after that one changed a file: then there is nothing to go back from."""
    later = [attempt.changed for attempt in attempts if attempt.number > number]
    return bool(later) and not any(later)


def rate_assessment(look: IterationFinished, base: IterationFinished | None) -> Rating:
    """Return the rank of an assessment: the greater the better."""
    # aigon's own checks are no progress of the project's: some run only where all else is proven.
    own = [finding for finding in look.findings if finding.role not in OWN_ROLES]
    green = sum(finding.status == "pass" for finding in own)
    passed = sum(finding.counts.passed for finding in own if finding.counts)
    return (0 if count_reviews(look) else count_passed_criteria(look), -count_regressions(look, base), green, passed)


class CachedRatings:
    """Rates each assessment once: the best of a thousand is asked for in every turn."""

    def __init__(self) -> None:
        self._base: IterationFinished | None = None
        self._known: dict[int, tuple[IterationFinished, Rating]] = {}

    def __call__(self, look: IterationFinished, base: IterationFinished | None) -> Rating:
        if base is not self._base:
            self._base, self._known = base, {}
        known = self._known.get(look.number)
        if known is None or known[0] is not look:
            known = self._known[look.number] = (look, rate_assessment(look, base))
        return known[1]


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
