"""What decides a feature when it is merged: the record of its run, and what people did on the target since."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from aigon.checks import dependencies
from aigon.done.choice import Chosen
from aigon.git.person import Checkout
from aigon.git.workspace import Workspace
from aigon.job.job import Job
from aigon.model.checks import Check
from aigon.proof import frozen
from aigon.spec.features import Feature


@dataclass(frozen=True, slots=True)
class Subject:
    """What is looked at: the files of `place`, as the work of `chosen` on what people had at the commit `base`."""

    place: Checkout
    main: Path
    chosen: Chosen
    feature: Feature
    base: str


def record_of(subject: Subject, workspace: Workspace, job: Job) -> frozen.Frozen:
    """What decides the feature, with what people did on the target since: their version of a file counts."""
    known = frozen.load(subject.chosen.records.frozen)
    root, base = subject.place.root, subject.base
    if known is None:
        return frozen.Frozen(
            base, str(root), "", job.checks, folders=dependencies.find_dependency_folders(root, job.proof.setups)
        )
    theirs: Mapping[str, str] = dict.fromkeys(workspace.paths_changed(known.base, base), base)
    known = replace(known, theirs={**known.theirs, **theirs})
    if known.root == str(root):
        return known
    return replace(known, root=str(root), folders=dependencies.find_dependency_folders(root, job.proof.setups))


def checks_of(subject: Subject, record: frozen.Frozen, job: Job) -> tuple[Check, ...]:
    """The checks that are there, and those that the run had and the work took away; not what people changed."""
    if job.demand.skip_validation or ".aigon/config.json" in record.theirs:
        return job.checks
    known = frozen.load(subject.chosen.records.frozen)
    if known and known.root == str(subject.place.root):
        return frozen.lasting(known, job.checks, known.root, known.inputs, known.base)
    names = {check.name for check in job.checks}
    return (*job.checks, *(check for check in record.checks if check.name not in names))
