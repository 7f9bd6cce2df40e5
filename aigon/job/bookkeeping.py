"""Stage moves and other small commits of aigon's own, outside a run."""

import os
from collections.abc import Callable, Sequence

from msgspec import Struct

from aigon.errors import environment
from aigon.files.home import ensure_home
from aigon.git.commits import commit_as_person
from aigon.git.person import Checkout
from aigon.git.trusted import TrustedGit
from aigon.job import branch
from aigon.spec.features import Feature


class Committing(Struct, frozen=True):
    """The way a verb commits its files: not at all without `commit`, and with the person's hooks if `verify`.

    `say` tells a person of a commit before it is made.
    """

    say: Callable[[str], None]
    commit: bool = True
    verify: bool = True


def commit_taken_up(checkout: Checkout, feature: Feature, paths: Sequence[str], how: Committing) -> str:
    """Commit aigon's own uncommitted paths as the person would; return HEAD's commit. Raises AigonError (exit 7)."""
    if paths:
        commit_as_asked(checkout, paths, branch.render_own_message(open_own_git(checkout), feature, paths).strip(), how)
    return str(checkout.head)


def commit_as_asked(checkout: Checkout, paths: Sequence[str], message: str, how: Committing) -> None:
    """Commit these paths on the branch that is checked out, and say so before. Raises AigonError (exit 7)."""
    listed = branch.preview_paths([path for path in paths if os.path.lexists(checkout.root / path)] or paths)
    if not how.commit:
        how.say(f"Not committed: {listed}")
    else:
        how.say(f"Committing {listed} to {checkout.branch}")
        commit_as_person(checkout, paths, f"{message}\n", verify=how.verify)


def open_own_git(checkout: Checkout) -> TrustedGit:
    """Return aigon's own git for this checkout."""
    # Not a loop's own git, whose rules were read before its agent ran: an agent may call these commands too.
    return TrustedGit(checkout, ensure_home(checkout.common_dir) / "git-bookkeeping")


def require_clean(checkout: Checkout) -> None:
    """Raise AigonError (exit 7) if anything is uncommitted."""
    if changed := checkout.list_changed():
        hint = 'git add -A && git commit -m "..."   or   git stash --include-untracked'
        raise environment("There are uncommitted changes", where=", ".join(changed[:5]), hint=hint)
