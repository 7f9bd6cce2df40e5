"""How proposals stand on the files as they are: each is run once, if it is known to do nothing but look."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from aigon.checks.project import ProjectOnDisk
from aigon.compile.compiled import Row
from aigon.compile.own_programs import knows_help
from aigon.compile.proposals import Proposal, Surroundings
from aigon.compile.rules.command import only_looks
from aigon.compile.standing import Standing, by_number
from aigon.git.person import Checkout
from aigon.model.criteria import Criterion
from aigon.proof.criteria import list_commands
from aigon.run.prepare import Prepared
from aigon.run.present_tree import run_here, select_checks

Say = Callable[[str], None]
MayRun = Callable[[Sequence[str]], bool]
"""Whether these commands, of which nobody knows that they only look, may be run all the same."""


def with_standings(
    checkout: Checkout, prepared: Prepared, rows: Sequence[Row], allowed: frozenset[int], timeout: float, say: Say
) -> list[Row]:
    """The rows of which those in `allowed` were run, for `timeout` seconds at most; what changes files is taken back.

    Raises KeyboardInterrupt when the person stopped it.
    """
    criteria = [_decided_by(row) for row in rows if row.criterion.number in allowed]
    wanted = [c.command or "" for c in criteria if c.kind == "check"]
    checks = (*select_checks(prepared.checks.checks, wanted), *list_commands(criteria))
    if checks:
        say(f"Running {len(checks)} command{'s' if len(checks) > 1 else ''} on the files as they are ...")
    found = by_number(criteria, run_here(checkout, prepared, checks, timeout))
    return [_seen(row, found.get(row.criterion.number)) for row in rows]


def allowed(rows: Sequence[Row], project: ProjectOnDisk, around: Surroundings, may_run: MayRun) -> frozenset[int]:
    """The criteria whose command may be run; for the others a person is asked, once for all of them."""
    doubtful = [row for row in rows if not _only_looks(row, project, around)]
    left_out = doubtful and not may_run([row.proposal.script for row in doubtful if row.proposal])
    out = {row.criterion.number for row in doubtful} if left_out else set()
    return frozenset(row.criterion.number for row in rows) - out


def _decided_by(row: Row) -> Criterion:
    """The criterion as it would be with the proposal in it."""
    made = row.proposal
    return replace(row.criterion, kind=made.kind, command=made.command) if made else row.criterion


def _only_looks(row: Row, project: ProjectOnDisk, around: Surroundings) -> bool:
    """What a person wrote into the spec is run by every look; what is proposed has to be known to do no harm."""
    if row.proposal is None or not row.proposal.script:
        return True
    own = frozenset(module.partition(".")[0] for module in around.modules)
    script = row.proposal.script
    known = (around.coverage, *around.shown.values())
    return script in known or only_looks(script, partial(knows_help, project, around), own)


def _seen(row: Row, standing: Standing | None) -> Row:
    if standing is None:
        detail = "nobody knows that this command only looks"
        return replace(row, standing=Standing("not run", detail))
    if not standing.changed:
        return replace(row, standing=standing)
    files = ", ".join(standing.changed[:3])
    note = f"running it changed {files}, which was put back; what it wrote is kept in {standing.aside}"
    if row.proposal is None:
        return replace(row, standing=standing, note=note)
    why = f"`{row.proposal.command}` changes files of the project ({files}), so it cannot be proposed"
    return replace(row, proposal=Proposal("judge", None, why, "guess"), note=note)
