"""The gates, the measures after them, the order of the candidates, and who dominates whom.

A gate is what a candidate has to show before anything else of it counts. What is not known does not pass.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import permutations
from typing import Literal

from msgspec import Struct

from aigon.compare.facts import CandidateFacts
from aigon.job.assessment import IN_PLACE
from aigon.model.checks import Finding, Role
from aigon.model.outcomes import Met, describe_outcome
from aigon.text import amounts

GateResult = Literal["pass", "fail", "unknown"]
OWN_ROLES = ("proof", "integrity")
"""Findings that have a gate of their own."""
BASE_TESTS = "base-tests"
"""The rule about what fails with the base's versions of what an agent touched."""


class Gate(Struct, frozen=True):
    """One gate of one candidate. `key` is for scripts, `title` for people; `why` may hold text of others."""

    key: str
    title: str
    result: GateResult
    why: str


def judge_gates(entry: CandidateFacts) -> tuple[Gate, ...]:
    """Return all gates of a candidate, in the order in which they are shown."""
    stale = _judge_staleness(entry)
    return tuple(Gate(key, title, *(stale or judge(entry))) for key, title, judge in _GATES)


def combine_gates(entry: CandidateFacts) -> GateResult:
    """Return all gates as one: fail if one fails, else unknown if one is, else pass."""
    results = [gate.result for gate in judge_gates(entry)]
    return "fail" if "fail" in results else "unknown" if "unknown" in results else "pass"


_Judged = tuple[GateResult, str]


def _judge_staleness(entry: CandidateFacts) -> _Judged | None:
    """Return why no gate can be judged: what was found holds only for the commit that was assessed."""
    if entry.look is None:
        return "unknown", "not assessed yet"
    if not entry.tip:
        return "unknown", "its branch is gone"
    return None if entry.fresh else ("unknown", "the branch has changed since it was assessed")


def _judge_criteria(entry: CandidateFacts) -> _Judged:
    total = entry.criteria if entry.criteria is not None else len(entry.look.verdicts if entry.look else ())
    if not total:
        return "unknown", "there are no criteria"
    return ("pass" if entry.proven == total else "fail"), f"{entry.proven} of {total} passed"


def _judge_checks(entry: CandidateFacts) -> _Judged:
    if entry.skipped:
        return "unknown", "its run skipped validation"
    findings = [f for f in (entry.look.findings if entry.look else ()) if f.role not in OWN_ROLES]
    failed = [f for f in findings if f.status != "pass"]
    if counted := [f for f in failed if f.role == "git" or f.check not in entry.known_failures]:
        return "fail", "; ".join(f"{f.title}: {f.summary or f.status}" for f in counted)
    if any(f.role != "git" and f.status == "pass" for f in findings):
        known = f", and {len(failed)} known to fail" if failed else ""
        return "pass", f"{len(findings) - len(failed)} of {len(findings)} passed{known}"
    if isinstance(entry.outcome, Met):  # the commands of its criteria alone may decide a feature
        return "pass", "there is no check, and commands proved the criteria"
    return "unknown", "no check passed"


def _judge_integrity(entry: CandidateFacts) -> _Judged:
    if reviews := [concern for concern in entry.reviews if concern.rule != BASE_TESTS]:
        rules = ", ".join(dict.fromkeys(concern.rule for concern in reviews))
        return "fail", f"a person has to look at {rules}: {reviews[0].what}"
    own = _select_findings(entry, "integrity")
    if any(f.status != "pass" for f in own) and not entry.reviews:
        return "fail", own[0].summary
    if own or isinstance(entry.outcome, Met) or _select_findings(entry, "proof"):
        return "pass", f"{len(entry.concerns)} to know" if entry.concerns else "nothing found"
    return "unknown", "the full check for integrity runs only once everything else is proven"


def _judge_base_tests(entry: CandidateFacts) -> _Judged:
    if lost := [concern for concern in entry.reviews if concern.rule == BASE_TESTS]:
        return "fail", lost[0].what
    if entry.regressed:
        return "fail", f"{len(entry.regressed)} that the base passed, failing now: {', '.join(entry.regressed[:3])}"
    if proofs := _select_findings(entry, "proof"):
        return ("pass" if proofs[0].status == "pass" else "fail"), proofs[0].summary
    if entry.was_tested is False:
        return "pass", "the base has no tests that aigon ran"
    tests = _select_findings(entry, "tests")
    if tests and all(f.status == "pass" for f in tests) and entry.changed and entry.changed.touched_tests is False:
        return "pass", "the base's tests were not touched, and pass"
    if isinstance(entry.outcome, Met) and IN_PLACE in entry.outcome.caveats:
        return "pass", f"not asked: {IN_PLACE}"  # the project gave that proof up, for everybody
    return "unknown", "whether each still passes was not proven"


