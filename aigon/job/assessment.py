"""The tree of one iteration (`Snapshot`), what its checks and criteria came to (`Assessment`), and what proven means.

Proven (`Demand`): every criterion passed, every check passed, and the tree holds more than the base.
"""

from collections.abc import Sequence
from concurrent.futures import Future
from threading import Lock
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from aigon.errors import environment
from aigon.git.private_index import Content
from aigon.git.workspace import Tip, Workspace
from aigon.job.results import Result
from aigon.model.changes import Concern, FileChange, PutBack
from aigon.model.checks import OWN_ROLES, Check, Finding
from aigon.model.criteria import COMMAND_KINDS, HIDDEN, WAIVED, Criterion, Verdict
from aigon.model.outcomes import VALIDATION_SKIPPED, Met, NeedsHuman
from aigon.text.amounts import list_criteria
from aigon.text.quoting import combine_fingerprints, fingerprint, fold

if TYPE_CHECKING:
    from aigon.journal.events import IterationFinished


CHANGED = "changed-by-checks"
"""The rule for a file of the commit that the checks changed."""
MAX_NAMED_PATHS = 3


class Snapshot(Struct):
    """The content of aigon's private index. `complaints` are git's, about paths it refused; `notes` go to the agent.

    `put_back` is what the agent may not change. `number` is the iteration it belongs to, 0 for the baseline.
    """

    number: int
    tip: Tip
    workspace: Workspace
    base: str
    own_files: frozenset[str]
    complaints: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    changes: Future[tuple[FileChange, ...]] | None = None
    put_back: tuple[PutBack, ...] = ()
    _content: Content | None = field(default=None)
    _asking: Lock = field(default_factory=Lock)

    def take_in(self, paths: Sequence[str]) -> None:
        """Hold these files as they are in the work tree now."""
        self.workspace.stage(paths)
        self.forget()

    def settle(self) -> None:
        """Wait until nothing of aigon's own is running for this snapshot: a sweep would take it for a survivor."""
        if self.changes:
            self.changes.result()

    def content(self) -> Content:
        """Return what it holds beyond the base, read from git once and only when something asks for it."""
        with self._asking:  # checks that run side by side all ask
            if self._content is None:
                self._content = self.workspace.content(self.base, self.own_files)
            return self._content

    @property
    def known(self) -> str:
        """A name for that content if something asked for it already, else empty."""
        return self._content.key() if self._content is not None else ""

    def forget(self) -> None:
        """Drop what was read of its content: the index was changed."""
        self._content = None


def is_baseline(base: str, workspace: Workspace) -> bool:
    """Return whether the snapshot is that of the commit `base`: what one run leaves is where the next one begins."""
    return not workspace.raw_changes(base)


