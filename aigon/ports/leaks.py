"""Secrets among the changed files of a work tree, and keeping them out of aigon's index."""

import os
import stat
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from aigon.core.leaks import Leak, leak
from aigon.ports.trusted import TrustedGit

LARGEST = 2 << 20
"""Bytes of a file that are looked at: what people and tools write secrets into is smaller."""
Allowed = Callable[[str], bool]


def leaks(
    root: Path, changed: Iterable[str], tracked: Callable[[str], bool], known: Callable[[bytes], bool], allowed: Allowed
) -> tuple[Leak, ...]:
    """Which of the `changed` paths below `root` must not be committed. Links are not followed; what is gone is fine.

    `tracked` says whether the base has a path, `known` whether it holds a credential in any file, `allowed` whether
    the spec lets a path through. The last three are asked only about what looks like a secret.
    """
    suspects = ((path, data) for path in changed if (data := _content(root, path)) is not None and leak(path, data))
    checked = (leak(path, data, tracked=tracked(path), known=known) for path, data in suspects if not allowed(path))
    return tuple(found for found in checked if found)


def _content(root: Path, path: str) -> bytes | None:
    """The beginning of a plain file; None for anything else. A pipe is never waited for."""
    try:
        handle = os.open(f"{root}/{path}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.read(handle, LARGEST) if stat.S_ISREG(os.fstat(handle).st_mode) else None
    except OSError:
        return None
    finally:
        os.close(handle)


def tracked_in(git: TrustedGit, commit: str) -> Callable[[str], bool]:
    """Whether `commit` has a file of that path."""
    return lambda path: git.attempt("cat-file", "-e", f"{commit}:{path}")[0] == 0


def holds(git: TrustedGit, commit: str) -> Callable[[bytes], bool]:
    """Whether any file of `commit` has these bytes in one of its lines; they are on no command line."""
    return lambda value: git.attempt("grep", "-q", "-a", "-F", "-f", "-", commit, stdin=value + b"\n")[0] == 0


def keep_out(git: TrustedGit, parent: str, paths: Sequence[str]) -> None:
    """Make aigon's private index hold at `paths` what the commit `parent` (a full hash) has there, or nothing.

    The work tree stays as it is.
    """
    listed = git.run("ls-tree", "-z", "--full-tree", parent, "--", *paths).split(b"\0")
    gone = [b"0 " + b"0" * len(parent) + b"\t" + os.fsencode(path) for path in paths]
    back = [entry for entry in listed if entry and not entry.startswith(b"040000")]
    git.run("update-index", "-z", "--index-info", stdin=b"".join(line + b"\0" for line in (*gone, *back)))