def _judge_outcome(entry: CandidateFacts) -> _Judged:
    if entry.outcome is None:
        return "unknown", "it still runs" if entry.running else "its last run broke off"
    if not isinstance(entry.outcome, Met):
        return "fail", describe_outcome(entry.outcome)
    if entry.judged != entry.tip:
        return "unknown", "the branch has changed since it was proven"
    return "pass", "; ".join(("its run ended as proven", *entry.outcome.caveats))


def _select_findings(entry: CandidateFacts, role: Role) -> list[Finding]:
    return [finding for finding in (entry.look.findings if entry.look else ()) if finding.role == role]


_GATES: tuple[tuple[str, str, Callable[[CandidateFacts], _Judged]], ...] = (
    ("criteria", "Criteria passed", _judge_criteria),
    ("checks", "Checks passed", _judge_checks),
    ("integrity", "Integrity clean", _judge_integrity),
    ("base-tests", "Base's tests kept", _judge_base_tests),
    ("outcome", "Run ended as proven", _judge_outcome),
)


class Measure(Struct, frozen=True):
    """One number of a candidate, None if it is not known. `best` and `worst` are said of extreme values.

    Values that differ by at most `slack`, or by the `share` of the better one, are equal: what varies from one run to
    the next decides nothing. `shown` writes a value for people.
    """

    key: str
    title: str
    value: Callable[[CandidateFacts], float | None]
    best: str
    worst: str
    better: Literal["less", "more"] = "less"
    slack: float = 0.0
    share: float = 0.0
    shown: Callable[[float], str] = lambda value: f"{value:g}"

    def find_best(self, values: Sequence[float]) -> float:
        return min(values) if self.better == "less" else max(values)

    def is_equal(self, best: float, other: float) -> bool:
        """Return whether `other` is as good as the best."""
        return abs(best - other) <= max(self.slack, self.share * abs(best))

    def is_ahead(self, one: float, other: float) -> bool:
        """Return whether `one` is clearly better than `other`."""
        return one != other and self.find_best((one, other)) == one and not self.is_equal(one, other)


def format_signed(value: float) -> str:
    return f"{value:+g}" if value else "0"


def _measure_new_tests(entry: CandidateFacts) -> float | None:
    """Return whether it brought a test that the base fails. How many says more about how tests are cut."""
    tests = entry.new_tests
    if tests is None or (not tests.red_on_base and (tests.why or tests.unknown)):
        return None
    return float(bool(tests.red_on_base))


def count_outside(entry: CandidateFacts) -> int | None:
    return len(entry.changed.outside) if entry.changed and entry.changed.outside is not None else None


def _count_concerns(entry: CandidateFacts) -> float | None:
    """Count all but suppressions, which are a measure of their own."""
    return len([c for c in entry.concerns if c.rule != "suppressions"]) if entry.look else None


MEASURES = (
    Measure("concerns", "Integrity notes", _count_concerns, "the fewest integrity notes", "the most integrity notes"),
    Measure("outside", "Files outside the area", count_outside,
            "the fewest files outside the expected area", "the most files outside the expected area"),
    Measure("suppressions", "Suppressions added", lambda e: e.changed.suppressions if e.changed else None,
            "the fewest suppressions of checkers", "the most suppressions of checkers", shown=format_signed),
    Measure("new-tests", "A new test red on base", _measure_new_tests,
            "a new test that is red on the base", "no new test that is red on the base", "more",
            shown=lambda value: "yes" if value else "no"),
    Measure("lint", "Lint problems", lambda e: e.delta("lint"),
            "the fewest lint problems", "the most lint problems", shown=format_signed),
    Measure("types", "Type problems", lambda e: e.delta("types"),
            "the fewest type problems", "the most type problems", shown=format_signed),
    Measure("branching", "Branches added", lambda e: e.changed.branching if e.changed else None,
            "the least branching added", "the most branching added", slack=2, share=0.25, shown=format_signed),
    Measure("source", "Source diff", lambda e: e.changed.source.lines if e.changed and e.changed.source else None,
            "the smallest source diff", "the largest source diff", slack=3, share=0.25,
            shown=lambda value: f"{value:g} line{'' if value == 1 else 's'}"),
    Measure("iterations", "Iterations", lambda e: e.iterations, "the fewest iterations", "the most iterations"),
    Measure("cost", "Cost", lambda e: e.cost, "the lowest cost", "the highest cost", slack=0.01, share=0.25,
            shown=amounts.format_dollars),
    Measure("seconds", "Time", lambda e: e.seconds, "the shortest time", "the longest time", slack=30, share=0.5,
            shown=amounts.format_duration),
)  # fmt: skip
"""In the order in which they decide, after the gates: what a person would have to look at, then what others will have
to read and keep, then what it took. How little code there is to maintain comes before what it cost once."""