class Assessment(Struct, frozen=True):
    """The findings and decisions on a snapshot; not `complete` if the run was stopped at once meanwhile.

    `ran` are its checks and commands with their whole results. `passed_at_base` and `adds_nothing` as in
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
        """One name for the fingerprints of failures and the criteria that have not passed."""
        failing = (name for finding in self.findings for name in finding.fingerprints)
        open_ = (f"criterion {v.criterion}: {fingerprint(v.reason)}" for v in self.verdicts if v.status != "met")
        return combine_fingerprints([*failing, *open_])

    @property
    def score(self) -> tuple[int, ...]:
        """Progress, the weightiest first: criteria, checks and tests that passed."""
        tests = sum(f.counts.passed for f in self.findings if f.counts)
        checks = sum(f.status == "pass" for f in self.findings)
        return (sum(v.status == "met" for v in self.verdicts), checks, tests)


def leave_undecided(assessment: Assessment) -> Assessment:
    """Return the assessment of a run that was stopped at once meanwhile: what did not run cannot speak against it."""
    why = "the run was stopped before this was decided"
    verdicts = tuple(replace(verdict, status="unclear", reason=why) for verdict in assessment.verdicts)
    return replace(assessment, verdicts=verdicts, complete=False)


def require_untouched(assessment: Assessment) -> None:
    """Raise AigonError (exit 7) if the checks changed files of the base: no turn of an agent can help there."""
    finding = next((f for f in assessment.findings if f.role == "git" and f.status == "fail"), None)
    if changed := [problem.file for problem in finding.problems if problem.rule == CHANGED] if finding else []:
        raise environment(
            "The checks change files that git holds, so they do not pass on the files that are committed",
            where=few_paths(changed),
            hint="See what with `git diff`. Let them only check (--check), or run on a copy: "
            '"checks": {"NAME": {"writes": ["."]}} in .aigon/config.json. Then `git restore .`, and run again',
        )


def few_paths(paths: Sequence[str]) -> str:
    more = len(paths) - MAX_NAMED_PATHS
    return ", ".join([*paths[:MAX_NAMED_PATHS], *([f"{more} more"] if more > 0 else [])])


IN_PLACE = "proved in place, not in a clean room"
ACCEPTED = "every criterion passed before the first turn, which --accept-passing accepted"


class Demand(Struct, frozen=True):
    """The meaning of proven for this job. `known_failures` are checks that may fail, by the spec's frontmatter.

    `in_place`: the project gave up the clean-room proof, which the outcome says. `accept_passing`: a person accepts
    that every criterion passes before the first turn, as in a refactoring. The outcome says what is `stated`.
    """

    criteria: tuple[Criterion, ...]
    known_failures: tuple[str, ...] = ()
    skip_validation: bool = False
    in_place: bool = False
    accept_passing: bool = False
    stated: tuple[str, ...] = ()


def find_proof(demand: Demand, findings: Sequence[Finding], verdicts: Sequence[Verdict]) -> Met | None:
    """Return Met only if every criterion and every check passed; nothing unknown counts."""
    passed = {v.criterion for v in verdicts if v.status == "met"}
    failures = [f for f in findings if f.status != "pass"]
    if not demand.criteria or any(c.number not in passed for c in demand.criteria):
        return None
    waived = [v for v in verdicts if v.is_waived]
    if len(waived) == len(demand.criteria):
        return None
    if not all(is_forgiven(demand, f) for f in failures):
        return None
    if not _has_passed_check(findings) and not all(_stands_alone(v) for v in verdicts):
        return None
    return Met(
        (
            *([VALIDATION_SKIPPED] if demand.skip_validation else []),
            *([IN_PLACE] if demand.in_place else []),
            *demand.stated,
            *(f"criterion {v.criterion} was {v.evidence}: {fold(v.reason)}" for v in waived),
            *(f"known failure: {f.title} ({f.summary})" for f in failures),
            *(p.message for f in findings if f.role == "proof" for p in f.problems if p.severity == "warning"),
        )
    )


def is_hollow(demand: Demand, assessment: "Assessment | IterationFinished", *, worked: bool) -> bool:
    """Return whether every criterion passed at the base and nothing since shows more: a pass proves nothing then.

    That is if the tree adds nothing to the base, or no agent has `worked` and no person accepted it: what people
    committed meanwhile may be about anything.
    """
    idle = assessment.adds_nothing or not (worked or demand.accept_passing)
    return idle and _all_passed_at_base(demand, assessment)


def _all_passed_at_base(demand: Demand, assessment: "Assessment | IterationFinished") -> bool:
    waived = {verdict.criterion for verdict in assessment.verdicts if verdict.is_waived}
    return {criterion.number for criterion in demand.criteria} - waived <= set(assessment.passed_at_base)


def with_acceptance(demand: Demand, assessment: "Assessment | IterationFinished", proven: Met) -> Met:
    accepted = demand.accept_passing and _all_passed_at_base(demand, assessment)
    return Met((ACCEPTED, *proven.caveats)) if accepted else proven


def describe_nothing_built(demand: Demand, assessment: "Assessment | IterationFinished") -> NeedsHuman:
    """Return the outcome if everything passes, as it did at the base, and nothing since shows more."""
    numbers = tuple(criterion.number for criterion in demand.criteria)
    which, it = list_criteria(numbers), "It proves" if len(numbers) == 1 else "They prove"
    reason = f"nothing was built. No file has changed, and {which} passed before the first turn. {it} nothing"
    if not assessment.adds_nothing:
        reason = f"no agent has worked, and {which} passed before the commits on this branch as well. {it} nothing"
    return NeedsHuman(numbers, reason, nothing_built=True)


def require_support(findings: Sequence[Finding], verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """Return the verdicts, but unclear if they rest on checks and none passed: a judge's word alone is no proof."""
    if _has_passed_check(findings):
        return tuple(verdicts)
    return tuple(_doubt(v) if v.status == "met" and not _stands_alone(v) else v for v in verdicts)


def _doubt(verdict: Verdict) -> Verdict:
    said = f" ({verdict.reason})" if verdict.reason else ""
    why = f"no check passed, so the {verdict.method}'s word alone is no proof{said}; `aigon approve` decides"
    return replace(verdict, status="unclear", method="human", reason=why)


def is_forgiven(demand: Demand, finding: Finding) -> bool:
    """Return whether the check is a known failure. One of aigon's own never is: what is in no commit is not proven."""
    return finding.role not in OWN_ROLES and finding.check in demand.known_failures


def _has_passed_check(findings: Sequence[Finding]) -> bool:
    """Return whether any check of the project's own passed."""
    return any(f.role not in OWN_ROLES and f.status == "pass" for f in findings)


def _stands_alone(verdict: Verdict) -> bool:
    """Return whether it is proof even if no check ran: a command's exit, a number against a bound, a person."""
    return verdict.method in (*COMMAND_KINDS, HIDDEN, "approval", WAIVED)
