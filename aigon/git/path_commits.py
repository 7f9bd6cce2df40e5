"""Commit a few paths and nothing else that is staged or changed: for aigon's own bookkeeping."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from aigon.errors import AigonError, environment
from aigon.git.locks import copy_index, lock_index, replace_index
from aigon.git.person import Checkout
from aigon.git.trusted import TrustedGit


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
    known = [
        spec for path, spec in specs if os.path.lexists(checkout.root / path) or checkout.git("ls-files", "--", spec)
    ]
    stage = ("add", "--all", "--force", "--sparse", "--", *known)
    commit = ("commit", "-q", *(() if verify else ("--no-verify",)), "-m", message, "--only", "--", *known)
    with _restore_index_on_error(checkout):
        for attempt in (1, 2):
            if known:
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