RANKS: Mapping[GateResult, int] = {"pass": 0, "unknown": 1, "fail": 2}
"""How far the gates go before any measure: a candidate that fails one never beats one that passes."""


class Fall(Struct, frozen=True):
    """The measure on which a candidate fell behind others: `key` is a measure's, or `gates`, `criteria`.

    `better` are the labels of the best there; `mine` and `theirs` the two values as people read them.
    """

    label: str
    key: str
    better: tuple[str, ...]
    mine: str
    theirs: str


class Order(Struct, frozen=True):
    """`places` are labels, the best first; several on one place are tied. `falls` say at what each fell, in order."""

    places: tuple[tuple[str, ...], ...]
    falls: tuple[Fall, ...]


def rank_candidates(entries: Sequence[CandidateFacts]) -> Order:
    """Return the order of candidates with different labels."""
    places: list[tuple[str, ...]] = []
    falls: dict[str, Fall] = {}
    remaining = list(entries)
    while remaining:
        best, fallen = _find_best(remaining)
        for fall in fallen:
            falls.setdefault(fall.label, fall)
        places.append(tuple(entry.label for entry in best))
        remaining = [entry for entry in remaining if entry not in best]
    return Order(tuple(places), tuple(falls.values()))


def _find_best(entries: Sequence[CandidateFacts]) -> tuple[list[CandidateFacts], list[Fall]]:
    """Return those that no other is ahead of, and where the others fell.

    Those with the best gates remain; unless these pass, only those with the most criteria passed. Then each measure
    decides among those of whom it is known.
    """
    remaining, falls = list(entries), list[Fall]()

    def drop(key: str, values: Mapping[str, str], worse: Sequence[str], best: str) -> None:
        nonlocal remaining
        ahead = tuple(label for label in values if label not in worse)
        falls.extend(Fall(label, key, ahead, values[label], best) for label in worse)
        remaining = [entry for entry in remaining if entry.label not in worse]

    gates = {entry.label: combine_gates(entry) for entry in entries}
    top = min(gates.values(), key=lambda result: RANKS[result])
    drop("gates", gates, [label for label, result in gates.items() if result != top], top)
    if top != "pass":
        counts = {entry.label: entry.proven or 0 for entry in remaining}
        most = max(counts.values())
        shown = {label: str(count) for label, count in counts.items()}
        drop("criteria", shown, [label for label, count in counts.items() if count < most], str(most))
    for measure in MEASURES:
        values = {entry.label: value for entry in remaining if (value := measure.value(entry)) is not None}
        if len(values) > 1:
            best = measure.find_best(tuple(values.values()))
            shown = {label: measure.shown(value) for label, value in values.items()}
            worse = [label for label, value in values.items() if not measure.is_equal(best, value)]
            drop(measure.key, shown, worse, measure.shown(best))
    return remaining, falls


class Dominance(Struct, frozen=True):
    """`one` dominates `other` (labels): better in `better`, by the keys of measures, or `gates`.

    `unknown` are measures that could not be compared.
    """

    one: str
    other: str
    better: tuple[str, ...]
    unknown: tuple[str, ...]


def find_dominance(entries: Sequence[CandidateFacts]) -> tuple[Dominance, ...]:
    """Return all pairs in which one dominates the other. As good is what the measures take for equal."""
    pairs = (_compare_two(one, other) for one, other in permutations(entries, 2))
    return tuple(pair for pair in pairs if pair)


def _compare_two(one: CandidateFacts, other: CandidateFacts) -> Dominance | None:
    lead = RANKS[combine_gates(other)] - RANKS[combine_gates(one)]
    better, unknown = (["gates"] if lead > 0 else []), []
    for measure in MEASURES:
        mine, theirs = measure.value(one), measure.value(other)
        if mine is None or theirs is None:
            unknown.append(measure.key)
        elif measure.is_ahead(theirs, mine):
            return None
        elif measure.is_ahead(mine, theirs):
            better.append(measure.key)
    # Being better at the gates alone is what the order says already.
    if lead < 0 or not better or len(unknown) == len(MEASURES):
        return None
    return Dominance(one.label, other.label, tuple(better), tuple(unknown))
