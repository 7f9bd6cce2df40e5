"""Propose how each open criterion can be decided by running something, try it, and write what a person says yes to."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from aigon.checks.project import ProjectOnDisk
from aigon.compile.acceptance import rewrite_spec
from aigon.compile.compilation import Compilation, CompiledCriterion, TrialResult, TrialStatus
from aigon.compile.model import ModelProposals, ask_model
from aigon.compile.proposals import Proposal, Surroundings, propose
from aigon.compile.safety import only_looks
from aigon.compile.surroundings import knows_help, look_around
from aigon.errors import usage
from aigon.git.person import Checkout
from aigon.job.options import Options
from aigon.job.results import Result
from aigon.model.checks import Check, CheckStatus
from aigon.model.criteria import Criterion
from aigon.process.run import Command, run
from aigon.proof.criteria import judge_by_command, list_bound_findings, list_commands, read_printed_number
from aigon.proof.vacuity import absent_files
from aigon.run.prepare import Prepared, prepare
from aigon.run.present_tree import TreeResults, run_here, select_checks
from aigon.spec.document import annotate, can_annotate
from aigon.text.fingerprints import strip_escapes
from aigon.text.patterns import compile_re

TIMEOUT = 60.0
"""Seconds for each command unless a person says otherwise."""
_NO_MODULE = compile_re(r"\S*(?:python|pypy)\S*: No module named .*")
"""What Python prints if `-m` names nothing; a module that fails to import something prints a traceback."""
_TRIAL_STATUS: Mapping[CheckStatus, TrialStatus] = {"error": "error", "fail": "red", "skipped": "not run"}
"""What a check that did not pass shows, the worst first."""

Say = Callable[[str], None]
MayRun = Callable[[Sequence[str]], bool]
"""Decides whether these commands may be run although nobody knows that they only look."""


def compile_spec(
    checkout: Checkout,
    options: Options,
    *,
    only: Sequence[int] = (),
    timeout: float = TIMEOUT,
    may_run: MayRun = lambda _commands: False,
    say: Say = lambda _text: None,
) -> Compilation:
    """Propose for every open criterion, or for those in `only`, and run each proposal once on the files as they are.

    Raises AigonError as a run would before it starts, and (exit 2) for a number that no criterion has.
    """
    prepared = prepare(checkout, options, with_agent=False)
    spec = prepared.spec
    known = {criterion.number for criterion in spec.criteria}
    if unknown := [number for number in only if number not in known]:
        hint = f"They go from 1 to {len(known)}: aigon spec-show"
        raise usage(f"There is no criterion {unknown[0]}", where=prepared.feature.path, hint=hint)
    chosen = [c for c in spec.criteria if not only or c.number in only]
    open_ = [c for c in chosen if c.kind == "judge" and can_annotate(spec, c.number)]
    project = ProjectOnDisk(checkout.root, prepared.env)
    texts = [criterion.text for criterion in spec.criteria]
    around = look_around(project, prepared.checks.checks, prepared.check_env["PATH"], texts)
    ruled = {c.number: propose(c.text, around) for c in open_}
    model = ask_model(prepared, open_, ruled, around, say) if open_ else None
    proposals, notes = _choose_proposals(checkout.root, prepared.check_env, ruled, model)
    rows = [CompiledCriterion(c, proposals.get(c.number), note=notes.get(c.number, "")) for c in chosen]
    allowed = _choose_allowed(rows, project, around, may_run)
    rows = _try_proposals(checkout, prepared, rows, allowed, timeout, say)
    return Compilation(prepared.feature, spec, tuple(rows), model)


def write_annotations(checkout: Checkout, compilation: Compilation, numbers: Sequence[int]) -> None:
    """Write the annotations of these criteria into the spec.

    Raises AigonError: 2 if one would not be read as it is written, 7 if the file was changed meanwhile or another aigon
    uses this checkout.
    """
    proposals = {row.criterion.number: row.proposal for row in compilation.rows if row.proposal}
    wanted = {number: proposals[number].annotation for number in numbers if number in proposals}
    if not wanted:
        return
    feature, data = compilation.feature, annotate(compilation.spec, wanted)
    again = f"Run it again: aigon spec-compile {feature.name_for_people}"
    rewrite_spec(checkout, feature.path, compilation.spec.raw, data, again)


def _choose_proposals(
    root: Path, env: Mapping[str, str], ruled: Mapping[int, Proposal], model: ModelProposals | None
) -> tuple[dict[int, Proposal], dict[int, str]]:
    """Return the model's proposal for each criterion if it is usable, else that of the rules; and what was wrong."""
    proposals, notes = dict(ruled), dict(model.wrong) if model else {}
    for number, proposal in (model.proposals if model else {}).items():
        if proposal.script and (error := _find_syntax_error(proposal.script, root, env)):
            notes[number] = f"what the model proposed is no shell command: {error}"
        else:
            proposals[number] = proposal
    for number, proposal in proposals.items():
        if absent := absent_files(proposal.script, lambda path: (root / path).exists()):
            reason = f"{proposal.reason}; {absent[0]} does not exist yet, so the agent would write its own proof"
            proposals[number] = replace(proposal, confidence="guess", reason=reason)
    return proposals, notes


