"""Commits as values: what each one brought in, and writing one again with another tree or other parents."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from aigon.git.trusted import TrustedGit

AT_ONCE = 32 << 20
"""Bytes of file contents that are held in memory at a time."""


@dataclass(frozen=True, slots=True)
class Entry:
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
    brought: Mapping[str, Entry]


def commits(git: TrustedGit, tip: str, known: Sequence[str]) -> tuple[Commit, ...]:
    """The commits that `tip` contains and none of `known` does, parents first. A known name may be gone."""
    ends = "\n".join([tip, *(f"^{name}" for name in known), ""]).encode()
    options = ("--topo-order", "--reverse", "--parents", "--ignore-missing", "--stdin")
    lines = [line.split() for line in git.run("rev-list", *options, stdin=ends).decode().splitlines()]
    brought = _brought(git, [line[0] for line in lines])
    return tuple(Commit(name, tuple(parents), brought.get(name, {})) for name, *parents in lines)


def _brought(git: TrustedGit, names: Sequence[str]) -> dict[str, dict[str, Entry]]:
    """By commit: of a merge only what differs from every parent. No attribute of the tree changes what is listed."""
    options = ("--stdin", "-c", "-r", "-z", "--raw", "--root", "--no-renames", "--no-abbrev", "--no-ext-diff")
    out = git.run("diff-tree", *options, stdin="\n".join([*names, ""]).encode())
    found: dict[str, dict[str, Entry]] = {}
    fields = iter(out.split(b"\0"))
    current: dict[str, Entry] = {}
    for head in fields:
        if head.startswith(b":"):
            path, entry = os.fsdecode(next(fields)), _raw(head.decode())
            if entry.mode != "000000":
                current[path] = entry
        elif head:
            current = found.setdefault(head.decode(), {})
    return found


def _raw(head: str) -> Entry:
    """The entry of the commit itself; there are as many colons as parents, whose modes and hashes come first."""
    parents = len(head) - len(head.lstrip(":"))
    words = head[parents:].split(" ")
    return Entry(words[parents], words[2 * parents + 1])


def entries(git: TrustedGit, tree: str, paths: Sequence[str]) -> dict[str, Entry]:
    """Those of `paths` at which the tree has anything but a folder."""
    if not paths:
        return {}
    found = {}
    for line in git.run("ls-tree", "-z", "--full-tree", tree, "--", *paths).split(b"\0"):
        head, _, path = line.partition(b"\t")
        if head and not head.startswith(b"040000"):
            mode, _, name = head.decode().split(" ")
            found[os.fsdecode(path)] = Entry(mode, name)
    return found


def contents(git: TrustedGit, names: Iterable[str], largest: int) -> Iterator[tuple[str, bytes]]:
    """The first `largest` bytes of each blob that is there."""
    wanted = sorted(set(names))
    sizes = git.run("cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)", stdin=_lines(wanted))
    batch: list[str] = []
    size = 0
    for name, kind, length in (line.split() for line in sizes.decode().splitlines() if not line.endswith("missing")):
        if kind != "blob":
            continue
        if int(length) > largest:  # of what is not read to its end the rest is not held either
            yield name, git.beginning("cat-file", "blob", name, most=largest)
            continue
        if batch and size + int(length) > AT_ONCE:
            yield from objects(git, batch)
            batch, size = [], 0
        batch, size = [*batch, name], size + int(length)
    yield from objects(git, batch)


def objects(git: TrustedGit, names: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Hash and raw bytes of objects that exist."""
    out, at = git.run("cat-file", "--batch", stdin=_lines(names)) if names else b"", 0
    while at < len(out):
        end = out.index(b"\n", at)
        name, _, length = out[at:end].decode().split(" ")
        yield name, out[end + 1 : end + 1 + int(length)]
        at = end + 1 + int(length) + 1


def _lines(names: Sequence[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode()


_SIGNATURE = re.compile(rb"^(?:gpgsig|gpgsig-sha256|mergetag) .*\n(?: .*\n)*", re.M)


def again(git: TrustedGit, raw: bytes, tree: str | None, parents: Mapping[str, str]) -> str:
    """Write a commit again, with `tree` in place of its own and parents renamed; signatures, untrue now, go."""
    head, gap, message = raw.partition(b"\n\n")
    head = _SIGNATURE.sub(b"", head + b"\n")
    lines = [_renamed(line, tree, parents) for line in head.rstrip(b"\n").split(b"\n")]
    data = b"\n".join(lines) + gap + message
    for strictness in ((), ("--literally",)):  # what git let the agent write, it shall write again
        code, out, _ = git.attempt("hash-object", "-t", "commit", "-w", *strictness, "--stdin", stdin=data)
        if code == 0:
            return out.decode().strip()
    return git.run("hash-object", "-t", "commit", "-w", "--stdin", stdin=data).decode().strip()


def _renamed(line: bytes, tree: str | None, parents: Mapping[str, str]) -> bytes:
    word, _, value = line.partition(b" ")
    if word == b"tree" and tree:
        return b"tree " + tree.encode()
    if word == b"parent":
        return b"parent " + parents.get(value.decode(), value.decode()).encode()
    return line
