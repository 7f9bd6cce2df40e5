"""How each criterion of a spec could be decided by running something, how that stands now, and the spec made to say so.

Proposing changes nothing. Writing is a person's act: `write` is called for what they said yes to.
"""

from collections.abc import Mapping, Sequence

from aigon.checks.project import ProjectOnDisk
from aigon.checks.shell_syntax import syntax_error
from aigon.compile.compiled import Compilation, Row
from aigon.compile.model_call import Model, asked
from aigon.compile.now import MayRun, Say, allowed, with_standings
from aigon.compile.proposals import Proposal
from aigon.compile.rules.rules import propose
from aigon.compile.surroundings import surroundings
from aigon.errors import environment, usage
from aigon.files.atomic import write_atomic
from aigon.git.person import Checkout
from aigon.job.options import Options
from aigon.job.seat import hold_checkout
from aigon.model.criteria import Spec
from aigon.proof.vacuity import absent_files
from aigon.run.prepare import Prepared, prepare
from aigon.spec.document import annotate, can_annotate

TIMEOUT = 60.0
"""Seconds for each command unless a person says otherwise: a look that takes longer is no look."""


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
    _require_known(only, spec, prepared.feature.path)
    chosen = [c for c in spec.criteria if not only or c.number in only]
    open_ = [c for c in chosen if c.kind == "judge" and can_annotate(spec, c.number)]
    project = ProjectOnDisk(checkout.root, prepared.env)
    texts = [criterion.text for criterion in spec.criteria]
    around = surroundings(project, prepared.checks.checks, prepared.check_env["PATH"], texts)
    plain = {c.number: propose(c.text, around) for c in open_}
    model = asked(prepared, open_, plain, around, say) if open_ and prepared.judge else None
    proposals, notes = _best(checkout, prepared, plain, model)
    rows = [Row(c, proposals.get(c.number), note=notes.get(c.number, "")) for c in chosen]
    may = allowed(rows, project, around, may_run)
    rows = with_standings(checkout, prepared, rows, may, timeout, say)
    return Compilation(prepared.feature, spec, tuple(rows), model)


def write(checkout: Checkout, compilation: Compilation, numbers: Sequence[int]) -> None:
    """Write the annotations of these criteria into the spec.

    Raises AigonError: 2 where one would not be read as it is written, 7 where the file was changed meanwhile, or
    another aigon uses this checkout.
    """
    wanted = {number: made.annotation for number in numbers if (made := compilation.row(number).proposal)}
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


def _require_known(only: Sequence[int], spec: Spec, where: str) -> None:
    known = {criterion.number for criterion in spec.criteria}
    for number in only:
        if number not in known:
            hint = f"They go from 1 to {len(known)}: aigon spec-show"
            raise usage(f"There is no criterion {number}", where=where, hint=hint)


def _best(
    checkout: Checkout, prepared: Prepared, plain: Mapping[int, Proposal], model: Model | None
) -> tuple[dict[int, Proposal], dict[int, str]]:
    """For each open criterion the model's proposal where it holds, else that of the rules; and what was wrong."""
    proposals, notes = dict(plain), dict(model.wrong) if model else {}
    for number, proposal in (model.proposals if model else {}).items():
        if proposal.script and (error := syntax_error(proposal.script, checkout.root, prepared.check_env)):
            notes[number] = f"what the model proposed is no shell command: {error}"
        else:
            proposals[number] = proposal
    return {number: _weighed(checkout, proposal) for number, proposal in proposals.items()}, notes


def _weighed(checkout: Checkout, proposal: Proposal) -> Proposal:
    """Less sure where the agent would write its own proof."""
    absent = absent_files(proposal.script, lambda path: (checkout.root / path).exists()) if proposal.script else ()
    if not absent:
        return proposal
    return proposal.weaker(f"{absent[0]} is not there yet, so the agent would write its own proof")
