"""What was found and decided on one tree."""

from collections.abc import Sequence
from dataclasses import dataclass

from aigon.errors import environment
from aigon.job.results import Result
from aigon.model.changes import Concern
from aigon.model.checks import Check, Finding
from aigon.model.criteria import Verdict
from aigon.text.fingerprints import combined, fingerprint

CHANGED = "changed-by-checks"
"""The rule of a file of the commit that was another one after the checks."""
NAMED = 3
"""Paths that a sentence names."""


@dataclass(frozen=True, slots=True)
class Look:
    """What was found and decided on a snapshot; not `complete` when the run was stopped at once meanwhile.

    `ran` are the checks and commands of this look with their whole results. `passed_at_base` and `adds_nothing` as in
    `IterationFinished`.
    """

    findings: tuple[Finding, ...]
    verdicts: tuple[Verdict, ...]
    content: str
    complete: bool = True
    concerns: tuple[Concern, ...] = ()
    ran: tuple[tuple[Check, Result], ...] = ()
    passed_at_base: tuple[int, ...] = ()
    adds_nothing: bool = False

    @property
    def fingerprint(self) -> str:
        """One name for the failing fingerprints and the criteria that are not met."""
        failing = (name for finding in self.findings for name in finding.fingerprints)
        open_ = (f"criterion {v.criterion}: {fingerprint(v.reason)}" for v in self.verdicts if v.status != "met")
        return combined([*failing, *open_])

    @property
    def score(self) -> tuple[int, ...]:
        """Progress, the weightiest first: criteria met, checks green, tests passed."""
        passed = sum(f.counts.passed for f in self.findings if f.counts)
        green = sum(f.status == "pass" for f in self.findings)
        return (sum(v.status == "met" for v in self.verdicts), green, passed)


def require_untouched(look: Look) -> None:
    """Raise AigonError (exit 7) if the checks changed files of the base: no turn of an agent can help there."""
    finding = next((f for f in look.findings if f.role == "git" and f.status == "fail"), None)
    if changed := [problem.file for problem in finding.problems if problem.rule == CHANGED] if finding else []:
        raise environment(
            "The checks change files that git holds, so what they pass on is never what is committed",
            where=few_paths(changed),
            hint="See what with `git diff`. Let them only look (--check), or run on a copy: "
            '"checks": {"NAME": {"writes": ["."]}} in .aigon/config.json. Then `git restore .`, and run again',
        )


def few_paths(paths: Sequence[str]) -> str:
    return ", ".join([*paths[:NAMED], *([f"{len(paths) - NAMED} more"] if len(paths) > NAMED else [])])
