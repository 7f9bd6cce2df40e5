"""Find the worktree of a candidate again: in git's list, or where it or the whole repository was moved to."""

from collections.abc import Iterator
from pathlib import Path
from shlex import quote

from aigon.config.models import WorktreeConfig
from aigon.errors import environment
from aigon.git import worktrees
from aigon.git.person import Checkout
from aigon.model.candidates import Candidate
from aigon.worktrees.place import place


def found(main: Checkout, candidate: Candidate, config: WorktreeConfig) -> Path | None:
    """The folder of the candidate's worktree, which git knows; None where it is gone or was never made.

    What a move broke is mended. Raises AigonError (exit 7) where the worktree is there and cannot be mended.
    """
    listed = _there(main, candidate)
    if listed is None and (moved := list(_moved(main, candidate, config))):
        worktrees.mend(main, moved[:1])
        listed = _there(main, candidate)
    return _connected(main, listed.path) if listed else None


def _there(main: Checkout, candidate: Candidate) -> worktrees.Listed | None:
    """The worktree by its folder, wherever HEAD is just now, or by its branch; never the main checkout."""
    entries = [each for each in worktrees.listed(main)[1:] if not each.missing]
    by_path = (each for each in entries if candidate.path and each.path == Path(candidate.path))
    by_branch = (each for each in entries if each.branch == candidate.branch)
    return next(by_path, None) or next(by_branch, None)


def _moved(main: Checkout, candidate: Candidate, config: WorktreeConfig) -> Iterator[Path]:
    """Folders that git's list does not have where the worktree may be: where it was, where one would be made now."""
    planned, _ = place(main.root, main.common_dir, config, candidate.branch)
    for folder in dict.fromkeys((*([Path(candidate.path)] if candidate.path else []), planned)):
        record = worktrees.record_of(folder)
        if record and _is_our_record(main, record, candidate.branch):
            yield folder


def _is_our_record(main: Checkout, record: Path, branch: str) -> bool:
    """Whether a worktree's record is ours, or was before the repository moved: then the place it names is gone."""
    if record.parent.parent != main.common_dir and record.parent.parent.exists():
        return False
    head = main.common_dir / "worktrees" / record.name / "HEAD"
    return head.is_file() and head.read_text().strip() == f"ref: refs/heads/{branch}"


def _connected(main: Checkout, path: Path) -> Path:
    """The worktree at `path` after a look at the file by which it names its repository."""
    if worktrees.owner(path) != main.common_dir:
        worktrees.mend(main)
    if worktrees.owner(path) != main.common_dir:
        raise environment(
            "The worktree does not name its repository, and `git worktree repair` could not fix that",
            where=str(path / ".git"),
            hint=f"Save what you need from it, then move it away: mv {quote(str(path))} {quote(f'{path}.old')}",
        )
    return path
