"""The files that git ignores in a worktree, but for those that tools make and make again."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from aigon.core.runtime_files import is_runtime
from aigon.ports.git import NO_HOOKS, Checkout

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


def left(worktree: Checkout) -> Iterator[str]:
    """Ignored files and links, but for what tools make; a repository inside by its `.git`."""
    options = ("-z", "--others", "--ignored", "--exclude-standard", "--directory")
    for path in worktree.git(*NO_HOOKS, "ls-files", *options).split("\0"):
        if path.endswith("/"):
            yield from _below(worktree.root, path.rstrip("/"))
        elif path and _counts(worktree.root / path, path):
            yield path


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
