"""Copies of the main checkout's ignored files in a worktree: what the project needs there, and aigon's own."""

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from aigon.errors import AigonError, usage
from aigon.files.displaced import displace
from aigon.files.runtime_files import is_runtime
from aigon.files.store import write_atomic
from aigon.git.person import NO_HOOKS, Checkout
from aigon.text.quoting import folded
from aigon.worktrees.matches import files, ignored, is_ignored, matches, require_inside

KEY = "worktree.copy"


def bring(main: Checkout, worktree: Checkout, patterns: Sequence[str], say: Callable[[str], None]) -> None:
    """Copy what the patterns mean, with mode bits, links as links; nothing over what is there.

    Raises AigonError (exit 2) for a pattern that leads outside, and for a file that git does not ignore in the
    worktree: a checkpoint would commit it.
    """
    copied: dict[str, str] = {}
    for pattern in patterns:
        found = matches(main.root, require_inside(pattern, KEY))
        if not found:
            say(f"{KEY}: nothing in {main.root} is called {folded(pattern)}")
        wanted = [path for each in found for path in files(main.root, each) if _is_wanted(main, worktree, path)]
        copied |= {path: _put(main.root / path, worktree, path) for path in _ignored(worktree, wanted)}
    if copied:
        note(worktree, copied)


def copies(worktree: Checkout) -> Mapping[str, str]:
    """What was copied into the worktree, or made there by its set-up: path -> what it then held."""
    try:
        return dict(json.loads(_noted(worktree).read_bytes()))
    except (OSError, ValueError):
        return {}


def note(worktree: Checkout, made: Mapping[str, str]) -> None:
    """Write down what was put into the worktree that nobody worked on."""
    _noted(worktree).parent.mkdir(exist_ok=True)
    whole = {**copies(worktree), **made}
    write_atomic(_noted(worktree), json.dumps(whole, indent=1).encode())


def held(file: Path) -> str:
    """A name for what a file holds, or for where a link leads to. Raises OSError."""
    if file.is_symlink():
        return f"-> {file.readlink()}"
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def refresh_own(main: Checkout, worktree: Checkout) -> None:
    """Copy what a project that ignores its `.aigon/` keeps there: it says what is checked, so people's version counts.

    What an agent made of a copy is put aside.
    """
    out = main.git(*NO_HOOKS, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--", ".aigon")
    for path in out.split("\0"):
        source = main.root / path
        if not path or path.endswith("/") or is_runtime(path) or not source.is_file():
            continue
        if any(_through_links(worktree.root, [path])):
            continue
        target = worktree.root / path
        if os.path.lexists(target):
            if _same(source, target) or not is_ignored(worktree, path):
                continue
            displace(target, worktree.git_dir / "aigon" / "displaced")
        _put(source, worktree, path)


def _same(one: Path, other: Path) -> bool:
    try:
        return held(one) == held(other)
    except OSError:
        return False


def _is_wanted(main: Checkout, worktree: Checkout, path: str) -> bool:
    """Whether there is something to copy: no device or pipe, not in git, and nothing there of that name."""
    source = main.root / path
    return (source.is_symlink() or source.is_file()) and not os.path.lexists(worktree.root / path)


def _ignored(worktree: Checkout, paths: Sequence[str]) -> list[str]:
    """Those that git ignores; what it has itself need not be copied. Raises AigonError (exit 2) for any other."""
    if led_away := next(_through_links(worktree.root, paths), None):
        raise usage(f"{folded(led_away)} would be copied to where a link leads", where=KEY, hint="Leave it out")
    fine = ignored(worktree, paths)
    for path in sorted(set(paths) - set(fine)):
        if worktree.ask("ls-files", "--error-unmatch", "--", path) is None:
            raise usage(
                f"{folded(path)} would be committed: git does not ignore it",
                where=KEY,
                hint=f"Name it in .gitignore, and commit that: {folded(path)}",
            )
    return fine


def _through_links(root: Path, paths: Sequence[str]) -> Iterator[str]:
    folders = {parent for path in paths for parent in Path(path).parents}
    links = {folder for folder in folders if folder != Path() and (root / folder).is_symlink()}
    return (path for path in paths if links.intersection(Path(path).parents))


def _put(source: Path, worktree: Checkout, path: str) -> str:
    """Copy one file, whole or not at all; a name for what it holds."""
    target = worktree.root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    for aside in (worktree.git_dir / "aigon", worktree.root / ".aigon" / "runs"):
        aside.mkdir(parents=True, exist_ok=True)
        draft = aside / f"copy.{os.getpid()}"
        try:
            shutil.copy2(source, draft, follow_symlinks=False)
            name = held(draft)
            draft.rename(target)
        except OSError as error:
            draft.unlink(missing_ok=True)
            if error.errno != errno.EXDEV:
                raise _unreadable(source, error) from error
        else:
            return name
    raise _unreadable(source, OSError(errno.EXDEV, os.strerror(errno.EXDEV)))


def _unreadable(source: Path, error: OSError) -> AigonError:
    return usage(
        f"It cannot be copied into the worktree: {error.strerror}",
        where=str(source),
        hint="Fix the cause, or leave the path out of `worktree.copy`",
    )


def _noted(worktree: Checkout) -> Path:
    return worktree.git_dir / "aigon" / "copies.json"
