"""The gates: what a candidate has to show before anything else of it counts. What is not known does not pass."""

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from aigon.compare.rules.facts import CandidateFacts
from aigon.job.demand import IN_PLACE
from aigon.model.checks import Finding, Role
from aigon.model.outcomes import Met, describe_outcome

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
