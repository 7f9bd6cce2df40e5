"""Ignored files of a worktree: what tools make again, and what has to be saved before the worktree goes."""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from aigon.files.home import is_runtime
from aigon.git.person import NO_HOOKS, Checkout
from aigon.secrets.leaks import find_leak, is_secret_name
from aigon.worktrees.project_files import hash_content, read_copies

REPRODUCIBLE = frozenset(
    (
        *("node_modules", "bower_components", ".pnpm-store", ".yarn", ".next", ".nuxt", ".turbo", ".parcel-cache"),
        *(".venv", "venv", "__pycache__", ".pytest_cache", ".ruff_cache", ".mypy_cache", ".hypothesis", ".tox", ".nox"),
        *("htmlcov", "coverage", ".nyc_output", ".eggs", "target", "dist", "build", "_build", "vendor", ".gradle"),
        *(".cache", ".vite", ".vitest", ".svelte-kit", ".angular", "DerivedData", ".build", "Pods", "CMakeFiles"),
    )
)
"""Folders that tools make, and make again."""
_MADE_FILES = re.compile(
    r".*\.py[co]|\.coverage(\..*)?|coverage\.(xml|json|lcov)|\.DS_Store|.*\.tsbuildinfo|\.eslintcache"
)


_COMMITTED = re.compile(r"^[^\t]*\t(commit|cherry-pick|rebase|am)\b", re.MULTILINE)
"""A line of a reflog about a commit that was made there; a clone or a checkout makes none."""


def list_ignored_work(worktree: Checkout) -> Iterator[str]:
    """Ignored files and links, but for what tools make; a repository inside by its `.git`."""
    for path in _list_ignored(worktree):
        if path.endswith("/"):
            yield from _walk_folder(worktree.root, path.rstrip("/"))
        elif path and _may_hold_work(worktree.root / path, path):
            yield path


def list_committed_repositories(worktree: Checkout) -> Iterator[str]:
    """Repositories in ignored folders, by their `.git`, in which somebody committed: no tool makes that again."""
    for folder in _list_ignored(worktree):
        for place, names, _ in os.walk(worktree.root / folder) if folder.endswith("/") else ():
            log = Path(place, ".git", "logs", "HEAD")
            if ".git" in names and log.is_file() and _COMMITTED.search(log.read_text(errors="replace")):
                yield str(Path(place, ".git").relative_to(worktree.root))
            names[:] = [name for name in names if name != ".git"]


def _list_ignored(worktree: Checkout) -> list[str]:
    """Ignored files, and folders that are ignored as a whole, which end in `/`."""
    options = ("-z", "--others", "--ignored", "--exclude-standard", "--directory")
    return worktree.git(*NO_HOOKS, "ls-files", *options).split("\0")


def _walk_folder(root: Path, folder: str) -> Iterator[str]:
    if _is_reproducible(root, folder):
        return
    with os.scandir(root / folder) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    if any(entry.name == ".git" for entry in found):
        yield f"{folder}/.git"
        return
    for entry in found:
        path = f"{folder}/{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            yield from _walk_folder(root, path)
        elif _may_hold_work(Path(entry.path), path):
            yield path


def _is_reproducible(root: Path, folder: str) -> bool:
    parts = folder.split("/")
    known = REPRODUCIBLE.intersection(parts) or any(part.endswith(".egg-info") for part in parts)
    return bool(known) or (root / folder / "pyvenv.cfg").is_file()


def _may_hold_work(file: Path, path: str) -> bool:
    """Whether a file may hold work: none of aigon's own, none that tools make, no socket or pipe."""
    made = REPRODUCIBLE.intersection(path.split("/")[:-1]) or _MADE_FILES.fullmatch(file.name)
    return not made and not is_runtime(path) and (file.is_symlink() or file.is_file())


MAX_SAVED_BYTES = 100 * 1024 * 1024
"""Bytes that are parked of one worktree's ignored files: they go into the repository for good."""


@dataclass(frozen=True, slots=True)
class IgnoredFiles:
    """`parked` are paths to be kept in a commit; `reason` is why nothing may be done at all, "" where it may."""

    parked: tuple[str, ...] = ()
    reason: str = ""


def sort_ignored_files(main: Checkout, worktree: Checkout) -> IgnoredFiles:
    """What is to be done about the ignored files of `worktree`; none is touched."""
    copied, parked, size = read_copies(worktree), [], 0
    try:
        for path in chain(list_ignored_work(worktree), list_committed_repositories(worktree)):
            if path.endswith("/.git"):
                return IgnoredFiles(reason=f"{path[:-5]} is a repository of its own, and git ignores it here")
            if _is_kept_elsewhere(main.root, worktree.root, path, copied):
                continue
            size += (worktree.root / path).lstat().st_size
            if why := _explain_unsaveable(worktree.root, path, size):
                return IgnoredFiles(reason=why)
            parked.append(path)
    except OSError as error:
        return IgnoredFiles(reason=f"{error.filename} cannot be read: {error.strerror}")
    return IgnoredFiles(tuple(parked))


def _is_kept_elsewhere(main: Path, root: Path, path: str, copied: Mapping[str, str]) -> bool:
    """Whether the main checkout has the same, or had it when it was copied; a link to there is nothing of its own."""
    file, original = root / path, main / path
    if file.is_symlink() and Path(os.path.realpath(file)).is_relative_to(main):
        return True
    name = hash_content(file)
    if (original.is_symlink() or original.is_file()) and hash_content(original) == name:
        return True
    return copied.get(path) == name and not _may_be_secret(path)


def _may_be_secret(path: str) -> bool:
    return is_secret_name(path) or path.rpartition("/")[2].startswith(".env")


def _explain_unsaveable(root: Path, path: str, size: int) -> str:
    if _may_be_secret(path):
        return f"{path} may hold secrets, git ignores it, and the main checkout has no such file, or another one"
    if size > MAX_SAVED_BYTES:
        return f"git ignores more than {MAX_SAVED_BYTES // 1024**2} MB of files there, such as {path}"
    found = None if (root / path).is_symlink() else find_leak(path, (root / path).read_bytes())
    return f"{path} is ignored by git and not to be parked: {found.why}" if found else ""
