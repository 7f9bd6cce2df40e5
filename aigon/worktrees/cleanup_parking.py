"""Park what a worktree holds that is in no commit, before it goes."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from aigon.git.person import Checkout
from aigon.git.workspace import Workspace
from aigon.model.candidates import Candidate
from aigon.secrets.leaks import exclude_lines
from aigon.text.quoting import folded

NAMED = 3
"""Files that a reason names."""


@dataclass(frozen=True, slots=True)
class Leaving:
    """A worktree that is to go: whose it is, what it holds that is in no commit, and whether that may be parked."""

    main: Checkout
    here: Checkout
    candidate: Candidate
    home: Path
    park: bool

    @property
    def place(self) -> str:
        """What refs of parked work begin with."""
        return f"feature-{self.candidate.feature}/{self.candidate.label}"


def park_uncommitted(it: Leaving) -> str:
    """Park what is in no commit, and on no branch, where that is wished; else the reason."""
    changed, lost = it.here.changed(), _on_no_branch(it.here)
    if not it.park:
        again = f"commit it there, or park it: aigon cleanup {it.candidate.feature} {it.candidate.label} --park"
        if changed:
            return f"it holds work that is in no commit ({_named(changed)}): {again}"
        return f"its HEAD is a commit that is on no branch ({lost[:12]}): {again}" if lost else ""
    if not changed and not lost:
        return ""
    with _workspace(it) as workspace:
        if changed and (why := _park_changes(it, workspace, changed)):
            return why
        if lost:
            workspace.keep(f"{it.place}-head", lost)
    return f"{_named(left)} could not be put away" if (left := it.here.changed()) else ""


def _on_no_branch(here: Checkout) -> str:
    """The commit of a detached HEAD that no branch contains; "" where there is none."""
    head = here.head
    if here.branch is not None or head is None:
        return ""
    return "" if here.git("for-each-ref", "--count=1", "--contains", head, "refs/heads") else head


@contextmanager
def _workspace(it: Leaving) -> Iterator[Workspace]:
    """The work tree as the loop's own git sees it, without secrets."""
    with TemporaryDirectory(prefix="git-cleanup-", dir=it.home) as folder:
        workspace = Workspace(it.here, Path(folder), it.here.branch or it.candidate.branch)
        workspace.trusted.keep_out(exclude_lines())
        yield workspace


def _park_changes(it: Leaving, workspace: Workspace, changed: Sequence[str]) -> str:
    """Park the work tree as it is, then put it back to its commit; why that is not possible, where it is not."""
    head = it.here.head
    if head is None:
        return "its branch has no commit"
    if complaints := workspace.snapshot():
        return folded("; ".join(complaints))
    held = set(workspace.tracked())
    if left := [path for path in changed if os.path.lexists(it.here.root / path) and path not in held]:
        return f"{_named(left)} may hold secrets, which are not parked"
    message = f"aigon: parked what {it.candidate.branch} had not committed\n"
    workspace.keep(f"{it.place}-uncommitted", workspace.commit_tree(workspace.tree(), head, message))
    workspace.restore(head)
    return ""


def park_ignored(it: Leaving, paths: Sequence[str]) -> None:
    """Keep ignored files as a commit on top of HEAD."""
    head = str(it.here.head)
    with _workspace(it) as workspace:
        git, index = workspace.trusted, workspace.trusted.directory / "index.ignored"
        git.run("read-tree", head, index=index)
        stdin = b"".join(os.fsencode(path) + b"\0" for path in paths)
        git.run("update-index", "--add", "-z", "--stdin", stdin=stdin, index=index)
        tree = git.run("write-tree", index=index).decode().strip()
        message = f"aigon: parked what git ignored in the worktree of {it.candidate.branch}\n"
        workspace.keep(f"{it.place}-ignored", workspace.commit_tree(tree, head, message))


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
    return ", ".join(folded(path) for path in paths[:NAMED]) + more
