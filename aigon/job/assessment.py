"""What was found and decided on one tree."""

from dataclasses import dataclass

from aigon.job.results import Result
from aigon.model.changes import Concern
from aigon.model.checks import Check, Finding
from aigon.model.criteria import Verdict
from aigon.text.fingerprints import combined, fingerprint


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
