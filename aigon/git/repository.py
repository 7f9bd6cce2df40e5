"""A repository read from its files: where its checkouts are, and what feature branches hold."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from aigon.errors import environment
from aigon.text.patterns import compile_re

_BARE = compile_re(r"^\s*bare\s*=\s*true\s*$", re.M | re.I)
_HASH = compile_re(r"([0-9a-f]{40}|[0-9a-f]{64})\n?")
_LARGEST = 64 * 1024
"""Bytes that are read of one of git's own small files."""
RUN_FOLDER = ("aigon", "run")
"""Where the repository of a run is in the git directory of its checkout: `aigon.git.run_repository` makes it."""
LINK = "run-link"
"""The file next to it that names it, as `.git` does in a worktree while an agent works."""
LENT = "lent"
"""The folder in it over which the person's objects are mounted, if it is itself mounted over their git directory."""


class RepositoryFolders(Struct, frozen=True):
    """The main checkout at `root` (in a bare repository the worktree that was asked from) and the other `worktrees`.

    All of them share the git directory `common_dir`.
    """

    root: Path
    common_dir: Path
    worktrees: tuple[Path, ...]


def find_repository(start: Path) -> RepositoryFolders:
    """Return the repository around `start`. Raises AigonError (exit 7) outside of one."""
    for folder in (start, *start.parents):
        if (git_dir := _find_git_dir(folder)) is not None:
            named = _read_text(git_dir / "commondir").strip()  # only a linked worktree has this file
            common = (git_dir / named).resolve()
            root = _find_main(common, folder, git_dir).resolve()
            return RepositoryFolders(root, common, tuple(_list_worktrees(common, root)))
    raise environment(
        "This is not a git repository", where=str(start), hint="Run `git init` here, or go to your repository"
    )


def read_checked_out_branch(root: Path) -> str:
    """Return the branch that is checked out at `root`; "" if HEAD is detached."""
    git_dir = _find_git_dir(root)
    return read_branch(git_dir) if git_dir else ""


def read_branch(git_dir: Path) -> str:
    """Return the branch that HEAD names; "" if it is detached, or kept otherwise than in a file."""
    head = _read_text(git_dir / "HEAD").strip()
    branch = head.removeprefix("ref: refs/heads/")
    return "" if branch in (head, ".invalid") else branch


def read_git_link(folder: Path) -> Path | None:
    """Return the git directory that the file `.git` in `folder` names, whether it exists or not.

    While an agent works there, the file may name the run's repository: then return the git directory that lent it.
    """
    return find_lender(folder) or _read_named_folder(folder)


def find_lender(folder: Path) -> Path | None:
    """Return the person's git directory if the file `.git` in `folder` names the repository of a run instead."""
    named = _read_named_folder(folder)
    return named.parents[1] if named and named.parts[-2:] == RUN_FOLDER else None


def is_named(git_dir: Path, root: Path) -> bool:
    """Return whether git finds this git directory at `root`: an agent's `.git` may name another."""
    return (_read_named_folder(root) or (root / ".git").resolve()) == git_dir


def _read_named_folder(folder: Path) -> Path | None:
    text = _read_text(folder / ".git")
    return (folder / text.removeprefix("gitdir:").strip()).resolve() if text.startswith("gitdir:") else None


def _find_git_dir(folder: Path) -> Path | None:
    git_dir = read_git_link(folder) or (folder / ".git").resolve()
    return git_dir if (git_dir / "HEAD").is_file() else None


def _find_main(common: Path, asked: Path, git_dir: Path) -> Path:
    """Return the main checkout: the parent of the git directory, unless this is bare or elsewhere."""
    if git_dir == common or common.name != ".git" or _BARE.search(_read_text(common / "config")):
        return asked
    return common.parent


def _list_worktrees(common: Path, root: Path) -> Iterator[Path]:
    """Yield the roots of existing linked worktrees; git may name one relative to its own folder."""
    for file in sorted(common.glob("worktrees/*/gitdir")):
        place = (file.parent / _read_text(file).strip()).parent.resolve()
        if place != root and place.is_dir():
            yield place


