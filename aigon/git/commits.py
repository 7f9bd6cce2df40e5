"""Commits of a repository: what many brought, and writing them from objects, files or a few paths."""

import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from aigon.errors import AigonError, environment
from aigon.git.locks import copy_index, lock_index, replace_index
from aigon.git.objects import TreeEntry, join_lines, write_object
from aigon.git.person import Checkout
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


def write_commit(git: TrustedGit, tree: str, parent: str, message: str, objects: str = "") -> str:
    """Write a commit as `git commit-tree` does, without starting it; nothing is flushed. Raises AigonError (exit 7).

    `parent` is "" for the first commit of a history. The commit goes to the folder `objects`, if another is meant.
    """
    parents = f"parent {parent}\n" if parent else ""
    head = f"tree {tree}\n{parents}author {git.sign('AUTHOR')}\ncommitter {git.sign()}\n\n"
    data = head.encode(errors="surrogateescape") + message.replace("\0", "").encode()
    return write_object(git, "commit", data, len(tree), objects)


def commit_files(git: TrustedGit, files: Mapping[str, bytes], message: str, parent: str) -> str:
    """Write a commit that has these files and no others, and return it; no ref of a person's names it."""
    ref = f"refs/made/{threading.get_ident()}"
    head = f"reset {ref}\n\ncommit {ref}\nmark :1\ncommitter {git.sign()}\ndata {len(message.encode())}\n{message}\n"
    lines = [head.encode(), f"from {parent}\ndeleteall\n".encode() if parent else b""]
    for path, data in files.items():
        lines += [f"M 100644 inline {path}\ndata {len(data)}\n".encode(), data, b"\n"]
    out = git.run("fast-import", "--quiet", "--force", stdin=b"".join([*lines, b"\nget-mark :1\n"]))
    return out.decode().strip()


def commit_paths(trusted: TrustedGit, paths: Sequence[str], message: str) -> str:
    """Commit the work tree's version of `paths` on HEAD (a missing file is a deletion); return the commit.

    If nothing differs that is HEAD's commit. The checkout's index follows for these paths only, even if an earlier
    commit was killed before it did; no hook runs. Raises AigonError (exit 7), with nothing changed, if HEAD moved
    meanwhile or another git holds the index.
    """
    head = _resolve(trusted, "HEAD")
    index = clear_index(trusted.directory / "index.paths")
    trusted.run("read-tree", head, index=index)
    update = ("update-index", "--add", "--remove", "--", *paths)
    trusted.run(*update, index=index)
    tree = trusted.run("write-tree", index=index).decode().strip()
    if tree == _resolve(trusted, "HEAD^{tree}"):
        asked = ("diff-index", "--cached", "--quiet", head, "--", *paths)
        if trusted.attempt(*asked, index=trusted.git_dir / "index")[0] == 0:
            return head
        commit = head
    else:
        written = trusted.run("commit-tree", tree, "-p", head, "-F", "-", stdin=message.encode())
        commit = written.decode().strip()
    with lock_index(trusted.git_dir / "index"):
        copy_index(trusted.git_dir / "index", index, trusted.directory)
        trusted.run(*update, index=index)
        code, said = trusted.refs("update-ref", "-m", message.partition("\n")[0], "HEAD", commit, head)
        if code:
            raise environment("HEAD moved while aigon was committing", where=str(trusted.root), hint=said)
        replace_index(trusted.git_dir / "index", index)
    return commit


def commit_as_person(checkout: Checkout, paths: Sequence[str], message: str, *, verify: bool) -> str:
    """Commit the work tree's version of `paths` with the person's git, hooks and signing; return HEAD's commit.

    A hook that changes these paths and fails, as formatters do, runs once more on the result. Without `verify` no hook
    may refuse. Raises AigonError (exit 7), with the index as it was, if git or a hook refuses.
    """
    # Not --literal-pathspecs: the hooks would inherit it.
    specs = [(path, f":(top,literal){path}") for path in paths]
    present = [
        spec for path, spec in specs if os.path.lexists(checkout.root / path) or checkout.git("ls-files", "--", spec)
    ]
    # A git that was killed may have staged a deletion already: then only HEAD has the path.
    gone = [(path, spec) for path, spec in specs if spec not in present]
    known = [*present, *(spec for path, spec in gone if checkout.ask("cat-file", "-e", f"HEAD:{path}") is not None)]
    stage = ("add", "--all", "--force", "--sparse", "--", *present)
    commit = ("commit", "-q", *(() if verify else ("--no-verify",)), "-m", message, "--only", "--", *known)
    with _restore_index_on_error(checkout):
        for attempt in (1, 2):
            if present:
                checkout.git(*stage)
            if not known or checkout.ask("diff", "--cached", "--quiet", "HEAD", "--", *known) is not None:
                break
            try:
                checkout.git_with_hooks(*commit)
                break
            except AigonError as error:
                if attempt == 2 or checkout.ask("diff", "--quiet", "--", *known) is not None:
                    raise environment(
                        "A hook, or git, refused the commit; nothing was changed",
                        where=", ".join(paths),
                        hint=f"Fix what it says, or skip the hooks with --no-verify\n{error.hint}",
                    ) from None
    return str(checkout.head)


@contextmanager
def _restore_index_on_error(checkout: Checkout) -> Iterator[None]:
    index = checkout.git_dir / "index"
    kept = checkout.git_dir / f"aigon-index-before.{os.getpid()}"
    exists = copy_index(index, kept, checkout.git_dir)
    try:
        yield
    except BaseException:
        if exists:
            with lock_index(index):
                replace_index(index, kept)
        raise
    finally:
        kept.unlink(missing_ok=True)


def clear_index(index: Path) -> Path:
    """Remove a private index and the lock that a killed git left on it; return its path."""
    index.unlink(missing_ok=True)
    index.with_name(f"{index.name}.lock").unlink(missing_ok=True)
    return index


def _resolve(trusted: TrustedGit, name: str) -> str:
    code, out = trusted.refs("rev-parse", "--verify", name)
    if code:
        raise environment("This repository has no commits yet", where=str(trusted.root), hint=FIRST_COMMIT)
    return out


FIRST_COMMIT = 'git add -A && git commit -m "first commit"'
