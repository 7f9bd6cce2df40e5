"""Propose how each open criterion can be decided by running something, try it, and write what a person says yes to.

That may be a proposal that came with a text from outside, too.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import cast

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from aigon.checks.project import ProjectOnDisk
from aigon.compile.compilation import Compilation, CompiledCriterion, TrialResult, TrialStatus
from aigon.compile.model import ModelProposals, ask_model, look_around
from aigon.compile.proposals import Proposal, find_edit, find_flaw, propose
from aigon.errors import environment, usage
from aigon.files.atomic import write_atomic
from aigon.git.person import Checkout
from aigon.job.job import hold_checkout
from aigon.job.options import Options
from aigon.job.results import Result
from aigon.job.spec_locations import SpecLocation, find_feature_here
from aigon.model.checks import Check, CheckStatus
from aigon.model.criteria import Criterion, CriterionKind
from aigon.process.run import Command, run
from aigon.proof.criteria import judge_by_command, list_bound_findings, list_commands, read_printed_number
from aigon.proof.vacuity import absent_files
from aigon.run.prepare import Prepared, prepare
from aigon.run.validate import MayRun, run_on_copy, select_checks
from aigon.spec.annotation import find_script
from aigon.spec.document import annotate, can_annotate
from aigon.spec.features import Feature
from aigon.spec.foreign import ForeignAnnotation, accept_proposals, list_proposals
from aigon.text.patterns import compile_re
from aigon.text.quoting import clean, fold, strip_escapes


class ForeignProposals(Struct, frozen=True):
    """The proposals that a person is about to accept from the spec with the bytes `raw`."""

    feature: Feature
    raw: bytes
    chosen: tuple[ForeignAnnotation, ...]


def find_foreign(checkout: Checkout, wanted: str, numbers: Sequence[int]) -> ForeignProposals:
    """Return the proposals of these numbers, or all, in the spec as this checkout has it.

    Raises AigonError (exit 2) if there are none, and for one that holds what a person cannot see.
    """
    feature = find_feature_here(checkout.root, checkout.common_dir, wanted)
    raw = SpecLocation(feature, checkout.root).read()
    found = list_proposals(raw)
    chosen = tuple(each for each in found if not numbers or each.number in numbers)
    unknown = sorted({*numbers} - {each.number for each in found})
    if unknown or not chosen:
        what = f"There is no proposal {unknown[0]}" if unknown and found else "There is nothing to accept"
        hint = f"They go from 1 to {len(found)}" if found else f"aigon spec-show {wanted} lists the criteria"
        raise usage(what, where=feature.path, hint=hint)
    for each in chosen:
        if each.text and (flaw := find_flaw(each.annotation or "a box alone")):
            hint = "Correct it in the spec, or accept the others by their numbers"
            raise usage(f"Proposal {each.number} cannot be accepted: {flaw}", where=feature.path, hint=hint)
    return ForeignProposals(feature, raw, chosen)


def accept_foreign(checkout: Checkout, proposals: ForeignProposals) -> None:
    """Write the chosen proposals into the spec.

    Raises AigonError: 2 if one is malformed, 7 if the file was changed meanwhile or another aigon uses this checkout.
    """
    data = accept_proposals(proposals.raw, {each.number for each in proposals.chosen})
    rewrite_spec(checkout, proposals.feature.path, proposals.raw, data)


def rewrite_spec(checkout: Checkout, path: str, before: bytes, after: bytes, hint: str = "Run it again") -> None:
    """Write a spec that was read as `before`. Raises AigonError (exit 7) if it has changed, or aigon works here."""
    file = (checkout.root / path).resolve()
    with hold_checkout(checkout):
        if file.read_bytes() != before:
            raise environment("The spec was changed in the meantime, so nothing was written", where=path, hint=hint)
        write_atomic(file, after)


def render_proposals(proposals: ForeignProposals) -> str:
    """Return each proposal with its item, and what its command seems to change."""
    lines = []
    for each in proposals.chosen:
        lines.append(f"{each.number:3}. {fold(each.text, 160) or 'Validation script'}")
        lines += [f"       {clean(line)}" for line in (each.annotation or "a judge decides it").splitlines()]
        if edit := find_edit(_find_foreign_script(each)):
            lines.append(f"     It seems to change something: {clean(edit)}")
    return "\n".join(lines)


def encode_proposals(proposals: ForeignProposals, is_accepted: bool) -> dict[str, object]:
    """Return the proposals as data."""
    return {
        "feature_id": proposals.feature.id,
        "spec": proposals.feature.path,
        "proposals": to_builtins(proposals.chosen),
        "accepted": [each.number for each in proposals.chosen] if is_accepted else [],
    }


def _find_foreign_script(proposal: ForeignAnnotation) -> str:
    """Return what would be run, as far as its words tell."""
    if not proposal.text:
        return proposal.annotation
    kind, _, argument = proposal.annotation.partition(":")
    try:
        return find_script(cast(CriterionKind, kind), argument.strip())
    except ValueError:  # a fenced block below it holds the text that it has to print
        return argument


TIMEOUT = 60.0
"""Seconds for each command unless a person says otherwise."""
_NO_MODULE = compile_re(r"\S*(?:python|pypy)\S*: No module named .*")
"""What Python prints if `-m` names nothing; a module that fails to import something prints a traceback."""
_TRIAL_STATUS: Mapping[CheckStatus, TrialStatus] = {"error": "error", "fail": "red", "skipped": "not run"}
"""What a check that did not pass shows, the worst first."""
_UNSEEN = "no person has seen this command, and nothing keeps it to a copy of the files"
_IN_PLACE = '"proof" is "in-place", so that nothing runs on a copy of the files'

Say = Callable[[str], None]


def run_nothing(_commands: Sequence[str]) -> bool:
    """Return that no command may run that no person has seen."""
    return False


def compile_spec(
    checkout: Checkout,
    options: Options,
    *,
    only: Sequence[int] = (),
    timeout: float = TIMEOUT,
    may_run: MayRun = run_nothing,
    say: Say = lambda _text: None,
) -> Compilation:
    """Propose for every open criterion, or for those in `only`, and run each proposal once on a copy of the files.

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
    # What a person wrote into the spec, or the project runs anyway, runs in every assessment.
    scripts = {row.criterion.number: row.proposal.script for row in rows if row.proposal and row.proposal.script}
    doubtful = {number: script for number, script in scripts.items() if script not in around.shown.values()}
    wanted = {
        row.criterion.number: replace(row.criterion, kind=row.proposal.kind, command=row.proposal.command)
        if row.proposal
        else row.criterion
        for row in rows
    }
    trials = try_criteria(checkout, prepared, wanted, timeout, say, doubtful, may_run)
    rows = [replace(row, trial=trials[row.criterion.number]) for row in rows]
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


