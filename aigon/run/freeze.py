"""Freeze the job: what decides it is recorded, outside of the workspace, before an agent can touch anything."""

from dataclasses import replace

from aigon.git.workspace import Workspace
from aigon.job.job import Job
from aigon.proof import frozen, put_back
from aigon.proof.frozen import Frozen
from aigon.run.opening import Opened, Opening


def freeze(opening: Opening, found: Opened, job: Job) -> tuple[Job, Frozen]:
    """The job with the checks that count, and the record, which is written."""
    known = frozen.load(found.records.frozen)
    root, inputs = str(opening.checkout.root), _inputs(found)
    checks = frozen.lasting(known, found.prepared.checks.checks, root, inputs, job.base_commit)
    record = frozen.begun(known, base=job.base_commit, root=root, inputs=inputs, checks=checks, theirs=_theirs(found))
    if known and (known.root, known.inputs, known.base) == (root, inputs, job.base_commit):
        # What scripts call is read from the tree, which an agent has written to by now: what was found stays protected.
        job = replace(job, protection=job.protection.with_found(known.rules))
    record = replace(record, rules=job.protection.found())
    record = replace(record, guarded=_guarded(found, job, record))
    frozen.save(found.records.frozen, record)
    checks = () if job.demand.skip_validation else checks
    return replace(job, checks=checks, base_results=record.passed), record


def _inputs(found: Opened) -> str:
    """What a person chose that decides which checks there are."""
    config, options = found.prepared.config, found.options
    chosen = config.model_dump(
        mode="json", include={"profile", "ralph", "profiles", "validation", "checks", "env", "paths", "endpoints"}
    )
    return frozen.inputs_of(chosen, options.profile, options.validation_script, found.prepared.spec.validation)


def _theirs(found: Opened) -> dict[str, str]:
    """Files that people changed since the last checkpoint: their version counts from here on."""
    if not found.since or found.since == found.head:
        return {}
    return dict.fromkeys(found.workspace.paths_changed(found.since, found.head), found.head)


def _guarded(found: Opened, job: Job, record: Frozen) -> dict[str, frozen.Guarded]:
    """What is put back, as people left it; as recorded where an agent's work, or its commits, wait to be judged."""
    if (found.unjudged or found.suspect) and record.guarded:
        return dict(record.guarded)
    workspace: Workspace = found.workspace
    return put_back.recorded(workspace.root, workspace.tracked(), job.protection)
