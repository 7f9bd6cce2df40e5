"""Commits of a repository, many at once: what each brought, and writing them."""

import os
import re
import threading
from collections.abc import Mapping, Sequence

from msgspec import Struct

from aigon.git.objects import TreeEntry, join_lines, write_object
from aigon.git.trusted import TrustedGit
from aigon.text.patterns import compile_re


class Commit(Struct, frozen=True):
    """A commit and the entries in it that none of its parents has, by path."""

    name: str
    parents: tuple[str, ...]
    brought: Mapping[str, TreeEntry]


def list_commits(git: TrustedGit, tip: str, known: Sequence[str]) -> tuple[Commit, ...]:
    """Return the commits that `tip` contains and none of `known` does, parents first; a known name may be gone."""
    ends = join_lines([tip, *(f"^{name}" for name in known)])
    options = ("--topo-order", "--reverse", "--parents", "--ignore-missing", "--stdin")
    lines = [line.split() for line in git.run("rev-list", *options, stdin=ends).decode().splitlines()]
    brought = _list_brought(git, [line[0] for line in lines])
    return tuple(Commit(name, tuple(parents), brought.get(name, {})) for name, *parents in lines)


def _list_brought(git: TrustedGit, names: Sequence[str]) -> dict[str, dict[str, TreeEntry]]:
    """Return what each commit changed; of a merge only what differs from every parent. No attribute hides anything."""
    options = ("--stdin", "-c", "-r", "-z", "--raw", "--root", "--no-renames", "--no-abbrev", "--no-ext-diff")
    fields = iter(git.run("diff-tree", *options, stdin=join_lines(names)).split(b"\0"))
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
    data = head.encode(errors="surrogateescape") + message.replace("\0", "").encode()
    return write_object(git, "commit", data, len(tree))


def commit_files(git: TrustedGit, files: Mapping[str, bytes], message: str, parent: str) -> str:
    """Write a commit that has these files and no others, and return it; no ref of a person's names it."""
    ref = f"refs/made/{threading.get_ident()}"
    head = f"reset {ref}\n\ncommit {ref}\nmark :1\ncommitter {git.sign()}\ndata {len(message.encode())}\n{message}\n"
    lines = [head.encode(), f"from {parent}\ndeleteall\n".encode() if parent else b""]
    for path, data in files.items():
        lines += [f"M 100644 inline {path}\ndata {len(data)}\n".encode(), data, b"\n"]
    out = git.run("fast-import", "--quiet", "--force", stdin=b"".join([*lines, b"\nget-mark :1\n"]))
    return out.decode().strip()
