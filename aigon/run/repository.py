"""The branch of a run as it was left, and the repository that its agents commit to."""

import os
from collections.abc import Sequence
from pathlib import Path
from shlex import quote

from msgspec.structs import replace

from aigon.config.grants import Grants
from aigon.errors import AigonError, environment
from aigon.files.home import state_home
from aigon.git.branch_ref import remove_empty_objects
from aigon.git.person import Checkout
from aigon.git.refs import Rivals
from aigon.git.run_repository import RunRepository, find_lent_branch
from aigon.git.workspace import Workspace
from aigon.isolation.machine_paths import add_git_grants, expand_existing, is_repository_lent, load_sandbox_data
from aigon.isolation.run_sandbox import HOMES, RunSandbox
from aigon.isolation.sandbox import Sandbox, choose_mechanism
from aigon.job.world import World
from aigon.journal.state import State
from aigon.process.start import Program
from aigon.proof.restore import Watch
from aigon.run.opening import Opening

_UNSTAGE = " && git reset -q"
"""The index names what was lost as well: from there it would get into the next commit without a look at the file."""
_AGAIN = "then run again with --resume, which assesses the work tree again"


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


def require_branch(checkout: Checkout, state: State) -> None:
    """Raise AigonError (exit 7), before anything is changed, for a branch that was rewritten or deleted meanwhile."""
    assert state.started is not None
    branch, last = state.started.branch, state.checkpoint
    tip = checkout.commit_of(f"refs/heads/{branch}")
    if tip is None:
        hint = f"git branch {branch} {last}   # brings it back; then run again with --resume"
        deleted = environment(f"The branch {branch} was deleted", where=branch, hint=hint)
        raise describe_damaged_ref(checkout, branch, last) or deleted
    if checkout.commit_of(last) is None:
        hint = "Start a new run from here with --loop; the old journal is kept"
        raise environment("The last iteration commit of this run no longer exists", where=last[:12], hint=hint)
    if tip != last and not checkout.is_ancestor(last, tip):
        hint = (
            f"git reset --keep {last[:12]}   # back to the last iteration commit; or --loop starts a new run from here"
        )
        raise environment(f"The branch {branch} was rewritten since the run stopped", where=tip[:12], hint=hint)


def describe_damaged_ref(checkout: Checkout, branch: str, last: str) -> AigonError | None:
    """Return the error for a branch whose ref exists and names nothing that git can read; None without a ref."""
    file = checkout.common_dir / "refs" / "heads" / branch
    if not file.exists():
        return None
    return environment(
        f"The branch {branch} is damaged: it names no commit that git can read",
        where=str(file),
        hint=f"rm {quote(str(file))} && git update-ref refs/heads/{branch} {last}{_UNSTAGE}   # {_AGAIN}",
    )


def require_whole(checkout: Checkout, state: State) -> None:
    """Raise AigonError (exit 7) if the run's branch names commits whose content is lost.

    Empty object files, which some file systems leave, are removed first: git takes them for objects that it has, and
    would not write them again.
    """
    assert state.started is not None
    remove_empty_objects(checkout.common_dir / "objects")
    name, base = f"refs/heads/{state.started.branch}", state.started.base_commit

    def is_whole(tip: str) -> bool:
        return checkout.ask("rev-list", "--objects", "--quiet", tip, f"^{base}", "--") is not None

    tip = checkout.commit_of(name)
    if tip is None or is_whole(tip):
        return
    good = next((each for each in (state.checkpoint, base) if is_whole(each)), base)
    raise environment(
        f"The branch {state.started.branch} names commits that the disk has lost parts of",
        where=tip[:12],
        hint=f"git update-ref {name} {good}{_UNSTAGE}   # back to the last that is whole; {_AGAIN}",
    )
