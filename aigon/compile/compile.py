"""Propose how each open criterion can be decided by running something, and write what a person says yes to."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from aigon.checks.project import ProjectOnDisk
from aigon.compile.compilation import Compilation, CompiledCriterion
from aigon.compile.model import ModelProposals, ask_model
from aigon.compile.proposals import Proposal, propose
from aigon.compile.surroundings import look_around
from aigon.compile.trial import MayRun, Say, choose_allowed, try_proposals
from aigon.errors import environment, usage
from aigon.files.atomic import write_atomic
from aigon.git.person import Checkout
from aigon.job.options import Options
from aigon.job.seat import hold_checkout
from aigon.process.run import Command, run
from aigon.proof.vacuity import absent_files
from aigon.run.prepare import prepare
from aigon.spec.document import annotate, can_annotate
from aigon.text.fingerprints import strip_escapes

TIMEOUT = 60.0
"""Seconds for each command unless a person says otherwise."""


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
    allowed = choose_allowed(rows, project, around, may_run)
    rows = try_proposals(checkout, prepared, rows, allowed, timeout, say)
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
    where = compilation.feature.path
    file = (checkout.root / where).resolve()
    data = annotate(compilation.spec, wanted)
    with hold_checkout(checkout):
        if file.read_bytes() != compilation.spec.raw:
            hint = f"Run it again: aigon spec-compile {compilation.feature.name_for_people}"
            raise environment("The spec was changed in the meantime, so nothing was written", where=where, hint=hint)
        write_atomic(file, data)


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
        absent = absent_files(proposal.script, lambda path: (root / path).exists()) if proposal.script else ()
        if absent:
            reason = f"{proposal.reason}; {absent[0]} is not there yet, so the agent would write its own proof"
            proposals[number] = replace(proposal, confidence="guess", reason=reason)
    return proposals, notes


def _find_syntax_error(line: str, root: Path, env: Mapping[str, str]) -> str:
    """Return what bash says against `line` without running it."""
    ended = run(Command(("bash", "-n", "-c", line), root, env, deadline=10.0))
    if ended.exit_code == 0:
        return ""
    lines = strip_escapes(ended.stdout.decode(errors="replace")).strip().splitlines()
    return lines[0][:200] if lines else ended.start_error or "it cannot be read"
