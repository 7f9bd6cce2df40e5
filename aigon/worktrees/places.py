"""Where worktrees are: the folder for a new one, the place of an existing one, and a list of all."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Literal

from aigon.config.models import WorktreeConfig
from aigon.errors import AigonError, environment, usage
from aigon.files.atomic import write_atomic
from aigon.files.home import ensure_home, find_home
from aigon.files.locks import is_locked
from aigon.git import worktrees
from aigon.git.person import Checkout
from aigon.git.worktrees import find_owner
from aigon.journal import records
from aigon.model.candidates import Candidate
from aigon.process.running import loop_lock

MARKER = ".aigon-worktrees"
"""A file in a folder of worktrees that says whose they are: the id of the repository, which moves along."""


def plan_worktree_path(
    main_root: Path, common_dir: Path, config: WorktreeConfig, candidate_branch: str
) -> tuple[Path, str]:
    """The folder of a new worktree, and a remark on where it is, for people; "" where it is where they expect it.

    Nothing is made. Raises AigonError (exit 2) for a folder in the main checkout that git does not ignore.
    """
    id_ = ensure_home(common_dir).name
    wanted = _get_wanted_folder(main_root, config)
    second = (
        wanted / format_own_name(main_root, id_) if config.root else wanted.with_name(format_own_name(main_root, id_))
    )
    for root in map(_resolve_links, (wanted, second)):
        if is_writable(root) and _is_ours_or_free(root, common_dir, id_):
            _require_ignored(main_root, root / candidate_branch)
            return root / candidate_branch, ""
    root = _resolve_links(_get_data_folder(id_))
    return root / candidate_branch, f"{wanted.parent} cannot be written: worktrees are in {root}"


def claim_folder(root: Path, common_dir: Path) -> None:
    """Say in a folder of worktrees whose they are; the folder is made. Raises OSError."""
    root.mkdir(parents=True, exist_ok=True)
    if not (root / MARKER).exists():
        write_atomic(root / MARKER, f"{ensure_home(common_dir).name}\n".encode())


def format_own_name(main_root: Path, id_: str) -> str:
    """The name that no other repository's folder of worktrees has."""
    return f"{main_root.name}-{shorten_id(id_)}-worktrees"


def shorten_id(id_: str) -> str:
    """The part of a repository's id that is its own."""
    return id_.rpartition("-")[2][:8]


def is_writable(folder: Path) -> bool:
    """Whether `folder` can be written, or made where it is not there."""
    there = next(each for each in (folder, *folder.parents) if os.path.lexists(each))
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def _get_wanted_folder(main_root: Path, config: WorktreeConfig) -> Path:
    if config.root is None:
        return main_root.with_name(f"{main_root.name}-worktrees")
    return Path(os.path.normpath(main_root / Path(config.root).expanduser()))


def _resolve_links(folder: Path) -> Path:
    """Without links, as git writes it down: a folder of worktrees may be a link to another disk."""
    return Path(os.path.realpath(folder))


def _is_ours_or_free(root: Path, common_dir: Path, id_: str) -> bool:
    """Whether the folder is this repository's, or nobody's: not there yet, or empty."""
    if not root.is_dir():
        return True
    marker = root / MARKER
    if marker.is_file():
        return marker.read_text(errors="replace").strip() == id_
    inside = [each for each in root.iterdir() if not each.name.startswith(MARKER)]  # a kill leaves half a marker
    owners = {whose for each in inside if (whose := find_owner(each))}
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


def _get_data_folder(id_: str) -> Path:
    from platformdirs import user_data_path

    return user_data_path("aigon") / "worktrees" / id_


def find_worktree(main: Checkout, candidate: Candidate, config: WorktreeConfig) -> Path | None:
    """The folder of the candidate's worktree, which git knows; None where it is gone or was never made.

    What a move broke is mended. Raises AigonError (exit 7) where the worktree is there and cannot be mended.
    """
    listed = _find_listed(main, candidate)
    if listed is None and (moved := list(_find_moved(main, candidate, config))):
        worktrees.repair_worktrees(main, moved[:1])
        listed = _find_listed(main, candidate)
    return _reconnect(main, listed.path) if listed else None


