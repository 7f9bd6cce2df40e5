"""What git needs so that an agent can commit: the least that add, commit, branch and stash work with.

In a linked worktree: objects, refs, their logs and packed-refs of the repository, and the worktree's own folder. What
runs or is read as a setting (hooks, config) and what is another checkout's (its index, its HEAD) stays as it is.
"""

import os
from dataclasses import replace
from pathlib import Path

from aigon.config.grants import Grants

SHARED = ("objects", "refs", "logs", "packed-refs", "lfs")
"""In the git directory that all worktrees share."""
SETTINGS = ("hooks", "config", "config.worktree")
"""What other programs of the person would run or believe."""


def with_git(grants: Grants, git_dir: Path, common: Path) -> Grants:
    """The grants, and these. Other object stores that the repository borrows from may be read."""
    read = [*grants.read, *_borrowed(common), str(common)]
    if git_dir == common:
        fixed = [str(common / name) for name in SETTINGS]
        return replace(grants, write=(*grants.write, str(common)), read=tuple(read), fixed=(*grants.fixed, *fixed))
    shared = [str(common / name) for name in SHARED if (common / name).exists()]
    own = [str(git_dir / name) for name in SETTINGS]
    return replace(
        grants,
        write=(*grants.write, *shared, str(git_dir)),
        flat=(*grants.flat, str(common)),
        read=tuple(read),
        fixed=(*grants.fixed, *own),
    )


def _borrowed(common: Path) -> list[str]:
    """The folders named in objects/info/alternates."""
    try:
        lines = (common / "objects" / "info" / "alternates").read_text(errors="surrogateescape").splitlines()
    except OSError:
        return []
    named = (os.path.realpath(common / "objects" / line) for line in lines if line and not line.startswith("#"))
    return [path for path in named if Path(path).is_dir()]
