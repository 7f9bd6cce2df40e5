"""A merge that broke off half-way: noted before it begins, so that the next `feature-done` can put things back."""

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from aigon.done.place import MARK, back_on, park
from aigon.errors import AigonError, environment
from aigon.files.atomic import write_atomic
from aigon.git.person import NO_HOOKS, Checkout

FILE = "merging.json"


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A merge of `branch` into `target`, which stood at `onto`, while the main checkout stood on `before`.

    `label` is whose work it is; `tree` what git made of the merge, once it has.
    """

    name: str
    label: str
    branch: str
    target: str
    onto: str
    before: str
    tree: str = ""


def note(home: Path, unfinished: Unfinished) -> None:
    """Write down that it begins, or how far it is."""
    write_atomic(home / FILE, json.dumps(asdict(unfinished)).encode() + b"\n")


def tried(home: Path, tree: str) -> None:
    """Add to the note what the merge came to."""
    if found := noted(home):
        note(home, replace(found, tree=tree))


def noted(home: Path) -> Unfinished | None:
    """What was noted; None where nothing broke off. Damaged, it is taken for absent."""
    try:
        return Unfinished(**json.loads((home / FILE).read_bytes()))
    except (OSError, ValueError, TypeError, RecursionError):
        return None


def forget(home: Path) -> None:
    """It is over."""
    (home / FILE).unlink(missing_ok=True)


def settle(main: Checkout, home: Path) -> Unfinished | None:
    """Put back what a merge left that broke off. The note where it was done already, but for what comes after it.

    Raises AigonError (exit 7) where a person changed files since.
    """
    found = noted(home)
    if found is None:
        return None
    with suppress(AigonError):  # its worktree may be gone by now
        _back_in_worktree(main, found)
    if main.commit_of(f"refs/heads/{found.target}") != found.onto:
        return found
    _untried(main, found)
    if main.branch != found.before and main.commit_of(f"refs/heads/{found.before}"):
        back_on(main, found.before)
    forget(home)
    return None


def _untried(main: Checkout, found: Unfinished) -> None:
    """Files and index as the target has them: what else the index holds is parked."""
    if main.branch != found.target or not (main.changed() or main.under_way() == "merge"):
        return
    tree = main.ask("write-tree")
    if tree and tree not in (found.tree, main.git("rev-parse", "HEAD^{tree}")):
        park(main, found.branch, main.git("commit-tree", tree, "-p", "HEAD", "-m", "half a merge"))
    if main.ask(*NO_HOOKS, "reset", "-q", "--merge") is None or main.changed():
        raise environment(
            f"A merge of {found.branch} into {found.target} broke off here, and files were changed since",
            where=", ".join(main.changed()[:5]),
            hint="Commit or stash what is yours, then run it again",
        )


def _back_in_worktree(main: Checkout, found: Unfinished) -> None:
    """A rebase, or a commit that was looked at, left the worktree without its branch."""
    for block in main.git("worktree", "list", "--porcelain").split("\n\n"):
        path = Path(block.partition("\n")[0].removeprefix("worktree "))
        if path.is_dir() and path.resolve() != main.root:
            with Checkout.open(path) as place:
                _back(main, place, found)
    _back(main, main, found)


def _back(main: Checkout, place: Checkout, found: Unfinished) -> None:
    mark = place.git_dir / "aigon" / MARK
    if not mark.exists():
        return
    if place.under_way() == "rebase":
        place.git(*NO_HOOKS, "rebase", "--abort")
    if place.branch is None:
        park(main, found.branch, str(place.head))
        back_on(place, found.branch)
    mark.unlink()
