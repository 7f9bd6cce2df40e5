"""Where the worktrees of a repository are: beside the main checkout, unless configuration or the machine says else."""

import os
from pathlib import Path

from aigon.config.models import WorktreeConfig
from aigon.errors import usage
from aigon.files.home import repository_home
from aigon.files.store import write_atomic
from aigon.git.person import Checkout
from aigon.git.worktrees import owner

MARKER = ".aigon-worktrees"
"""A file in a folder of worktrees that says whose they are: the id of the repository, which moves along."""


def place(main_root: Path, common_dir: Path, config: WorktreeConfig, candidate_branch: str) -> tuple[Path, str]:
    """The folder of a new worktree, and a remark on where it is, for people; "" where it is where they expect it.

    Nothing is made. Raises AigonError (exit 2) for a folder in the main checkout that git does not ignore.
    """
    id_ = repository_home(common_dir).name
    wanted = _wanted(main_root, config)
    second = wanted / own_name(main_root, id_) if config.root else wanted.with_name(own_name(main_root, id_))
    for root in map(_real, (wanted, second)):
        if writable(root) and _is_ours(root, common_dir, id_):
            _require_ignored(main_root, root / candidate_branch)
            return root / candidate_branch, ""
    root = _real(_data_folder(id_))
    return root / candidate_branch, f"{wanted.parent} cannot be written: worktrees are in {root}"


def claim(root: Path, common_dir: Path) -> None:
    """Say in a folder of worktrees whose they are; the folder is made. Raises OSError."""
    root.mkdir(parents=True, exist_ok=True)
    if not (root / MARKER).exists():
        write_atomic(root / MARKER, f"{repository_home(common_dir).name}\n".encode())


def own_name(main_root: Path, id_: str) -> str:
    """The name that no other repository's folder of worktrees has."""
    return f"{main_root.name}-{short(id_)}-worktrees"


def short(id_: str) -> str:
    """The part of a repository's id that is its own."""
    return id_.rpartition("-")[2][:8]


def writable(folder: Path) -> bool:
    """Whether `folder` can be written, or made where it is not there."""
    there = next(each for each in (folder, *folder.parents) if os.path.lexists(each))
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def _wanted(main_root: Path, config: WorktreeConfig) -> Path:
    if config.root is None:
        return main_root.with_name(f"{main_root.name}-worktrees")
    return Path(os.path.normpath(main_root / Path(config.root).expanduser()))


def _real(folder: Path) -> Path:
    """Without links, as git writes it down: a folder of worktrees may be a link to another disk."""
    return Path(os.path.realpath(folder))


def _is_ours(root: Path, common_dir: Path, id_: str) -> bool:
    """Whether the folder is this repository's, or nobody's: not there yet, or empty."""
    if not root.is_dir():
        return True
    marker = root / MARKER
    if marker.is_file():
        return marker.read_text(errors="replace").strip() == id_
    inside = [each for each in root.iterdir() if not each.name.startswith(MARKER)]  # a kill leaves half a marker
    owners = {whose for each in inside if (whose := owner(each))}
    return not inside or owners == {common_dir}


def _require_ignored(main_root: Path, path: Path) -> None:
    if not path.is_relative_to(main_root):
        return
    with Checkout.open(main_root) as main:
        if main.ask("check-ignore", "-q", "--", str(path)) is None:
            raise usage(
                "Worktrees inside of the repository would be taken for its files",
                where=f"worktree.root: {path.parent}",
                hint=f"echo /{path.parent.relative_to(main_root)}/ >> .gitignore, or name a folder outside",
            )


def _data_folder(id_: str) -> Path:
    from platformdirs import user_data_path

    return user_data_path("aigon") / "worktrees" / id_
