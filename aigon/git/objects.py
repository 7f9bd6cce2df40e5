"""Objects of a repository, many at once: what trees and commits hold, and writing them."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from aigon.git.trusted import TrustedGit

LARGEST_BLOB = 2 * 1024 * 1024
"""Bytes of a file that are given back; of a larger one only that it is there."""


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A file in a tree: git's mode, the object's name, and its path."""

    mode: str
    sha: str
    path: str


def list_entries(git: TrustedGit, tree: str, paths: Iterable[str] = ()) -> dict[str, TreeEntry]:
    """The files of a commit or tree by path; all of them, or those of `paths` that are there."""
    wanted = tuple(paths)
    found: dict[str, TreeEntry] = {}
    for chunk in _chunk_paths(wanted) if wanted else [()]:
        out = git.run("ls-tree", "-r", "-z", "--full-tree", tree, "--", *chunk)
        found |= {entry.path: entry for entry in map(_parse_entry, out.split(b"\0")[:-1])}
    return found if not wanted else {path: found[path] for path in wanted if path in found}


def _chunk_paths(paths: tuple[str, ...], size: int = 500) -> Iterator[tuple[str, ...]]:
    """Short enough for one command line."""
    return (paths[i : i + size] for i in range(0, len(paths), size))


def _parse_entry(line: bytes) -> TreeEntry:
    head, _, path = line.partition(b"\t")
    mode, _, sha = head.decode().split(" ")
    return TreeEntry(mode, sha, os.fsdecode(path))


def read_blobs(git: TrustedGit, shas: Iterable[str]) -> Mapping[str, bytes]:
    """Blobs by name. One that is larger than LARGEST, or no blob, is empty."""
    wanted = list(dict.fromkeys(shas))
    if not wanted:
        return {}
    sizes = git.run("cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)", stdin=_join_lines(wanted))
    rows = [line.split(" ") for line in sizes.decode().splitlines()]
    small = [row[0] for row in rows if len(row) == 3 and row[1] == "blob" and int(row[2]) <= LARGEST_BLOB]
    read = (
        dict(_split_batch(git.run("cat-file", "--batch=%(objectsize)", stdin=_join_lines(small)), small))
        if small
        else {}
    )
    return {sha: read.get(sha, b"") for sha in wanted}


