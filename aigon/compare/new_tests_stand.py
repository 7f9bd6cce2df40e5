"""What a candidate's tests are run with: its checks as they were frozen, its dependencies, its environment."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from aigon.checks import dependencies
from aigon.compare.new_tests_job import check_env, job_of
from aigon.config.models import Config
from aigon.errors import AigonError, environment
from aigon.git.person import Checkout
from aigon.git.workspace import Workspace
from aigon.job.job import Job, ProofPlan
from aigon.job.world import World
from aigon.journal.records import Records
from aigon.model.checks import Check
from aigon.process.stop import Stop
from aigon.proof import protection
from aigon.proof.frozen import Frozen, load
from aigon.secrets import redaction as secrets


@dataclass(frozen=True, slots=True)
class Stand:
    """`job` has the checks that run tests and how rooms are made; `record` is what was frozen of the candidate."""

    job: Job
    world: World
    record: Frozen


@contextmanager
def stand_of(
    main: Checkout, config: Config, records: Records, folder: Path, run_id: str, stop: Stop
) -> Iterator[Stand]:
    """The stand of one candidate: in its worktree where that is there, else in the main checkout.

    Raises AigonError (exit 7) where nothing is known of its checks, or where its project cannot be proven elsewhere.
    """
    record = load(records.frozen)
    if record is None:
        raise environment("Nothing is recorded of how this candidate was checked", where=str(records.frozen))
    plan = protection.proof_of(main.root, config)
    if plan.mode == "in-place":
        raise environment('its tests cannot be run elsewhere: "proof" is "in-place"', where=".aigon/config.json")
    with ExitStack() as held:
        checkout = _worktree(main, record, held)
        record = record if str(checkout.root) == record.root else _moved(record, checkout.root, plan)
        world = _world(checkout, config, records, folder, run_id, stop)
        held.callback(world.close)
        yield Stand(job_of(record, plan), world, record)


def _worktree(main: Checkout, record: Frozen, held: ExitStack) -> Checkout:
    """The checkout that was worked in; the main one where that is gone."""
    if record.root != str(main.root) and Path(record.root).is_dir():
        try:
            found = held.enter_context(Checkout.open(Path(record.root)))
        except AigonError:
            return main
        if found.common_dir == main.common_dir and str(found.root) == record.root:
            return found
    return main


def _moved(record: Frozen, root: Path, plan: ProofPlan) -> Frozen:
    """The same for another checkout of the repository, with the dependencies that this one has."""
    checks = tuple(_in(check, record.root, str(root)) for check in record.checks)
    return replace(
        record, root=str(root), checks=checks, folders=dependencies.find_dependency_folders(root, plan.setups)
    )


def _in(check: Check, old: str, new: str) -> Check:
    def moved(text: str) -> str:
        return new + text[len(old) :] if text == old or text.startswith(f"{old}/") else text

    env = {name: moved(value) for name, value in check.env.items()}
    return replace(check, argv=tuple(map(moved, check.argv)), env=env)


def _world(checkout: Checkout, config: Config, records: Records, folder: Path, run_id: str, stop: Stop) -> World:
    branch = checkout.branch or ""
    return World(
        run_id=run_id,
        workspace=Workspace(checkout, folder / "git", branch, objects=folder.parent / "objects"),
        checkout=checkout.root,
        folder=folder / "run",
        home=records.folder.parent.parent,
        stop=stop,
        agent_env={},
        check_env=check_env(checkout.root, config, run_id),
        redact=secrets.make_redactor(os.environ),
        own_files={},
        keeps=False,
    )
