"""Run each proposal once on the files as they are, if it is known to do nothing but look: it should fail now."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from aigon.checks.project import ProjectOnDisk
from aigon.compile.compilation import CompiledCriterion, TrialResult, TrialStatus
from aigon.compile.proposals import Proposal, Surroundings
from aigon.compile.safety import only_looks
from aigon.compile.surroundings import knows_help
from aigon.git.person import Checkout
from aigon.job.results import Result
from aigon.model.checks import Check, CheckStatus
from aigon.model.criteria import Criterion
from aigon.proof.criteria import judge_by_command, list_bound_findings, list_commands, read_printed_number
from aigon.run.prepare import Prepared
from aigon.run.present_tree import TreeResults, run_here, select_checks

Say = Callable[[str], None]
MayRun = Callable[[Sequence[str]], bool]
"""Decides whether these commands may be run although nobody knows that they only look."""
_NO_MODULE = re.compile(r"\S*(?:python|pypy)\S*: No module named .*")
"""What Python prints if `-m` names nothing; a module that fails to import something prints a traceback."""


def try_proposals(
    checkout: Checkout,
    prepared: Prepared,
    rows: Sequence[CompiledCriterion],
    allowed: frozenset[int],
    timeout: float,
    say: Say,
) -> list[CompiledCriterion]:
    """Run the proofs of the rows in `allowed`, each for `timeout` seconds at most, and put back what they change.

    Raises KeyboardInterrupt when the person stopped it.
    """
    rows_to_run = [row for row in rows if row.criterion.number in allowed]
    criteria = {row.criterion.number: _apply_proposal(row) for row in rows_to_run}
    wanted = [c.command or "" for c in criteria.values() if c.kind == "check"]
    checks = (*select_checks(prepared.checks.checks, wanted), *list_commands(list(criteria.values())))
    if checks:
        say(f"Running {len(checks)} command{'s' if len(checks) > 1 else ''} on the files as they are ...")
    ran = run_here(checkout, prepared, checks, timeout)
    unknown = TrialResult(detail="nobody knows that this command only looks")
    return [
        _add_trial(row, _read_trial(criteria[number], ran))
        if (number := row.criterion.number) in criteria
        else replace(row, trial=unknown)
        for row in rows
    ]


def choose_allowed(
    rows: Sequence[CompiledCriterion], project: ProjectOnDisk, around: Surroundings, may_run: MayRun
) -> frozenset[int]:
    """Return the criteria whose command may be run. A person is asked about all doubtful ones at once."""
    known = around.shown.values()
    helps = partial(knows_help, project, around)
    # What a person wrote into the spec runs in every assessment; what is proposed has to be known to do no harm.
    scripts = {row.criterion.number: row.proposal.script for row in rows if row.proposal and row.proposal.script}
    doubtful = {n: s for n, s in scripts.items() if s not in known and not only_looks(s, helps, around.modules)}
    left_out = doubtful.keys() if doubtful and not may_run(list(doubtful.values())) else set()
    return frozenset(row.criterion.number for row in rows) - left_out


def _apply_proposal(row: CompiledCriterion) -> Criterion:
    """Return the criterion as it would be with the proposal in it."""
    proposal = row.proposal
    return replace(row.criterion, kind=proposal.kind, command=proposal.command) if proposal else row.criterion


def _add_trial(row: CompiledCriterion, trial: TrialResult) -> CompiledCriterion:
    if not trial.changed:
        return replace(row, trial=trial)
    files = ", ".join(trial.changed[:3])
    note = f"running it changed {files}, which was put back; what it wrote is kept in {trial.aside}"
    if row.proposal is None:
        return replace(row, trial=trial, note=note)
    why = f"`{row.proposal.command}` changes files of the project ({files}), so it cannot be proposed"
    return replace(row, proposal=Proposal("judge", None, why, "guess"), note=note)


def _read_trial(criterion: Criterion, ran: TreeResults) -> TrialResult:
    """Return what ran for a `verify`, `metric` or `check` criterion; `not run` for all others."""
    trial = TrialResult()
    if criterion.kind == "check":
        trial = _read_check(criterion, ran)
    elif check := next(iter(list_commands([criterion])), None):
        trial = _read_command(criterion, check, ran)
    return replace(trial, aside=ran.aside)


def _read_command(criterion: Criterion, check: Check, ran: TreeResults) -> TrialResult:
    result = ran.results.get(check.name)
    if result is None:
        return TrialResult()
    verdict = judge_by_command([criterion], check, result)
    changed = ran.changed.get(check.name, ())
    if verdict is None or result.finding.status == "skipped":
        return TrialResult("not run", result.finding.summary, changed)
    if verdict.status == "met":
        return TrialResult("green", verdict.evidence if criterion.kind == "metric" else "exit 0", changed)
    return TrialResult("error" if _shows_nothing(criterion, result) else "red", verdict.reason, changed)


def _shows_nothing(criterion: Criterion, result: Result) -> bool:
    """Return whether it did not run to an end that shows anything: no program, no time, no number."""
    if result.finding.status == "error":
        return True
    if result.finding.status == "fail":
        last = result.output.decode(errors="replace").strip().splitlines()[-1:]
        return any(_NO_MODULE.fullmatch(line) for line in (*last, result.finding.excerpt.strip()))
    return criterion.kind == "metric" and isinstance(read_printed_number(result.output), str)


def _read_check(criterion: Criterion, ran: TreeResults) -> TrialResult:
    wanted = criterion.command or ""
    findings = list_bound_findings(wanted, [result.finding for result in ran.results.values()])
    if not findings:
        return TrialResult("error", f"this project has no check '{wanted}'")
    changed = tuple(path for finding in findings for path in ran.changed.get(finding.check, ()))
    ranked: tuple[tuple[CheckStatus, TrialStatus], ...] = (("error", "error"), ("fail", "red"), ("skipped", "not run"))
    for status, base in ranked:
        if worst := next((finding for finding in findings if finding.status == status), None):
            return TrialResult(base, f"{worst.title}: {worst.summary}", changed)
    return TrialResult("green", "; ".join(f"{f.title}: {f.summary}" for f in findings), changed)
