"""Files as branches have them, whichever branch is checked out: one git process for any number of files.

Nothing that an agent could have planted in git's configuration runs here: git only reads objects.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

File = tuple[str, str]
"""A branch, and a path in its tree."""
_PACKED = re.compile(rb"^[0-9a-f]+ refs/(heads|remotes/[^/\n]+)/(feature-[^/\n]+)$", re.M)


def list_feature_branches(common_dir: Path, *, remote: bool = False) -> list[str]:
    """Return the branches whose name begins with `feature-`, read from git's files; with `remote` those of remotes."""
    places = (common_dir / "refs").glob("remotes/*/feature-*" if remote else "heads/feature-*")
    packed = common_dir / "packed-refs"
    found = _PACKED.findall(packed.read_bytes()) if packed.is_file() else []
    names = {file.name for file in places if file.is_file()}
    names |= {os.fsdecode(name) for where, name in found if (where != b"heads") == remote}
    return sorted(name for name in names if not name.endswith(".lock"))


def list_files(root: Path, folders: Sequence[File]) -> dict[File, list[str]]:
    """Return the names in each of these folders that is there."""
    found = zip(folders, _objects(root, folders), strict=False)
    return {folder: [*_names(data, size)] for folder, (kind, size, data) in found if kind == b"tree"}


def read_files(root: Path, files: Sequence[File]) -> dict[File, bytes]:
    """Return the content of each of these files that is there."""
    found = zip(files, _objects(root, files), strict=False)
    return {file: data for file, (kind, _, data) in found if kind == b"blob"}


def _objects(root: Path, names: Iterable[File]) -> Iterator[tuple[bytes, int, bytes]]:
    """Yield kind, bytes of a hash, and content of each object; the kind is empty where there is none."""
    from aigon.process import run  # a board without feature branches does without

    asked = b"".join(os.fsencode(f"refs/heads/{branch}:{path}\n") for branch, path in names)
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env |= {"GIT_NO_LAZY_FETCH": "1", "GIT_NO_REPLACE_OBJECTS": "1", "LC_ALL": "C"}
    try:
        _, out, _ = run.output(("git", "cat-file", "--batch"), cwd=root, env=env, stdin=asked)
    except OSError:  # no git: there is nothing to say of its branches
        return
    start = 0
    while start < len(out):
        end = out.index(b"\n", start)
        head = out[start:end].rsplit(b" ", 2)
        start = end + 1
        if len(head) < 3 or not head[2].isdigit():
            yield b"", 0, b""
            continue
        size = int(head[2])
        yield head[1], len(head[0]) // 2, out[start : start + size]
        start += size + 1


def _names(tree: bytes, size: int) -> Iterator[str]:
    """Yield the names in a tree object, whose hashes have `size` bytes."""
    start = 0
    while start < len(tree):
        end = tree.index(b"\0", start)
        yield os.fsdecode(tree[start:end].partition(b" ")[2])
        start = end + 1 + size
