"""Objects of a repository, many at once: what trees and commits hold, and writing them."""

import hashlib
import os
import re
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from aigon.git.listings import parse_batch
from aigon.git.trusted import TrustedGit
from aigon.text.patterns import compile_re

LARGEST_BLOB = 2 * 1024 * 1024
"""Bytes of a file that `read_blobs` returns; a larger one is empty."""
AT_ONCE = 32 << 20
"""Bytes of file contents that `read_beginnings` holds in memory at a time."""
_CHUNK = 500
"""Paths on one command line."""


class TreeEntry(Struct, frozen=True):
    """A file in a tree: git's mode, the object's name, and its path."""

    mode: str
    sha: str
    path: str

    @property
    def is_file(self) -> bool:
        """Whether it is a plain file: no link, no submodule, no folder."""
        return self.mode.startswith("100")


def can_read(git: TrustedGit, name: str) -> bool:
    """Return whether an object is there and whole, by itself."""
    return git.attempt("rev-parse", "-q", "--verify", f"{name}^{{}}")[0] == 0


def list_entries(git: TrustedGit, tree: str, paths: Iterable[str] = ()) -> dict[str, TreeEntry]:
    """Return the files of a commit or tree by path; with `paths` only those at exactly these."""
    wanted = tuple(paths)
    entries: dict[str, TreeEntry] = {}
    for start in range(0, len(wanted) or 1, _CHUNK):
        out = git.run("ls-tree", "-r", "-z", "--full-tree", tree, "--", *wanted[start : start + _CHUNK])
        for line in out.split(b"\0")[:-1]:
            head, _, name = line.partition(b"\t")
            mode, _, sha = head.decode().split(" ")
            path = os.fsdecode(name)
            entries[path] = TreeEntry(mode, sha, path)
    return {path: entries[path] for path in wanted if path in entries} if wanted else entries


def read_sizes(git: TrustedGit, names: Iterable[str]) -> dict[str, tuple[str, int]]:
    """Return type and size of the objects that exist."""
    stdin = _join_lines(names)
    out = git.run("cat-file", "--batch-check", stdin=stdin).decode() if stdin else ""
    rows = [line.split(" ") for line in out.splitlines()]
    return {row[0]: (row[1], int(row[2])) for row in rows if len(row) == 3}


