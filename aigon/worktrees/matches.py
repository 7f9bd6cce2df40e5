"""Files of the main checkout that patterns of the configuration mean, and what git thinks of them."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from aigon.errors import usage
from aigon.git.person import Checkout
from aigon.text.globs import compiled

CHUNK = 200
"""Paths in one question to git."""
_SPECIAL = frozenset("*?{")


def require_inside(pattern: str, key: str) -> str:
    """The pattern, tidied. Raises AigonError (exit 2) for one that leads out of the checkout, or into git's own."""
    parts = pattern.split("/")
    if pattern.startswith(("/", "~")) or ".." in parts or ".git" in parts or not pattern.strip("./"):
        raise usage(
            f"'{pattern}' is no path inside of the main checkout",
            where=key,
            hint="Paths and globs are relative to the repository's root, such as .env.test or config/*.local",
        )
    return "/".join(part for part in parts if part not in ("", "."))


def matches(root: Path, pattern: str) -> tuple[str, ...]:
    """Files, links and folders that `pattern` means; nothing below a folder that is meant itself.

    Links to folders are not followed.
    """
    if not any(character in _SPECIAL for character in pattern):
        return (pattern,) if os.path.lexists(root / pattern) and _is_real(root, pattern) else ()
    return tuple(sorted(_walked(root, "", pattern)))


def _walked(root: Path, folder: str, pattern: str) -> Iterator[str]:
    wanted, deep = compiled(pattern), "**" in pattern
    with os.scandir(root / folder) as entries:
        found = [(f"{folder}{entry.name}", entry.is_dir(follow_symlinks=False)) for entry in entries]
    for path, is_folder in found:
        if path == ".git":
            continue
        if wanted.fullmatch(path):
            yield path
        elif is_folder and (deep or path.count("/") < pattern.count("/")):
            yield from _walked(root, f"{path}/", pattern)


def _is_real(root: Path, path: str) -> bool:
    """Whether the way to `path` leads through folders, not through links out of the checkout."""
    return not any((root / parent).is_symlink() for parent in Path(path).parents)


def files(root: Path, path: str) -> Iterator[str]:
    """`path` itself, or the files and links below it where it is a folder; no repository inside of it."""
    if (root / path).is_symlink() or not (root / path).is_dir():
        yield path
        return
    for folder, folders, names in os.walk(root / path):
        links = [name for name in folders if os.path.islink(f"{folder}/{name}")]  # noqa: PTH114 - on the hot path
        folders[:] = sorted(name for name in folders if name not in (*links, ".git"))
        for name in sorted((*names, *links)):
            yield f"{folder}/{name}"[len(str(root)) + 1 :]


def ignored(checkout: Checkout, paths: Sequence[str]) -> list[str]:
    """Those of `paths`, there or not, that git ignores in this checkout."""
    found: list[str] = []
    for start in range(0, len(paths), CHUNK):
        some = paths[start : start + CHUNK]
        said = checkout.ask("-c", "core.quotePath=false", "check-ignore", "--", *some)
        all_of_them = said is not None and len(said.split("\n")) == len(some)
        found += some if all_of_them else [path for path in some if is_ignored(checkout, path)]
    return found


def is_ignored(checkout: Checkout, path: str) -> bool:
    """Whether git ignores `path`, there or not, in this checkout."""
    return checkout.ask("check-ignore", "-q", "--", path) is not None