def try_criteria(
    checkout: Checkout,
    prepared: Prepared,
    criteria: Mapping[int, Criterion],
    timeout: float,
    say: Say,
    doubtful: Mapping[int, str] = MappingProxyType({}),
    may_run: MayRun = run_nothing,
) -> dict[int, TrialResult]:
    """Run what decides these criteria, by number, once on a copy of the files, each for `timeout` seconds at most.

    They should fail now. `doubtful` are the commands that no person has seen. Raises KeyboardInterrupt.
    """
    wanted = [c.command or "" for c in criteria.values() if c.kind == "check"]
    checks = (*select_checks(prepared.checks.checks, wanted), *list_commands(list(criteria.values())))
    is_in_place, ran = prepared.proof.mode == "in-place", dict[str, Result]()
    if checks and not is_in_place:
        say(f"Running {len(checks)} command{'s' if len(checks) > 1 else ''} on a copy of the files ...")
        unseen = {check.name: line for n, line in doubtful.items() for check in list_commands([criteria[n]])}
        ran = run_on_copy(checkout, prepared, checks, timeout, unseen, may_run)
    missing = {check.name: _IN_PLACE if is_in_place else _UNSEEN for check in checks if check.name not in ran}
    trials = {number: TrialResult() for number in criteria}  # of a person and a judge
    for number, criterion in criteria.items():
        if criterion.kind == "check":
            trials[number] = _read_check(criterion.command or "", ran, missing)
        for check in list_commands([criterion]):
            trials[number] = _read_command(criterion, check, ran, missing)
    return trials


def _read_command(
    criterion: Criterion, check: Check, ran: Mapping[str, Result], missing: Mapping[str, str]
) -> TrialResult:
    result = ran.get(check.name)
    verdict = judge_by_command([criterion], check, result) if result else None
    if result is None or verdict is None or result.finding.status == "skipped":
        return TrialResult("not run", result.finding.summary if result else missing.get(check.name, ""))
    if verdict.status == "met":
        return TrialResult("green", "exit 0" if criterion.kind == "verify" else verdict.evidence)
    return TrialResult("error" if _shows_nothing(criterion, result) else "red", verdict.reason)


def _shows_nothing(criterion: Criterion, result: Result) -> bool:
    """Return whether it did not run to an end that shows anything: no program, no time, no number."""
    if result.finding.status == "error":
        return True
    if result.finding.status == "fail":
        last = result.output.decode(errors="replace").strip().splitlines()[-1:]
        return any(_NO_MODULE.fullmatch(line) for line in (*last, result.finding.excerpt.strip()))
    return criterion.kind == "metric" and isinstance(read_printed_number(result.output), str)


def _read_check(wanted: str, ran: Mapping[str, Result], missing: Mapping[str, str]) -> TrialResult:
    findings = list_bound_findings(wanted, [result.finding for result in ran.values()])
    if not findings:
        why = next(iter(missing.values()), "")
        return TrialResult("not run", why) if why else TrialResult("error", f"this project has no check '{wanted}'")
    for status, base in _TRIAL_STATUS.items():
        if worst := next((finding for finding in findings if finding.status == status), None):
            return TrialResult(base, f"{worst.title}: {worst.summary}")
    return TrialResult("green", "; ".join(f"{f.title}: {f.summary}" for f in findings))