def _join_lines(names: Iterable[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode()


def _split_batch(out: bytes, names: list[str]) -> Iterator[tuple[str, bytes]]:
    """The blobs one after the other: a line with the size, the bytes, a line end."""
    start = 0
    for name in names:
        end = out.index(b"\n", start)
        size = int(out[start:end])
        yield name, out[end + 1 : end + 1 + size]
        start = end + 1 + size + 1


def write_blob(git: TrustedGit, data: bytes) -> str:
    """The name of a blob with this content, which is written."""
    return git.run("hash-object", "-w", "--stdin", stdin=data).decode().strip()


def write_tree_with(git: TrustedGit, tree: str, changes: Mapping[str, tuple[str, str] | None]) -> str:
    """`tree` with files (mode and object's name) in place of its own by path, and without those that are None."""
    index = git.directory / "index.overlay"
    index.unlink(missing_ok=True)
    git.run("read-tree", tree, index=index)
    zero = "0" * len(tree)
    lines = [f"{mode} {sha}\t{path}" for path, (mode, sha) in _order_changes(changes, zero)]
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


def _order_changes(changes: Mapping[str, tuple[str, str] | None], zero: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Removals first: a file may stand where a folder was."""
    yield from ((path, ("0", zero)) for path, new in changes.items() if new is None)
    yield from ((path, new) for path, new in changes.items() if new is not None)


AT_ONCE = 32 << 20
"""Bytes of file contents that are held in memory at a time."""


@dataclass(frozen=True, slots=True)
class CommitEntry:
    """A path in a tree: git's mode and the object's hash."""

    mode: str
    name: str

    @property
    def is_file(self) -> bool:
        """Whether it is a plain file: no link, no submodule, no folder."""
        return self.mode.startswith("100")


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit and the entries in it that none of its parents has, by path."""

    name: str
    parents: tuple[str, ...]
    brought: Mapping[str, CommitEntry]


def list_commits(git: TrustedGit, tip: str, known: Sequence[str]) -> tuple[Commit, ...]:
    """The commits that `tip` contains and none of `known` does, parents first. A known name may be gone."""
    ends = "\n".join([tip, *(f"^{name}" for name in known), ""]).encode()
    options = ("--topo-order", "--reverse", "--parents", "--ignore-missing", "--stdin")
    lines = [line.split() for line in git.run("rev-list", *options, stdin=ends).decode().splitlines()]
    brought = _list_brought(git, [line[0] for line in lines])
    return tuple(Commit(name, tuple(parents), brought.get(name, {})) for name, *parents in lines)


def _list_brought(git: TrustedGit, names: Sequence[str]) -> dict[str, dict[str, CommitEntry]]:
    """By commit: of a merge only what differs from every parent. No attribute of the tree changes what is listed."""
    options = ("--stdin", "-c", "-r", "-z", "--raw", "--root", "--no-renames", "--no-abbrev", "--no-ext-diff")
    out = git.run("diff-tree", *options, stdin="\n".join([*names, ""]).encode())
    found: dict[str, dict[str, CommitEntry]] = {}
    fields = iter(out.split(b"\0"))
    current: dict[str, CommitEntry] = {}
    for head in fields:
        if head.startswith(b":"):
            path, entry = os.fsdecode(next(fields)), _parse_raw(head.decode())
            if entry.mode != "000000":
                current[path] = entry
        elif head:
            current = found.setdefault(head.decode(), {})
    return found


def _parse_raw(head: str) -> CommitEntry:
    """The entry of the commit itself; there are as many colons as parents, whose modes and hashes come first."""
    parents = len(head) - len(head.lstrip(":"))
    words = head[parents:].split(" ")
    return CommitEntry(words[parents], words[2 * parents + 1])


def find_entries(git: TrustedGit, tree: str, paths: Sequence[str]) -> dict[str, CommitEntry]:
    """Those of `paths` at which the tree has anything but a folder."""
    if not paths:
        return {}
    found = {}
    for line in git.run("ls-tree", "-z", "--full-tree", tree, "--", *paths).split(b"\0"):
        head, _, path = line.partition(b"\t")
        if head and not head.startswith(b"040000"):
            mode, _, name = head.decode().split(" ")
            found[os.fsdecode(path)] = CommitEntry(mode, name)
    return found


def read_beginnings(git: TrustedGit, names: Iterable[str], largest: int) -> Iterator[tuple[str, bytes]]:
    """The first `largest` bytes of each blob that is there."""
    wanted = sorted(set(names))
    sizes = git.run("cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)", stdin=_join_names(wanted))
    batch: list[str] = []
    size = 0
    for name, kind, length in (line.split() for line in sizes.decode().splitlines() if not line.endswith("missing")):
        if kind != "blob":
            continue
        if int(length) > largest:  # of what is not read to its end the rest is not held either
            yield name, git.beginning("cat-file", "blob", name, most=largest)
            continue
        if batch and size + int(length) > AT_ONCE:
            yield from read_objects(git, batch)
            batch, size = [], 0
        batch, size = [*batch, name], size + int(length)
    yield from read_objects(git, batch)


def read_objects(git: TrustedGit, names: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Hash and raw bytes of objects that exist."""
    out, at = git.run("cat-file", "--batch", stdin=_join_names(names)) if names else b"", 0
    while at < len(out):
        end = out.index(b"\n", at)
        name, _, length = out[at:end].decode().split(" ")
        yield name, out[end + 1 : end + 1 + int(length)]
        at = end + 1 + int(length) + 1


def _join_names(names: Sequence[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode()


_SIGNATURE = re.compile(rb"^(?:gpgsig|gpgsig-sha256|mergetag) .*\n(?: .*\n)*", re.M)


def write_commit_again(git: TrustedGit, raw: bytes, tree: str | None, parents: Mapping[str, str]) -> str:
    """Write a commit again, with `tree` in place of its own and parents renamed; signatures, untrue now, go."""
    head, gap, message = raw.partition(b"\n\n")
    head = _SIGNATURE.sub(b"", head + b"\n")
    lines = [_rename_in_header(line, tree, parents) for line in head.rstrip(b"\n").split(b"\n")]
    data = b"\n".join(lines) + gap + message
    for strictness in ((), ("--literally",)):  # what git let the agent write, it shall write again
        code, out, _ = git.attempt("hash-object", "-t", "commit", "-w", *strictness, "--stdin", stdin=data)
        if code == 0:
            return out.decode().strip()
    return git.run("hash-object", "-t", "commit", "-w", "--stdin", stdin=data).decode().strip()


def _rename_in_header(line: bytes, tree: str | None, parents: Mapping[str, str]) -> bytes:
    word, _, value = line.partition(b" ")
    if word == b"tree" and tree:
        return b"tree " + tree.encode()
    if word == b"parent":
        return b"parent " + parents.get(value.decode(), value.decode()).encode()
    return line
