"""Files of a checkout that the patterns of a configuration mean."""

import os
from collections.abc import Iterator
from pathlib import Path

from aigon.text.globs import compile_glob


def find_matches(root: Path, pattern: str) -> tuple[str, ...]:
    """Return the files, links and folders that match `pattern`, without what lies below a folder that matches.

    No link to a folder is followed.
    """
    if not set("*?{") & set(pattern):
        is_inside = not any((root / parent).is_symlink() for parent in Path(pattern).parents)
        return (pattern,) if is_inside and os.path.lexists(root / pattern) else ()
    return tuple(sorted(_walk_matches(root, "", pattern)))


def _walk_matches(root: Path, folder: str, pattern: str) -> Iterator[str]:
    with os.scandir(root / folder) as entries:
        paths = [(f"{folder}{entry.name}", entry.is_dir(follow_symlinks=False)) for entry in entries]
    for path, is_folder in paths:
        if path == ".git":
            continue
        if compile_glob(pattern).fullmatch(path):
            yield path
        elif is_folder and ("**" in pattern or path.count("/") < pattern.count("/")):
            yield from _walk_matches(root, f"{path}/", pattern)


def list_files(root: Path, path: str) -> Iterator[str]:
    """Yield `path`, or the files and links below it if it is a folder, without those of repositories inside of it."""
    if (root / path).is_symlink() or not (root / path).is_dir():
        yield path
        return
    for folder, folders, names in os.walk(root / path):
        links = [name for name in folders if os.path.islink(f"{folder}/{name}")]  # noqa: PTH114 - on the hot path
        folders[:] = sorted(name for name in folders if name not in (*links, ".git"))
        for name in sorted((*names, *links)):
            yield f"{folder}/{name}"[len(str(root)) + 1 :]
