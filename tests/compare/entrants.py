"""Candidates by hand: one that has proven everything, and what makes others differ from it."""

from typing import Any

from msgspec.structs import replace

from aigon.compare.facts import CandidateFacts, ChangeMeasures, LineCount, NewTests
from aigon.journal.events import IterationFinished
from aigon.model.changes import Concern
from aigon.model.checks import Finding, Problem
from aigon.model.criteria import Verdict
from aigon.model.outcomes import Met
from aigon.model.turns import Usage

TIP, BASE = "a" * 40, "b" * 40
AT = "2026-11-20T10:15:00.000+00:00"
TESTS = Finding("tests", "tests", "Tests", "pass", "15/15 passed")
LINT = Finding("lint", "lint", "Lint", "pass", "no problems")
PROOF = Finding("proof", "proof", "Clean-room proof", "pass", "2 checks passed on a clean export (bwrap)")
REVIEW = Concern("special-cases", "review", "calc.py:3 answers what the tests ask", ("calc.py",), "k1")
NOTE = Concern("dependencies", "note", "a new dependency", ("pyproject.toml",), "k2")


def looked(*findings: Finding, met: int = 2, of: int = 2, **more: Any) -> IterationFinished:
    """A look at which the first `met` of so many criteria are proven."""
    verdicts = tuple(Verdict(n, "met" if n <= met else "unmet", "verify") for n in range(1, of + 1))
    return IterationFinished(AT, 1, AT, TIP, findings or (TESTS, LINT, PROOF), verdicts, (), "", (), "", **more)


def red(finding: Finding, *messages: str) -> Finding:
    """The same check, red, with these problems."""
    problems = tuple(Problem(message, "a.py", 1) for message in messages)
    return replace(finding, status="fail", summary=f"{len(messages)} problems", problems=problems)


def change(source: int = 10, **more: Any) -> ChangeMeasures:
    """A change of one file with so many new lines."""
    known = ChangeMeasures(("a.py",), LineCount(source), LineCount(5), LineCount(), (), 0, 2, False)
    return replace(known, **more)


def entry(label: str = "cc", **more: Any) -> CandidateFacts:
    """One that has proven everything in two iterations, for 50 cents, within five minutes."""
    proven = CandidateFacts(
        label=label,
        agent="claude",
        branch=f"feature-42-{label}-dark-mode",
        base=BASE,
        tip=TIP,
        looked=TIP,
        at=AT,
        outcome=Met(),
        judged=TIP,
        look=looked(),
        first=looked(red(TESTS, "x"), LINT, met=0),
        criteria=2,
        regressed=(),
        was_tested=True,
        iterations=2,
        seconds=300.0,
        cost=0.5,
        at_least=0.5,
        cost_status="reported",
        usage=Usage(1000, 200, 5000),
        changed=change(),
        new_tests=NewTests(("t::new",), ("t::new",)),
    )
    return replace(proven, **more)
