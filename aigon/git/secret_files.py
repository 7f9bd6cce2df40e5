"""Secrets among the changed files of a work tree, and keeping them out of aigon's index."""

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from aigon.git.history import contents
from aigon.git.trusted import TrustedGit
from aigon.secrets.leaks import Leak, leak

LARGEST = 32 << 20
"""Bytes of a file that are looked at: what people and tools write secrets into is smaller."""
Allowed = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Known:
    """What is asked only about what looks like a secret.

    `tracked` says whether the base has a path, `held` whether it holds a credential in any file, `allowed` whether
    a person lets a path through; `values` are secrets of the person, with what they are called.
    """

    tracked: Callable[[str], bool]
    held: Callable[[bytes], bool]
    allowed: Allowed
    values: Mapping[bytes, str] = field(default_factory=dict)

    def leak(self, path: str, data: bytes) -> Leak | None:
        """Why a file of this name and content must not be committed; None where it may be."""
        if leak(path, data, values=self.values) is None or self.allowed(path):
            return None
        return leak(path, data, tracked=self.tracked(path), known=self.held, values=self.values)


def leaks(
    root: Path, changed: Iterable[str], tracked: Callable[[str], bool], known: Callable[[bytes], bool], allowed: Allowed
) -> tuple[Leak, ...]:
    """Which of the `changed` paths below `root` must not be committed. Links are not followed; what is gone is fine."""
    asked = Known(tracked, known, allowed)
    contents = ((path, data) for path in changed if (data := on_disk(root, path)) is not None)
    return tuple(found for path, data in contents if (found := asked.leak(path, data)))


def staged(git: TrustedGit, root: Path, parent: str) -> Iterator[tuple[str, bytes]]:
    """Every plain file of the private index that the commit `parent` does not have so, by path, with its beginning.

    What lies in the work tree is read, unless git made something else of it, or it was changed since: then what git
    has. So nothing gets into a commit by being exchanged while checks run.
    """
    listed = git.run("diff-index", "--cached", "--raw", "--no-abbrev", "-z", "--no-renames", "--no-ext-diff", parent)
    fields = iter(listed.split(b"\0"))
    rest: dict[str, list[str]] = {}
    for head in fields:
        if not head:
            break
        path, (_, mode, _, name, _) = os.fsdecode(next(fields)), head.decode().split(" ")
        if not mode.startswith("100"):
            continue
        data = on_disk(root, path)
        if data is not None and _is_blob(name, data):
            yield path, data
        else:
            rest.setdefault(name, []).append(path)
    for name, data in contents(git, rest, LARGEST) if rest else ():
        yield from ((path, data) for path in rest[name])


def _is_blob(name: str, data: bytes) -> bool:
    """Whether git knows exactly these bytes under this name."""
    made = hashlib.new("sha1" if len(name) == 40 else "sha256", b"blob %d\0" % len(data), usedforsecurity=False)
    made.update(data)
    return made.hexdigest() == name


def on_disk(root: Path, path: str) -> bytes | None:
    """The beginning of a plain file; None for anything else. A pipe is never waited for."""
    try:
        handle = os.open(f"{root}/{path}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        about = os.fstat(handle)
        return os.read(handle, min(LARGEST, about.st_size + 1)) if stat.S_ISREG(about.st_mode) else None
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
