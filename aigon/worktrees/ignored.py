"""Ignored files of a worktree: what tools make again, and what has to be saved before the worktree goes."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from msgspec import Struct

from aigon.files.home import is_runtime
from aigon.git.listings import split_paths
from aigon.git.person import NO_HOOKS, Checkout
from aigon.secrets.leaks import find_leak, is_secret_name
from aigon.text.patterns import compile_re
from aigon.worktrees.project_files import hash_content, read_copies

MAX_SAVED_BYTES = 100 * 1024 * 1024
"""The limit for the ignored files of one worktree: they stay in the repository for good."""
REPRODUCIBLE = frozenset(
    (
        *("node_modules", "bower_components", ".pnpm-store", ".yarn", ".next", ".nuxt", ".turbo", ".parcel-cache"),
        *(".venv", "venv", "__pycache__", ".pytest_cache", ".ruff_cache", ".mypy_cache", ".hypothesis", ".tox", ".nox"),
        *("htmlcov", "coverage", ".nyc_output", ".eggs", "target", "dist", "build", "_build", "vendor", ".gradle"),
        *(".cache", ".vite", ".vitest", ".svelte-kit", ".angular", "DerivedData", ".build", "Pods", "CMakeFiles"),
    )
)
"""Folders that tools make again."""
_REPRODUCIBLE_FILES = compile_re(
    r".*\.py[co]|\.coverage(\..*)?|coverage\.(xml|json|lcov)|\.DS_Store|.*\.tsbuildinfo|\.eslintcache"
)
_COMMITTED = compile_re(r"^[^\t]*\t(commit|cherry-pick|rebase|am)\b", re.MULTILINE)
"""A reflog line about a commit that was made there. A clone or a checkout writes no such line."""


class IgnoredFiles(Struct, frozen=True):
    """The paths to save in a commit, or the reason why the worktree has to stay."""

    paths: tuple[str, ...] = ()
    reason: str = ""


def sort_ignored_files(main: Checkout, worktree: Checkout) -> IgnoredFiles:
    """Return which ignored files of `worktree` have to be saved. No file is touched."""
    copies, paths, size, root = read_copies(worktree), [], 0, worktree.root
    ignored = _list_ignored(worktree)
    try:
        for path in chain(_list_work(root, ignored), _list_committed_repositories(root, ignored)):
            if path.endswith("/.git"):
                return IgnoredFiles(reason=f"{path[:-5]} is a repository of its own, and git ignores it here")
            if _is_kept_elsewhere(main.root, root, path, copies):
                continue
            size += (root / path).lstat().st_size
            if reason := _explain_unsaveable(root, path, size):
                return IgnoredFiles(reason=reason)
            paths.append(path)
    except OSError as error:
        return IgnoredFiles(reason=f"{error.filename} cannot be read: {error.strerror}")
    return IgnoredFiles(tuple(paths))


def list_ignored_work(worktree: Checkout) -> Iterator[str]:
    """Yield ignored files and links, except those that tools make again; of a nested repository only its `.git`."""
    return _list_work(worktree.root, _list_ignored(worktree))


def _list_work(root: Path, ignored: Sequence[str]) -> Iterator[str]:
    for path in ignored:
        if path.endswith("/"):
            yield from _walk_folder(root, path.rstrip("/"))
        elif _may_hold_work(root / path, path):
            yield path


def _list_committed_repositories(root: Path, ignored: Sequence[str]) -> Iterator[str]:
    """Yield the `.git` of each repository in an ignored folder that has commits of its own: no tool makes it again."""
    for folder in (path for path in ignored if path.endswith("/")):
        for place, names, _ in os.walk(root / folder):
            log = Path(place, ".git", "logs", "HEAD")
            if ".git" in names and log.is_file() and _COMMITTED.search(log.read_text(errors="replace")):
                yield str(Path(place, ".git").relative_to(root))
            names[:] = [name for name in names if name != ".git"]


def _list_ignored(worktree: Checkout) -> tuple[str, ...]:
    """Return the ignored files, and with a trailing `/` the folders that are ignored as a whole."""
    options = ("-z", "--others", "--ignored", "--exclude-standard", "--directory")
    return split_paths(worktree.git(*NO_HOOKS, "ls-files", *options))


def _walk_folder(root: Path, folder: str) -> Iterator[str]:
    parts = folder.split("/")
    if REPRODUCIBLE.intersection(parts) or any(part.endswith(".egg-info") for part in parts):
        return
    if (root / folder / "pyvenv.cfg").is_file():
        return
    with os.scandir(root / folder) as scanned:
        entries = sorted(scanned, key=lambda entry: entry.name)
    if any(entry.name == ".git" for entry in entries):
        yield f"{folder}/.git"
        return
    for entry in entries:
        path = f"{folder}/{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            yield from _walk_folder(root, path)
        elif _may_hold_work(Path(entry.path), path):
            yield path


def _may_hold_work(file: Path, path: str) -> bool:
    """Return False for aigon's own files, for those that tools make again, and for sockets and pipes."""
    is_made = REPRODUCIBLE.intersection(path.split("/")[:-1]) or _REPRODUCIBLE_FILES.fullmatch(file.name)
    return not is_made and not is_runtime(path) and (file.is_symlink() or file.is_file())


def _is_kept_elsewhere(main: Path, root: Path, path: str, copies: Mapping[str, str]) -> bool:
    """Return whether the main checkout has the same content, or had it when the file was copied."""
    file, original = root / path, main / path
    if file.is_symlink() and Path(os.path.realpath(file)).is_relative_to(main):
        return True
    content = hash_content(file)
    if (original.is_symlink() or original.is_file()) and hash_content(original) == content:
        return True
    return copies.get(path) == content and not _may_be_secret(path)


def _may_be_secret(path: str) -> bool:
    return is_secret_name(path) or path.rpartition("/")[2].startswith(".env")


def _explain_unsaveable(root: Path, path: str, size: int) -> str:
    if _may_be_secret(path):
        return f"{path} may hold secrets, git ignores it, and the main checkout has no such file, or another one"
    if size > MAX_SAVED_BYTES:
        return f"git ignores more than {MAX_SAVED_BYTES // 1024**2} MB of files there, such as {path}"
    secret = None if (root / path).is_symlink() else find_leak(path, (root / path).read_bytes())
    return f"{path} is ignored by git and not to be saved aside: {secret.why}" if secret else ""
