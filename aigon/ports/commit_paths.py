"""Commit a few paths and nothing else, whatever else is staged or changed: for aigon's own bookkeeping."""

from collections.abc import Sequence

from aigon.core.errors import environment
from aigon.ports.index_file import copied, locked, replace
from aigon.ports.trusted import TrustedGit


def commit_paths(trusted: TrustedGit, paths: Sequence[str], message: str) -> str:
    """A commit on HEAD of the work tree's version of `paths` (a missing file is a deletion); its hash.

    HEAD's own commit where nothing differs. The checkout's index follows for these paths only; no hook runs.
    Raises AigonError (exit 7) when HEAD moved meanwhile or another git holds the index, before anything changed.
    """
    head = _resolve(trusted, "HEAD")
    index = trusted.directory / "index.paths"
    index.unlink(missing_ok=True)
    trusted.run("read-tree", head, index=index)
    update = ("update-index", "--add", "--remove", "--", *paths)
    trusted.run(*update, index=index)
    tree = trusted.run("write-tree", index=index).decode().strip()
    if tree == _resolve(trusted, "HEAD^{tree}"):
        return head
    commit = trusted.run("commit-tree", tree, "-p", head, "-F", "-", stdin=message.encode()).decode().strip()
    with locked(trusted.git_dir / "index"):
        copied(trusted.git_dir / "index", index, trusted.directory)
        trusted.run(*update, index=index)
        code, said = trusted.refs("update-ref", "-m", message.partition("\n")[0], "HEAD", commit, head)
        if code:
            raise environment("HEAD moved while aigon was committing", where=str(trusted.root), hint=said)
        replace(trusted.git_dir / "index", index)
    return commit


def _resolve(trusted: TrustedGit, name: str) -> str:
    code, out = trusted.refs("rev-parse", "--verify", name)
    if code:
        raise environment("This repository has no commits yet", where=str(trusted.root), hint=FIRST_COMMIT)
    return out


FIRST_COMMIT = 'git add -A && git commit -m "first commit"'
