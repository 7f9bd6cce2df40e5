"""Many files of commits at once: one git process, whatever their number."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from aigon.git.trusted import TrustedGit

LARGEST = 2 * 1024 * 1024
"""Bytes of a file that are given back; of a larger one only that it is there."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file in a tree: git's mode, the object's name, and its path."""

    mode: str
    sha: str
    path: str


def entries(git: TrustedGit, tree: str, paths: Iterable[str] = ()) -> dict[str, Entry]:
    """The files of a commit or tree by path; all of them, or those of `paths` that are there."""
    wanted = tuple(paths)
    found: dict[str, Entry] = {}
    for chunk in _chunks(wanted) if wanted else [()]:
        out = git.run("ls-tree", "-r", "-z", "--full-tree", tree, "--", *chunk)
        found |= {entry.path: entry for entry in map(_entry, out.split(b"\0")[:-1])}
    return found if not wanted else {path: found[path] for path in wanted if path in found}


def _chunks(paths: tuple[str, ...], size: int = 500) -> Iterator[tuple[str, ...]]:
    """Short enough for one command line."""
    return (paths[i : i + size] for i in range(0, len(paths), size))


def _entry(line: bytes) -> Entry:
    head, _, path = line.partition(b"\t")
    mode, _, sha = head.decode().split(" ")
    return Entry(mode, sha, os.fsdecode(path))


def contents(git: TrustedGit, shas: Iterable[str]) -> Mapping[str, bytes]:
    """Blobs by name. One that is larger than LARGEST, or no blob, is empty."""
    wanted = list(dict.fromkeys(shas))
    if not wanted:
        return {}
    sizes = git.run("cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)", stdin=_lines(wanted))
    rows = [line.split(" ") for line in sizes.decode().splitlines()]
    small = [row[0] for row in rows if len(row) == 3 and row[1] == "blob" and int(row[2]) <= LARGEST]
    read = dict(_batch(git.run("cat-file", "--batch=%(objectsize)", stdin=_lines(small)), small)) if small else {}
    return {sha: read.get(sha, b"") for sha in wanted}


def _lines(names: Iterable[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode()


def _batch(out: bytes, names: list[str]) -> Iterator[tuple[str, bytes]]:
    """The blobs one after the other: a line with the size, the bytes, a line end."""
    start = 0
    for name in names:
        end = out.index(b"\n", start)
        size = int(out[start:end])
        yield name, out[end + 1 : end + 1 + size]
        start = end + 1 + size + 1


def written(git: TrustedGit, data: bytes) -> str:
    """The name of a blob with this content, which is written."""
    return git.run("hash-object", "-w", "--stdin", stdin=data).decode().strip()


def tree_with(git: TrustedGit, tree: str, changes: Mapping[str, tuple[str, str] | None]) -> str:
    """`tree` with files (mode and object's name) in place of its own by path, and without those that are None."""
    index = git.directory / "index.overlay"
    index.unlink(missing_ok=True)
    git.run("read-tree", tree, index=index)
    zero = "0" * len(tree)
    lines = [f"{mode} {sha}\t{path}" for path, (mode, sha) in _both(changes, zero)]
    git.run(
        "update-index",
        "-z",
        "--index-info",
        stdin="\0".join([*lines, ""]).encode(errors="surrogateescape"),
        index=index,
    )
    made = git.run("write-tree", index=index).decode().strip()
    index.unlink(missing_ok=True)
    return made


def _both(changes: Mapping[str, tuple[str, str] | None], zero: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Removals first: a file may stand where a folder was."""
    yield from ((path, ("0", zero)) for path, new in changes.items() if new is None)
    yield from ((path, new) for path, new in changes.items() if new is not None)