def _find_listed(main: Checkout, candidate: Candidate) -> worktrees.WorktreeRecord | None:
    """The worktree by its folder, wherever HEAD is just now, or by its branch; never the main checkout."""
    entries = [each for each in worktrees.list_worktrees(main)[1:] if not each.missing]
    by_path = (each for each in entries if candidate.path and each.path == Path(candidate.path))
    by_branch = (each for each in entries if each.branch == candidate.branch)
    return next(by_path, None) or next(by_branch, None)


def _find_moved(main: Checkout, candidate: Candidate, config: WorktreeConfig) -> Iterator[Path]:
    """Folders that git's list does not have where the worktree may be: where it was, where one would be made now."""
    planned, _ = plan_worktree_path(main.root, main.common_dir, config, candidate.branch)
    for folder in dict.fromkeys((*([Path(candidate.path)] if candidate.path else []), planned)):
        record = worktrees.find_record(folder)
        if record and _is_our_record(main, record, candidate.branch):
            yield folder


def _is_our_record(main: Checkout, record: Path, branch: str) -> bool:
    """Whether a worktree's record is ours, or was before the repository moved: then the place it names is gone."""
    if record.parent.parent != main.common_dir and record.parent.parent.exists():
        return False
    head = main.common_dir / "worktrees" / record.name / "HEAD"
    return head.is_file() and head.read_text().strip() == f"ref: refs/heads/{branch}"


def _reconnect(main: Checkout, path: Path) -> Path:
    """The worktree at `path` after a look at the file by which it names its repository."""
    if worktrees.find_owner(path) != main.common_dir:
        worktrees.repair_worktrees(main)
    if worktrees.find_owner(path) != main.common_dir:
        raise environment(
            "The worktree does not name its repository, and `git worktree repair` could not fix that",
            where=str(path / ".git"),
            hint=f"Save what you need from it, then move it away: mv {quote(str(path))} {quote(f'{path}.old')}",
        )
    return path


def get_candidate_lock(home: Path, candidate: Candidate) -> Path:
    """The lock that a candidate's loop holds."""
    return loop_lock(home, candidate.feature, candidate.label)


def is_in_use(main: Checkout, candidate: Candidate) -> bool:
    """Whether somebody holds that lock."""
    home = find_home(main.common_dir)
    return bool(home and is_locked(get_candidate_lock(home, candidate)))


WorktreeState = Literal["there", "uncommitted", "gone", "broken"]


@dataclass(frozen=True, slots=True)
class WorktreeStatus:
    """A worktree and how it is: there, with uncommitted work, gone, or there and unreadable to git."""

    candidate: Candidate
    state: WorktreeState
    running: bool


def list_worktrees(main: Checkout) -> tuple[WorktreeStatus, ...]:
    """All that aigon made in this repository, in the order of their slots.

    Not one that is gone and has nothing left to do: its branch is gone as well, or merged.
    """
    home = find_home(main.common_dir)
    if home is None:
        return ()
    there = {each.path for each in worktrees.list_worktrees(main) if not each.missing}
    found = (
        WorktreeStatus(each, _get_state(each, there), is_locked(get_candidate_lock(home, each)) is True)
        for each in records.list_candidates(home)
    )
    return tuple(row for row in found if row.state != "gone" or _is_unmerged(main, home, row.candidate))


def _is_unmerged(main: Checkout, home: Path, candidate: Candidate) -> bool:
    """Whether its branch is there, and nothing of it has been merged."""
    tip, origin = main.commit_of(f"refs/heads/{candidate.branch}"), records.candidate_records(home, candidate).origin()
    begun = origin.commit if origin else ""
    return tip is not None and (begun in ("", tip) or not main.is_ancestor(tip, "HEAD"))


def _get_state(candidate: Candidate, there: set[Path]) -> WorktreeState:
    path = Path(candidate.path)
    if not candidate.path or not path.is_dir():
        return "gone"
    if path not in there or worktrees.find_owner(path) is None:
        return "broken"
    try:
        with Checkout.open(path) as checkout:
            return "uncommitted" if checkout.changed() else "there"
    except AigonError:
        return "broken"