def _read_text(file: Path) -> str:
    try:
        if not file.is_file():  # a pipe would block
            return ""
        with file.open("rb") as opened:
            return opened.read(_LARGEST).decode(errors="surrogateescape")
    except OSError:
        return ""


def identify_index(index: Path) -> tuple[object, ...]:
    """Return what is another one once git has written the index: its checksum is at its end. Raises OSError."""
    with index.open("rb") as file:
        state = os.fstat(file.fileno())
        file.seek(-min(32, state.st_size), os.SEEK_END)
        return state.st_ino, state.st_mtime_ns, state.st_ctime_ns, state.st_size, file.read()


def find_ref(common_dir: Path, name: str) -> str | None:
    """Return the object that a ref below `refs/` names by git's files, "" if there is none; None if git has to say."""
    if not (common_dir / "refs" / "heads").is_dir():  # a reftable
        return None
    if os.path.lexists(common_dir / name):
        found = _HASH.fullmatch(_read_text(common_dir / name))
        return found[1] if found else None
    packed = common_dir / "packed-refs"
    lines = packed.read_bytes().splitlines() if packed.is_file() else []
    end = os.fsencode(f" {name}")
    return next((os.fsdecode(line.removesuffix(end)) for line in lines if line.endswith(end)), "")


BranchPath = tuple[str, str]
"""A branch, and a path in its tree."""
_PACKED = compile_re(rb"^[0-9a-f]+ refs/(heads|remotes/[^/\n]+)/(feature-[^/\n]+)$", re.M)


def list_feature_branches(common_dir: Path, *, remote: bool = False) -> list[str]:
    """Return the branches whose name begins with `feature-`, read from git's files; with `remote` those of remotes."""
    places = (common_dir / "refs").glob("remotes/*/feature-*" if remote else "heads/feature-*")
    packed = common_dir / "packed-refs"
    found = _PACKED.findall(packed.read_bytes()) if packed.is_file() else []
    names = {file.name for file in places if file.is_file()}
    names |= {os.fsdecode(name) for where, name in found if (where != b"heads") == remote}
    return sorted(name for name in names if not name.endswith(".lock"))


def list_branch_files(root: Path, folders: Sequence[BranchPath]) -> dict[BranchPath, list[str]]:
    """Return the names in each of these folders that is there."""
    objects = zip(folders, _read_branch_objects(root, folders), strict=False)
    return {
        folder: [*_list_tree_names(data, len(name) // 2)] for folder, (name, kind, data) in objects if kind == b"tree"
    }


def read_branch_files(root: Path, files: Sequence[BranchPath]) -> dict[BranchPath, bytes]:
    """Return the content of each of these files that is there."""
    objects = zip(files, _read_branch_objects(root, files), strict=False)
    return {file: data for file, (_, kind, data) in objects if kind == b"blob"}


def _read_branch_objects(root: Path, names: Iterable[BranchPath]) -> Iterable[tuple[bytes, bytes, bytes]]:
    """Return name, kind and content of each object; the kind is empty if it is missing."""
    from aigon.git.listings import parse_batch  # a board without feature branches does without these
    from aigon.process.start import capture_output

    stdin = b"".join(os.fsencode(f"refs/heads/{branch}:{path}\n") for branch, path in names)
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env |= {"GIT_NO_LAZY_FETCH": "1", "GIT_NO_REPLACE_OBJECTS": "1", "LC_ALL": "C"}
    try:
        _, out, _ = capture_output(("git", "cat-file", "--batch"), cwd=root, env=env, stdin=stdin)
    except OSError:  # no git: there is nothing to say of its branches
        return ()
    return parse_batch(out)


def _list_tree_names(tree: bytes, size: int) -> Iterator[str]:
    start = 0
    while start < len(tree):
        end = tree.index(b"\0", start)
        yield os.fsdecode(tree[start:end].partition(b" ")[2])
        start = end + 1 + size


def find_repository_root(start: Path) -> Path | None:
    """Return the folder with `.git` around `start`; None outside of every repository."""
    return next((folder for folder in (start, *start.parents) if (folder / ".git").exists()), None)
