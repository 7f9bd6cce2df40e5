"""The files that git ignores in a worktree, but for those that tools make and make again."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from aigon.files.runtime_files import is_runtime
from aigon.git.person import NO_HOOKS, Checkout

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


def left(worktree: Checkout) -> Iterator[str]:
    """Ignored files and links, but for what tools make; a repository inside by its `.git`."""
    for path in _listed(worktree):
        if path.endswith("/"):
            yield from _below(worktree.root, path.rstrip("/"))
        elif path and _counts(worktree.root / path, path):
            yield path


def committed_in(worktree: Checkout) -> Iterator[str]:
    """Repositories in ignored folders, by their `.git`, in which somebody committed: no tool makes that again."""
    for folder in _listed(worktree):
        for place, names, _ in os.walk(worktree.root / folder) if folder.endswith("/") else ():
            log = Path(place, ".git", "logs", "HEAD")
            if ".git" in names and log.is_file() and _COMMITTED.search(log.read_text(errors="replace")):
                yield str(Path(place, ".git").relative_to(worktree.root))
            names[:] = [name for name in names if name != ".git"]


def _listed(worktree: Checkout) -> list[str]:
    """Ignored files, and folders that are ignored as a whole, which end in `/`."""
    options = ("-z", "--others", "--ignored", "--exclude-standard", "--directory")
    return worktree.git(*NO_HOOKS, "ls-files", *options).split("\0")


def _below(root: Path, folder: str) -> Iterator[str]:
    if _is_made(root, folder):
        return
    with os.scandir(root / folder) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    if any(entry.name == ".git" for entry in found):
        yield f"{folder}/.git"
        return
    for entry in found:
        path = f"{folder}/{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            yield from _below(root, path)
        elif _counts(Path(entry.path), path):
            yield path


def _is_made(root: Path, folder: str) -> bool:
    parts = folder.split("/")
    known = REPRODUCIBLE.intersection(parts) or any(part.endswith(".egg-info") for part in parts)
    return bool(known) or (root / folder / "pyvenv.cfg").is_file()


def _counts(file: Path, path: str) -> bool:
    """Whether a file may hold work: none of aigon's own, none that tools make, no socket or pipe."""
    made = REPRODUCIBLE.intersection(path.split("/")[:-1]) or _MADE_FILES.fullmatch(file.name)
    return not made and not is_runtime(path) and (file.is_symlink() or file.is_file())
