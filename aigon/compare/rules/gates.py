"""The gates: what a candidate has to show before anything else of it counts. What is not known does not pass."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from aigon.compare.rules.facts import CandidateFacts
from aigon.job.demand import IN_PLACE
from aigon.model.checks import Finding
from aigon.model.outcomes import Met, describe_outcome

GateResult = Literal["pass", "fail", "unknown"]
OWN = ("proof", "integrity")
"""Findings that have a gate of their own."""
BASE_TESTS = "base-tests"
"""The rule of what is not green with the base's versions of what an agent touched."""


@dataclass(frozen=True, slots=True)
class Gate:
    """One gate of one candidate. `key` is for scripts, `title` for people; `why` may hold text of others."""

    key: str
    title: str
    result: GateResult
    why: str


def judge_gates(entry: CandidateFacts) -> tuple[Gate, ...]:
    """Return all gates of a candidate, in the order in which they are shown."""
    stale = _stale(entry)
    return tuple(Gate(key, title, *(stale or judge(entry))) for key, title, judge in _GATES)


def combine_gates(entry: CandidateFacts) -> GateResult:
    """Return all gates as one: fail if one fails, else unknown if one is, else pass."""
    results = [gate.result for gate in judge_gates(entry)]
    return "fail" if "fail" in results else "unknown" if "unknown" in results else "pass"


_Judged = tuple[GateResult, str]


def _stale(entry: CandidateFacts) -> _Judged | None:
    # If the branch is not what was assessed, nothing that was found holds for it.
    if entry.look is None:
        return "unknown", "not assessed yet"
    if not entry.tip:
        return "unknown", "its branch is gone"
    return None if entry.fresh else ("unknown", "the branch has changed since it was looked at")


def _ended(entry: CandidateFacts) -> _Judged:
    if entry.outcome is None:
        return "unknown", "it still runs" if entry.running else "its last run broke off"
    if isinstance(entry.outcome, Met):
        if entry.judged != entry.tip:
            return "unknown", "the branch has changed since it was proven"
        return "pass", "; ".join(("its run ended as proven", *entry.outcome.caveats))
    return "fail", describe_outcome(entry.outcome)


def _checks(entry: CandidateFacts) -> _Judged:
    if entry.skipped:
        return "unknown", "its run skipped validation"
    found = [f for f in _findings(entry) if f.role not in OWN]
    red = [f for f in found if f.status != "pass"]
    counted = [f for f in red if f.role == "git" or f.check not in entry.known_failures]
    if counted:
        return "fail", "; ".join(f"{f.title}: {f.summary or f.status}" for f in counted)
    if not any(f.role != "git" and f.status == "pass" for f in found):
        # A feature may be decided by the commands of its criteria alone.
        return _alone(entry)
    known = f", and {len(red)} known to be red" if red else ""
    return "pass", f"{len(found) - len(red)} of {len(found)} passed{known}"


def _alone(entry: CandidateFacts) -> _Judged:
    if isinstance(entry.outcome, Met):
        return "pass", "there is no check, and commands proved the criteria"
    return "unknown", "no check passed"


def _integrity(entry: CandidateFacts) -> _Judged:
    # What is not green with the base's tests has a gate of its own.
    if reviews := [concern for concern in entry.reviews if concern.rule != BASE_TESTS]:
        rules = ", ".join(dict.fromkeys(concern.rule for concern in reviews))
        return "fail", f"a person has to look at {rules}: {reviews[0].what}"
    own = [f for f in _findings(entry) if f.role == "integrity"]
    if any(f.status != "pass" for f in own) and not entry.reviews:
        return "fail", own[0].summary
    if own or isinstance(entry.outcome, Met) or any(f.role == "proof" for f in _findings(entry)):
        return "pass", f"{len(entry.concerns)} to know" if entry.concerns else "nothing found"
    return "unknown", "the whole of it is looked for only where all else is proven"


def _criteria(entry: CandidateFacts) -> _Judged:
    total = entry.criteria if entry.criteria is not None else len(entry.look.verdicts if entry.look else ())
    said = f"{entry.proven} of {total} passed"
    if not total:
        return "unknown", "there are no criteria"
    return ("pass" if entry.proven == total else "fail"), said


def _base_tests(entry: CandidateFacts) -> _Judged:
    if lost := [c for c in entry.reviews if c.rule == BASE_TESTS]:
        return "fail", lost[0].what
    if entry.regressed:
        return "fail", f"{len(entry.regressed)} that the base passed, red now: {', '.join(entry.regressed[:3])}"
    proofs = [f for f in _findings(entry) if f.role == "proof"]
    if proofs:
        return ("pass", proofs[0].summary) if proofs[0].status == "pass" else ("fail", proofs[0].summary)
    if entry.was_tested is False:
        return "pass", "the base has no tests that aigon ran"
    tests = [f for f in _findings(entry) if f.role == "tests"]
    if tests and all(f.status == "pass" for f in tests) and entry.changed and entry.changed.touched_tests is False:
        return "pass", "the base's tests were not touched, and are green"
    if isinstance(entry.outcome, Met) and IN_PLACE in entry.outcome.caveats:
        return "pass", f"not asked: {IN_PLACE}"  # the project gave that proof up, for everybody
    return "unknown", "whether each still passes was not proven"


def _findings(entry: CandidateFacts) -> Sequence[Finding]:
    return entry.look.findings if entry.look else ()


_GATES: tuple[tuple[str, str, Callable[[CandidateFacts], _Judged]], ...] = (
    ("criteria", "Criteria passed", _criteria),
    ("checks", "Checks passed", _checks),
    ("integrity", "Integrity clean", _integrity),
    ("base-tests", "Base's tests kept", _base_tests),
    ("outcome", "Run ended as proven", _ended),
)
