"""Places of worktrees: the folder for a new one, the place of an existing one, and a list of all."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import Literal

from msgspec import Struct

from aigon.config.models import WorktreeConfig
from aigon.errors import AigonError, environment, usage
from aigon.files.atomic import write_atomic
from aigon.files.home import ensure_home, find_home
from aigon.files.locks import is_locked
from aigon.git import worktrees
from aigon.git.person import Checkout
from aigon.journal import records
from aigon.model.agents import Candidate
from aigon.process.running import loop_lock

MARKER = ".aigon-worktrees"
"""A file that names the owner of a folder of worktrees: the id of the repository, which survives a move."""


def plan_worktree_path(
    main_root: Path, common_dir: Path, config: WorktreeConfig, candidate_branch: str
) -> tuple[Path, str]:
    """Return the folder for a new worktree, and a remark for people if it is in an unusual place. Nothing is made.

    Raises AigonError (exit 2) for a folder in the main checkout that git does not ignore.
    """
    id_ = ensure_home(common_dir).name
    own_name = f"{main_root.name}-{id_.rpartition('-')[2][:8]}-worktrees"
    if config.root is None:
        wanted = main_root.with_name(f"{main_root.name}-worktrees")
        second = wanted.with_name(own_name)
    else:
        wanted = Path(os.path.normpath(main_root / Path(config.root).expanduser()))
        second = wanted / own_name
    # Git writes down the resolved path: a folder of worktrees may be a link to another disk.
    for root in (Path(os.path.realpath(folder)) for folder in (wanted, second)):
        if _is_writable(root) and _is_ours_or_free(root, common_dir, id_):
            _require_ignored(main_root, root / candidate_branch)
            return root / candidate_branch, ""
    from platformdirs import user_data_path

    root = Path(os.path.realpath(user_data_path("aigon") / "worktrees" / id_))
    return root / candidate_branch, f"{wanted.parent} cannot be written: worktrees are in {root}"


def claim_folder(root: Path, common_dir: Path) -> None:
    """Make a folder of worktrees and write down whose it is. Raises OSError."""
    root.mkdir(parents=True, exist_ok=True)
    if not (root / MARKER).exists():
        write_atomic(root / MARKER, f"{ensure_home(common_dir).name}\n".encode())


def release_folder(root: Path) -> None:
    """Remove a folder of worktrees that holds no more than the name of its owner."""
    with suppress(OSError):
        if [*root.iterdir()] == [root / MARKER]:
            (root / MARKER).unlink()
            root.rmdir()


def _is_writable(folder: Path) -> bool:
    existing = next(each for each in (folder, *folder.parents) if os.path.lexists(each))
    return existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)


def _is_ours_or_free(root: Path, common_dir: Path, id_: str) -> bool:
    if not root.is_dir():
        return True
    marker = root / MARKER
    if marker.is_file():
        return marker.read_text(errors="replace").strip() == id_
    inside = [each for each in root.iterdir() if not each.name.startswith(MARKER)]  # a kill leaves half a marker
    return not inside or {owner for each in inside if (owner := worktrees.find_owner(each))} == {common_dir}


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


def find_worktree(main: Checkout, candidate: Candidate, config: WorktreeConfig) -> Path | None:
    """Return the folder of the candidate's worktree, or None if git knows none. A moved worktree is repaired.

    Raises AigonError (exit 7) if the repair fails.
    """
    record = _find_listed(main, candidate)
    if record is None and (moved := next(_find_moved(main, candidate, config), None)):
        worktrees.repair_worktrees(main, [moved])
        record = _find_listed(main, candidate)
    if record is None:
        return None
    path = record.path
    if worktrees.find_owner(path) != main.common_dir:
        worktrees.repair_worktrees(main)
    if worktrees.find_owner(path) != main.common_dir:
        raise environment(
            "The worktree does not name its repository, and `git worktree repair` could not fix that",
            where=str(path / ".git"),
            hint=f"Save what you need from it, then move it away: mv {quote(str(path))} {quote(f'{path}.old')}",
        )
    return path


def _find_listed(main: Checkout, candidate: Candidate) -> worktrees.WorktreeRecord | None:
    """Return the worktree by its folder, whatever is checked out there, or by its branch; never the main checkout."""
    entries = [record for record in worktrees.list_worktrees(main)[1:] if not record.missing]
    by_path = (record for record in entries if candidate.path and record.path == Path(candidate.path))
    by_branch = (record for record in entries if record.branch == candidate.branch)
    return next(by_path, None) or next(by_branch, None)


def _find_moved(main: Checkout, candidate: Candidate, config: WorktreeConfig) -> Iterator[Path]:
    """Yield folders that git does not list: the last place of the worktree, and the place of a new one."""
    planned, _ = plan_worktree_path(main.root, main.common_dir, config, candidate.branch)
    for folder in dict.fromkeys((*([Path(candidate.path)] if candidate.path else []), planned)):
        record = worktrees.find_record(folder)
        if record is None:
            continue
        # If the repository moved, the place that the record names is gone.
        owner = record.parent.parent
        head = main.common_dir / "worktrees" / record.name / "HEAD"
        is_ours = (owner == main.common_dir or not owner.exists()) and head.is_file()
        if is_ours and head.read_text().strip() == f"ref: refs/heads/{candidate.branch}":
            yield folder


def is_in_use(main: Checkout, candidate: Candidate) -> bool:
    home = find_home(main.common_dir)
    return bool(home and is_locked(loop_lock(home, candidate.feature, candidate.label)))


WorktreeState = Literal["there", "uncommitted", "gone", "broken"]


class WorktreeStatus(Struct, frozen=True):
    """A worktree and its state: there, with uncommitted work, gone, or unreadable to git."""

    candidate: Candidate
    state: WorktreeState
    running: bool


def list_worktrees(main: Checkout) -> tuple[WorktreeStatus, ...]:
    """Return the worktrees that aigon made, by slot, without those that are gone and whose work is over."""
    home = find_home(main.common_dir)
    if home is None:
        return ()
    paths = {record.path for record in worktrees.list_worktrees(main) if not record.missing}
    statuses = []
    for candidate in records.list_candidates(home):
        state = _get_state(candidate, paths)
        if state != "gone" or _is_unmerged(main, home, candidate):
            statuses.append(WorktreeStatus(candidate, state, is_in_use(main, candidate)))
    return tuple(statuses)


def _is_unmerged(main: Checkout, home: Path, candidate: Candidate) -> bool:
    tip, origin = main.commit_of(f"refs/heads/{candidate.branch}"), records.candidate_records(home, candidate).origin()
    is_new = origin is None or origin.commit in ("", tip)
    return tip is not None and (is_new or not main.is_ancestor(tip, "HEAD"))


def _get_state(candidate: Candidate, paths: set[Path]) -> WorktreeState:
    path = Path(candidate.path)
    if not candidate.path or not path.is_dir():
        return "gone"
    if path not in paths or worktrees.find_owner(path) is None:
        return "broken"
    try:
        with Checkout.open(path) as checkout:
            return "uncommitted" if checkout.list_changed() else "there"
    except AigonError:
        return "broken"
