"""After a power cut: what the disk lost is found before anything is built on it, and nothing of it counts as done."""

from shlex import quote

from aigon.errors import AigonError, environment
from aigon.git.branch_ref import remove_empty_objects
from aigon.git.person import Checkout
from aigon.journal.state import State

_UNSTAGE = " && git reset -q"
"""The index names what was lost as well: from there it would get into the next commit without a look at the file."""
_AGAIN = "then run again with --resume, which judges the work tree anew"


def require_whole(checkout: Checkout, state: State) -> None:
    """Raise AigonError (exit 7) where the run's branch names commits whose content is not there any more.

    Objects without a byte, which some file systems leave, go first: to git they are there, so it would not write them.
    """
    assert state.started is not None
    remove_empty_objects(checkout.common_dir / "objects")
    name, base = f"refs/heads/{state.started.branch}", state.started.base_commit
    tip = checkout.commit_of(name)
    if tip is None or _whole(checkout, base, tip):
        return
    good = next((each for each in (state.checkpoint, base) if _whole(checkout, base, each)), base)
    raise environment(
        f"The branch {state.started.branch} names commits that the disk has lost parts of",
        where=tip[:12],
        hint=f"git update-ref {name} {good}{_UNSTAGE}   # back to the last that is whole; {_AGAIN}",
    )


def _whole(checkout: Checkout, base: str, tip: str) -> bool:
    """Whether every object of the commits since `base` is there."""
    return checkout.ask("rev-list", "--objects", "--quiet", tip, f"^{base}", "--") is not None


def broken(checkout: Checkout, branch: str, last: str) -> AigonError | None:
    """The error for a branch whose ref is there and names nothing that git can read; None where there is no ref."""
    file = checkout.common_dir / "refs" / "heads" / branch
    if not file.exists():
        return None
    return environment(
        f"The branch {branch} is damaged: it names no commit that git can read",
        where=str(file),
        hint=f"rm {quote(str(file))} && git update-ref refs/heads/{branch} {last}{_UNSTAGE}   # {_AGAIN}",
    )
