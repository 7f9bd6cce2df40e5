"""The repository that a run's agents commit to, and what they committed in a turn that was killed."""

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from aigon.config.grants import Grants
from aigon.files.home import state_home
from aigon.git.person import Checkout
from aigon.git.refs import Rivals
from aigon.git.run_repository import RunRepository, find_lent_branch
from aigon.git.workspace import Workspace
from aigon.isolation.machine_paths import add_git_grants, expand_existing, is_repository_lent, load_sandbox_data
from aigon.isolation.run_sandbox import HOMES, RunSandbox
from aigon.isolation.sandbox import Sandbox, choose_mechanism
from aigon.job.world import World
from aigon.process.start import Program
from aigon.proof.watch import Watch
from aigon.run.opening import Opening


def make_run_repository(workspace: Workspace, sandbox: RunSandbox, rivals: Rivals) -> RunRepository | None:
    """Return the repository for agents in this sandbox; None if they have to commit to the person's."""
    root = workspace.root
    if not is_repository_lent(root, sandbox.mechanism):
        return None
    swaps = sandbox.mechanism == "landlock"
    return RunRepository(
        workspace, lambda argv: sandbox.confine(argv, root), rivals.branches, _find_covered(root), swaps
    )


def has_lent_repository(world: World) -> bool:
    watch = world.find(Watch)
    return bool(watch and watch.run)


def _find_covered(root: Path) -> Path | None:
    return None if (root / ".git").is_file() else root / ".git"


def recover_turn(opening: Opening) -> tuple[str, ...]:
    """Take over what was committed in a turn that was killed; return a sentence for what is worth saying.

    Nothing of that turn may be running any more. The agent's store is read in a sandbox that can write nothing.
    """
    checkout = opening.checkout
    branch = find_lent_branch(checkout.git_dir)
    if branch is None:
        return ()
    workspace = opening.open_workspace(branch)
    sandbox, root = _make_reading_sandbox(checkout), checkout.root

    def confine(argv: Sequence[str]) -> Program:  # nothing reads it without a sandbox: it is kept aside
        return sandbox.command(argv, root) if sandbox else Program(("false",))

    left = RunRepository(workspace, confine, over=_find_covered(root), swaps=True)
    before = workspace.tip()
    said = left.take_back(lambda name, commit: workspace.keep(f"{branch}/{name}", commit))
    if (tip := workspace.tip()) and tip != before:  # the agent staged in its own index what it committed
        workspace.trusted.run("read-tree", "--reset", tip)
        workspace.trusted.attempt("update-index", "-q", "--refresh")
        workspace.hand_over_index()
    left.close()
    return said


def _make_reading_sandbox(checkout: Checkout) -> Sandbox | None:
    mechanism = choose_mechanism()
    if not is_repository_lent(checkout.root, mechanism):
        return None
    hidden = (*HOMES, *expand_existing(load_sandbox_data().never, os.environ), str(state_home()))
    grants = Grants(hidden=tuple(path for path in hidden if Path(path).exists()), read=(str(checkout.root),))
    granted = add_git_grants(grants, checkout.root, checkout.git_dir, checkout.common_dir, mechanism)
    return Sandbox(mechanism, replace(granted, write=()), checkout.git_dir / "aigon" / "recovery")