def read_objects(git: TrustedGit, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Yield name and raw bytes of objects, which have to exist."""
    stdin = _join_lines(names)
    out = git.run("cat-file", "--batch", stdin=stdin) if stdin else b""
    yield from ((name.decode(), data) for name, _, data in parse_batch(out))


def _join_lines(names: Iterable[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode()


def read_blobs(git: TrustedGit, shas: Iterable[str]) -> Mapping[str, bytes]:
    """Return blobs by name; one that is larger than LARGEST_BLOB, or no blob, is empty."""
    wanted = list(dict.fromkeys(shas))
    sizes = read_sizes(git, wanted)
    small = [sha for sha, (kind, size) in sizes.items() if kind == "blob" and size <= LARGEST_BLOB]
    return dict.fromkeys(wanted, b"") | dict(read_objects(git, small))


def read_beginnings(git: TrustedGit, names: Iterable[str], largest: int) -> Iterator[tuple[str, bytes]]:
    """Yield the first `largest` bytes of each blob that exists."""
    batch: list[str] = []
    total = 0
    for name, (kind, size) in read_sizes(git, sorted(set(names))).items():
        if kind != "blob":
            continue
        if size > largest:  # a file that is not read to its end is not held in memory either
            yield name, git.beginning("cat-file", "blob", name, most=largest)
            continue
        if batch and total + size > AT_ONCE:
            yield from read_objects(git, batch)
            batch, total = [], 0
        batch, total = [*batch, name], total + size
    yield from read_objects(git, batch)


def write_blob(git: TrustedGit, data: bytes) -> str:
    return git.run("hash-object", "-w", "--stdin", stdin=data).decode().strip()


def write_tree_with(
    git: TrustedGit, tree: str, changes: Mapping[str, tuple[str, str] | None], *, lenient: bool = False
) -> str:
    """Write `tree` with other files (mode and name of the object) by path, and without those that are None.

    If it is `lenient`, objects may be missing.
    """
    index = git.directory / f"index.overlay-{threading.get_ident()}"  # others may lay over a tree, too
    index.unlink(missing_ok=True)
    nothing = ("0", "0" * len(tree))
    # Removals first: a file may replace a folder.
    ordered = sorted(changes.items(), key=lambda change: change[1] is not None)
    lines = [(new or nothing, os.fsencode(path)) for path, new in ordered]
    text = b"".join(f"{mode} {sha}\t".encode() + path + b"\0" for (mode, sha), path in lines)
    try:
        git.run("read-tree", tree, index=index)
        git.run("update-index", "-z", "--index-info", stdin=text, index=index)
        return git.run("write-tree", *(["--missing-ok"] if lenient else []), index=index).decode().strip()
    finally:
        index.unlink(missing_ok=True)


class Commit(Struct, frozen=True):
    """A commit and the entries in it that none of its parents has, by path."""

    name: str
    parents: tuple[str, ...]
    brought: Mapping[str, TreeEntry]


def list_commits(git: TrustedGit, tip: str, known: Sequence[str]) -> tuple[Commit, ...]:
    """Return the commits that `tip` contains and none of `known` does, parents first; a known name may be gone."""
    ends = _join_lines([tip, *(f"^{name}" for name in known)])
    options = ("--topo-order", "--reverse", "--parents", "--ignore-missing", "--stdin")
    lines = [line.split() for line in git.run("rev-list", *options, stdin=ends).decode().splitlines()]
    brought = _list_brought(git, [line[0] for line in lines])
    return tuple(Commit(name, tuple(parents), brought.get(name, {})) for name, *parents in lines)


def _list_brought(git: TrustedGit, names: Sequence[str]) -> dict[str, dict[str, TreeEntry]]:
    """Return what each commit changed; of a merge only what differs from every parent. No attribute hides anything."""
    options = ("--stdin", "-c", "-r", "-z", "--raw", "--root", "--no-renames", "--no-abbrev", "--no-ext-diff")
    fields = iter(git.run("diff-tree", *options, stdin=_join_lines(names)).split(b"\0"))
    by_commit: dict[str, dict[str, TreeEntry]] = {}
    current: dict[str, TreeEntry] = {}
    for head in fields:
        if head.startswith(b":"):
            path, raw = os.fsdecode(next(fields)), head.decode()
            # As many colons as parents, whose modes and names come before those of the commit.
            parents = len(raw) - len(raw.lstrip(":"))
            words = raw[parents:].split(" ")
            if words[parents] != "000000":
                current[path] = TreeEntry(words[parents], words[2 * parents + 1], path)
        elif head:
            current = by_commit.setdefault(head.decode(), {})
    return by_commit


_SIGNATURE = compile_re(rb"^(?:gpgsig|gpgsig-sha256|mergetag) .*\n(?: .*\n)*", re.M)


def write_commit_again(git: TrustedGit, raw: bytes, tree: str | None, parents: Mapping[str, str]) -> str:
    """Write a commit again with another `tree` and renamed parents, without signatures, which are wrong now."""
    head, gap, message = raw.partition(b"\n\n")
    lines = []
    for line in _SIGNATURE.sub(b"", head + b"\n").rstrip(b"\n").split(b"\n"):
        word, _, value = line.partition(b" ")
        if word == b"tree" and tree:
            line = b"tree " + tree.encode()
        elif word == b"parent":
            line = b"parent " + parents.get(value.decode(), value.decode()).encode()
        lines.append(line)
    data = b"\n".join(lines) + gap + message
    # What git let the agent write, it shall write again.
    for strictness in ((), ("--literally",)):
        code, out, _ = git.attempt("hash-object", "-t", "commit", "-w", *strictness, "--stdin", stdin=data)
        if code == 0:
            return out.decode().strip()
    return git.run("hash-object", "-t", "commit", "-w", "--stdin", stdin=data).decode().strip()


def write_commit(git: TrustedGit, tree: str, parent: str, message: str) -> str:
    """Write a commit as `git commit-tree` does, without starting it; nothing is flushed. Raises AigonError (exit 7).

    `parent` is "" for the first commit of a history.
    """
    parents = f"parent {parent}\n" if parent else ""
    head = f"tree {tree}\n{parents}author {git.sign('AUTHOR')}\ncommitter {git.sign()}\n\n"
    text = head.encode(errors="surrogateescape") + message.replace("\0", "").encode()
    data = b"commit %d\0" % len(text) + text
    name = (hashlib.sha256(data) if len(tree) == 64 else hashlib.sha1(data)).hexdigest()  # git's own choice
    file = Path(git.env["GIT_OBJECT_DIRECTORY"], name[:2], name[2:])
    draft = file.with_name(f"tmp_obj_{os.getpid()}")  # git removes files of such names one day
    try:
        file.parent.mkdir(exist_ok=True)
        draft.unlink(missing_ok=True)
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o444), "wb") as opened:  # noqa: PTH123
            opened.write(zlib.compress(data, 1))
        draft.replace(file)
    except OSError as error:
        raise git.failed("A commit could not be written", str(error)) from error
    return name


def commit_files(git: TrustedGit, files: Mapping[str, bytes], message: str, parent: str) -> str:
    """Write a commit that has these files and no others, and return it; no ref of a person's names it."""
    ref = f"refs/made/{threading.get_ident()}"
    head = f"reset {ref}\n\ncommit {ref}\nmark :1\ncommitter {git.sign()}\ndata {len(message.encode())}\n{message}\n"
    lines = [head.encode(), f"from {parent}\ndeleteall\n".encode() if parent else b""]
    for path, data in files.items():
        lines += [f"M 100644 inline {path}\ndata {len(data)}\n".encode(), data, b"\n"]
    out = git.run("fast-import", "--quiet", "--force", stdin=b"".join([*lines, b"\nget-mark :1\n"]))
    return out.decode().strip()
