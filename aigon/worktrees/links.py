"""Links in a worktree to the main checkout's ignored files and folders, such as its dependencies."""

import os
import re
from collections.abc import Callable, Sequence

from aigon.errors import usage
from aigon.git.person import Checkout
from aigon.job.branch import exclude
from aigon.text.quoting import folded
from aigon.worktrees.matches import is_ignored, matches, require_inside

KEY = "worktree.link"


def link(main: Checkout, worktree: Checkout, patterns: Sequence[str], say: Callable[[str], None]) -> None:
    """Link what the patterns mean; what is there already stays, and that is said.

    Raises AigonError (exit 2) for a pattern that leads outside, and for what git does not ignore.
    """
    for pattern in patterns:
        found = matches(main.root, require_inside(pattern, KEY))
        if not found:
            say(f"{KEY}: nothing in {main.root} is called {folded(pattern)}")
        for path in found:
            _link(main, worktree, path, say)


def _link(main: Checkout, worktree: Checkout, path: str, say: Callable[[str], None]) -> None:
    target, source = worktree.root / path, main.root / path
    _require_ignored(main, worktree, path)
    if os.path.lexists(target):
        if not target.is_symlink() or target.readlink() != source:
            say(f"{KEY}: {folded(path)} is there already in {worktree.root}, and stays as it is")
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.symlink_to(source)
    say(f"{folded(path)} is the main checkout's own, by a link: what one agent changes there, all see")


def _require_ignored(main: Checkout, worktree: Checkout, path: str) -> None:
    """Let git ignore the link: a line such as `node_modules/` means folders alone."""
    if is_ignored(main, path) and not is_ignored(worktree, path):
        exclude(main, [f"/{_escaped(path)}"], "links in worktrees")
    if not is_ignored(main, path) or not is_ignored(worktree, path):
        raise usage(
            f"A link called {folded(path)} would be committed: git does not ignore it",
            where=KEY,
            hint=f"Name it in .gitignore, without a / at the end, and commit that: /{folded(path)}",
        )


def _escaped(path: str) -> str:
    """A path as a line of an exclude file that means just this path."""
    return re.sub(r"([\\*?\[\]!# ])", r"\\\1", path)
