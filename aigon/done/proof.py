"""The final proof: the tree that will be on the target was never assessed, so everything is run on it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from aigon.checks import reuse
from aigon.checks.project_checks import require_tools
from aigon.done.choice import Landing
from aigon.errors import AigonError
from aigon.files.folders import remove_tree
from aigon.git.person import Checkout
from aigon.git.workspace import Tip, Workspace
from aigon.job.assessment import Assessment, Snapshot, find_proof
from aigon.job.job import Job
from aigon.job.options import Options
from aigon.job.results import load_durations
from aigon.job.world import World
from aigon.journal.sinks import Observer
from aigon.journal.state import replay
from aigon.loop.loop import Recorder
from aigon.model.checks import Check
from aigon.model.failures import describe_first_problems
from aigon.proof import frozen
from aigon.run.prepare import Prepared, build_job, prepare
from aigon.run.validate import assess_once, open_world
from aigon.spec.features import ROOT


def build_record(known: frozen.Frozen | None, workspace: Workspace, job: Job) -> frozen.Frozen:
    """Return what decides the feature. If people changed a file on the target since, their version counts.

    `known` is what the feature's own run froze, None if no run did.
    """
    root, base = str(workspace.trusted.root), job.base_commit
    if known:
        theirs: dict[str, str] = dict.fromkeys(workspace.paths_changed(known.base, base), base)
        known = replace(known, theirs={**known.theirs, **theirs})
        if known.root == root:
            return known
    folders = reuse.find_dependency_folders(workspace.trusted.root, job.proof.setups)
    return replace(known or frozen.Frozen(base, root, "", job.checks), root=root, folders=folders)


def select_checks(known: frozen.Frozen | None, record: frozen.Frozen, job: Job) -> tuple[Check, ...]:
    """Return the checks there are, and those that the work took away; not those that people changed."""
    if job.demand.skip_validation or ".aigon/config.json" in record.theirs:
        return job.checks
    if known and known.root == record.root:
        return frozen.lasting(known, job.checks, known.root, known.inputs, known.base)
    names = {check.name for check in job.checks}
    return (*job.checks, *(check for check in record.checks if check.name not in names))


SCRATCH = "done-proof"
NAMED = 3
"""Problems of a failed check that are named; a resumed run shows them all."""


def is_same_but_for_features(main: Checkout, one: str, other: str, spec: str) -> bool:
    """Return whether two trees differ only in aigon's notes: specs, logs and evaluations of features.

    The feature's own `spec` is not among them: people may have asked for more on the target.
    """
    listed = main.git("diff-tree", "-r", "-z", "--name-only", "--no-renames", one, other).split("\0")
    return all(path.startswith(f"{ROOT}/") and path != spec for path in listed if path)


def find_shortcomings(place: Checkout, landing: Landing, observers: Sequence[Observer]) -> tuple[str, ...]:
    """Run every check, criterion and the proof on the files of `place`, and return what is not proven.

    Raises AigonError: 7 if something cannot be run, 130 or 143 if a person stopped it.
    """
    chosen = landing.chosen
    is_known = chosen.records.journal.exists() and not chosen.is_claim
    started = replay(chosen.records.each()).started if is_known else None
    # A run that skipped the checks is merged without them.
    skipped = bool(started and started.skip_validation)
    options = Options(chosen.name, skip_validation=skipped, accept_passing=True)
    prepared = prepare(place, options, with_agent=False, feature=landing.feature, main=landing.main.root)
    more = {"home": chosen.home, "durations": load_durations(chosen.home)}
    with (
        _open_scratch(chosen.home) as folder,
        open_world("feature-done", place, prepared, folder, frozen=folder / "frozen.json", **more) as world,
    ):
        job, snapshot = _snapshot_job(place, landing, prepared, world)
        require_tools(job.checks)
        look = assess_once(job, world, snapshot, Recorder((), observers))
        if (stop := world.stop).now:
            raise AigonError(f"Interrupted by {stop.reason}; nothing was merged", code=stop.exit_code)
    if find_proof(job.demand, look.findings, look.verdicts):
        return ()
    return tuple(_describe_failures(job, look)) or ("no check could pass",)


@contextmanager
def _open_scratch(home: Path) -> Iterator[Path]:
    """Yield a folder for a proof: always the same one, so that the next aigon finds what a killed one left."""
    clear_scratch(home)
    try:
        yield home / SCRATCH
    finally:
        clear_scratch(home)


def clear_scratch(home: Path) -> None:
    """Remove the folder of a proof, with its rooms. Nobody else may use the main checkout. Raises AigonError."""
    remove_tree(home / SCRATCH)


def _snapshot_job(place: Checkout, landing: Landing, prepared: Prepared, world: World) -> tuple[Job, Snapshot]:
    """Return what is to be proven and by what. The record of what decides the feature is written for the world."""
    chosen, file = landing.chosen, world.frozen
    assert file is not None, "the world of a merge has a record of its own"
    # What people had: where the work and the target parted.
    base = landing.main.git("merge-base", landing.onto, str(place.head))
    mode = chosen.candidate.mode if chosen.candidate else "solo"
    job = build_job(prepared, base, label=chosen.label, mode=mode)
    known = None if chosen.is_claim else frozen.load(chosen.records.frozen)
    record = build_record(known, world.workspace, job)
    frozen.save(file, record)
    job = replace(job, decisions=chosen.records.decisions(), checks=select_checks(known, record, job))
    complaints = world.workspace.snapshot()
    return job, Snapshot(0, Tip(base, base), world.workspace, base, job.own_files, complaints)


def _describe_failures(job: Job, look: Assessment) -> Iterator[str]:
    """Yield a short sentence for each check that failed and each criterion that has not passed."""
    for finding in look.findings:
        if finding.status != "pass" and finding.check not in job.demand.known_failures:
            problems = "; ".join(describe_first_problems(finding, NAMED))
            yield f"{finding.title}: {finding.summary}" + (f" ({problems})" if problems else "")
    for verdict in look.verdicts:
        if verdict.status != "met":
            yield f"criterion {verdict.criterion}: {verdict.reason or verdict.status}"
