"""Check that the branch of a run is as the run left it, and say what to type if it is not."""

from shlex import quote

from aigon.errors import AigonError, environment
from aigon.git.branch_ref import remove_empty_objects
from aigon.git.person import Checkout
from aigon.journal.state import State

_UNSTAGE = " && git reset -q"
"""The index names what was lost as well: from there it would get into the next commit without a look at the file."""
_AGAIN = "then run again with --resume, which assesses the work tree again"


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