def _find_syntax_error(line: str, root: Path, env: Mapping[str, str]) -> str:
    """Return what bash says against `line` without running it."""
    ended = run(Command(("bash", "-n", "-c", line), root, env, deadline=10.0))
    if ended.exit_code == 0:
        return ""
    lines = strip_escapes(ended.stdout.decode(errors="replace")).strip().splitlines()
    return lines[0][:200] if lines else ended.start_error or "it cannot be read"


def _choose_allowed(
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


def _try_proposals(
    checkout: Checkout,
    prepared: Prepared,
    rows: Sequence[CompiledCriterion],
    allowed: frozenset[int],
    timeout: float,
    say: Say,
) -> list[CompiledCriterion]:
    """Run the proofs of the rows in `allowed`, each for `timeout` seconds at most, and put back what they change.

    They should fail now. Raises KeyboardInterrupt when the person stopped it.
    """
    criteria = {
        row.criterion.number: replace(row.criterion, kind=row.proposal.kind, command=row.proposal.command)
        if row.proposal
        else row.criterion
        for row in rows
        if row.criterion.number in allowed
    }
    trials = try_criteria(checkout, prepared, criteria, timeout, say)
    unknown = TrialResult(detail="this command may change something")
    return [
        _add_trial(row, trials[number]) if (number := row.criterion.number) in trials else replace(row, trial=unknown)
        for row in rows
    ]


def try_criteria(
    checkout: Checkout, prepared: Prepared, criteria: Mapping[int, Criterion], timeout: float, say: Say
) -> dict[int, TrialResult]:
    """Run what decides these criteria, by number, once on the files as they are. Raises KeyboardInterrupt."""
    wanted = [c.command or "" for c in criteria.values() if c.kind == "check"]
    checks = (*select_checks(prepared.checks.checks, wanted), *list_commands(list(criteria.values())))
    if checks:
        say(f"Running {len(checks)} command{'s' if len(checks) > 1 else ''} on the files as they are ...")
    ran = run_here(checkout, prepared, checks, timeout)
    return {number: _read_trial(criterion, ran) for number, criterion in criteria.items()}


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
    """Return what ran for a criterion that a command or a check decides; `not run` for all others."""
    trial = TrialResult()
    if criterion.kind == "check":
        trial = _read_check(criterion.command or "", ran)
    else:
        for check in list_commands([criterion]):
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
        return TrialResult("green", "exit 0" if criterion.kind == "verify" else verdict.evidence, changed)
    return TrialResult("error" if _shows_nothing(criterion, result) else "red", verdict.reason, changed)


def _shows_nothing(criterion: Criterion, result: Result) -> bool:
    """Return whether it did not run to an end that shows anything: no program, no time, no number."""
    if result.finding.status == "error":
        return True
    if result.finding.status == "fail":
        last = result.output.decode(errors="replace").strip().splitlines()[-1:]
        return any(_NO_MODULE.fullmatch(line) for line in (*last, result.finding.excerpt.strip()))
    return criterion.kind == "metric" and isinstance(read_printed_number(result.output), str)


def _read_check(wanted: str, ran: TreeResults) -> TrialResult:
    findings = list_bound_findings(wanted, [result.finding for result in ran.results.values()])
    if not findings:
        return TrialResult("error", f"this project has no check '{wanted}'")
    changed = tuple(path for finding in findings for path in ran.changed.get(finding.check, ()))
    for status, base in _TRIAL_STATUS.items():
        if worst := next((finding for finding in findings if finding.status == status), None):
            return TrialResult(base, f"{worst.title}: {worst.summary}", changed)
    return TrialResult("green", "; ".join(f"{f.title}: {f.summary}" for f in findings), changed)
