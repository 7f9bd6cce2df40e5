"""Remove worktrees without losing work. Branches and records stay, so a worktree can be made again."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from aigon.config.loading import load_configuration, open_work_tree
from aigon.errors import AigonError, usage
from aigon.files.home import ensure_home, find_home
from aigon.files.locks import hold_lock
from aigon.git import worktrees
from aigon.git.blind_spots import refuse_hidden_changes
from aigon.git.person import Checkout
from aigon.git.workspace import Workspace
from aigon.job.branch import list_saved_work as parked
from aigon.job.seat import checkout_lock
from aigon.job.spec_locations import locate_spec
from aigon.journal import records
from aigon.model.candidates import Candidate, find_candidate
from aigon.secrets.leaks import list_exclude_lines
from aigon.text.quoting import fold
from aigon.worktrees.ignored import sort_ignored_files
from aigon.worktrees.places import MARKER, find_worktree, get_candidate_lock

MAX_NAMED_FILES = 3
"""Files that a reason names."""


@dataclass(frozen=True, slots=True)
class Removal:
    """A worktree that is to go: whose it is, what it holds that is in no commit, and whether that may be parked."""

    main: Checkout
    here: Checkout
    candidate: Candidate
    home: Path
    park: bool

    @property
    def place(self) -> str:
        """What refs of parked work begin with."""
        return f"feature-{self.candidate.feature}/{self.candidate.label}"


def save_uncommitted(it: Removal) -> str:
    """Park what is in no commit, and on no branch, where that is wished; else the reason."""
    changed, lost = it.here.changed(), _find_unreachable_head(it.here)
    if not it.park:
        again = f"commit it there, or park it: aigon cleanup {it.candidate.feature} {it.candidate.label} --park"
        if changed:
            return f"it holds work that is in no commit ({_format_paths(changed)}): {again}"
        return f"its HEAD is a commit that is on no branch ({lost[:12]}): {again}" if lost else ""
    if not changed and not lost:
        return ""
    with _open_workspace(it) as workspace:
        if changed and (why := _save_changes(it, workspace, changed)):
            return why
        if lost:
            workspace.keep(f"{it.place}-head", lost)
    return f"{_format_paths(left)} could not be put away" if (left := it.here.changed()) else ""


def _find_unreachable_head(here: Checkout) -> str:
    """The commit of a detached HEAD that no branch contains; "" where there is none."""
    head = here.head
    if here.branch is not None or head is None:
        return ""
    return "" if here.git("for-each-ref", "--count=1", "--contains", head, "refs/heads") else head


@contextmanager
def _open_workspace(it: Removal) -> Iterator[Workspace]:
    """The work tree as the loop's own git sees it, without secrets."""
    with TemporaryDirectory(prefix="git-cleanup-", dir=it.home) as folder:
        workspace = Workspace(it.here, Path(folder), it.here.branch or it.candidate.branch)
        workspace.trusted.keep_out(list_exclude_lines())
        yield workspace


def _save_changes(it: Removal, workspace: Workspace, changed: Sequence[str]) -> str:
    """Park the work tree as it is, then put it back to its commit; why that is not possible, where it is not."""
    head = it.here.head
    if head is None:
        return "its branch has no commit"
    if complaints := workspace.snapshot():
        return fold("; ".join(complaints))
    held = set(workspace.tracked())
    if left := [path for path in changed if os.path.lexists(it.here.root / path) and path not in held]:
        return f"{_format_paths(left)} may hold secrets, which are not parked"
    message = f"aigon: parked what {it.candidate.branch} had not committed\n"
    workspace.keep(f"{it.place}-uncommitted", workspace.commit_tree(workspace.tree(), head, message))
    workspace.restore(head)
    return ""


def save_ignored(it: Removal, paths: Sequence[str]) -> None:
    """Keep ignored files as a commit on top of HEAD."""
    head = str(it.here.head)
    with _open_workspace(it) as workspace:
        git, index = workspace.trusted, workspace.trusted.directory / "index.ignored"
        git.run("read-tree", head, index=index)
        stdin = b"".join(os.fsencode(path) + b"\0" for path in paths)
        git.run("update-index", "--add", "-z", "--stdin", stdin=stdin, index=index)
        tree = git.run("write-tree", index=index).decode().strip()
        message = f"aigon: parked what git ignored in the worktree of {it.candidate.branch}\n"
        workspace.keep(f"{it.place}-ignored", workspace.commit_tree(tree, head, message))


def _format_paths(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - MAX_NAMED_FILES} more" if len(paths) > MAX_NAMED_FILES else ""
    return ", ".join(fold(path) for path in paths[:MAX_NAMED_FILES]) + more


def remove_safely(main: Checkout, candidate: Candidate, *, park: bool) -> str:
    """Remove a candidate's worktree; "" where it is gone, else why it stays, as half a sentence.

    It stays while a loop runs there, and while it holds what is in no commit: with `park` that is parked first. The
    branch and the record are not touched. A lock on it that this process holds is no hindrance.
    """
    home = ensure_home(main.common_dir)
    try:
        path = find_worktree(main, candidate, load_configuration(open_work_tree(main.root)).worktree)
        if path is None:
            return _forget_missing(main, candidate)
        if str(path) != candidate.path and not (path.parent / MARKER).exists():
            return f"its branch is checked out in {path}, which aigon did not make: git worktree remove {path}"
        with _hold_locks(home, candidate, path), Checkout.open(path) as here:
            if here.root != path.resolve():
                return f"git takes {path} for a part of {here.root}"
            return _save_and_remove(Removal(main, here, candidate, home, park))
    except AigonError as error:
        return f"{error}: {error.hint}" if error.hint else str(error)


def _forget_missing(main: Checkout, candidate: Candidate) -> str:
    """Let git forget a worktree whose folder is gone."""
    path = Path(candidate.path)
    if candidate.path and os.path.lexists(path) and (not path.is_dir() or any(path.iterdir())):
        return f"{path} is there, but no worktree of this repository any more: look at it, and remove it yourself"
    record = worktrees.find_worktree_of(main, candidate.branch)
    if record and record.missing and record.locked:
        return f"its folder is gone, and somebody locked it: {fold(record.locked)}"
    if record and record.missing:
        worktrees.remove_worktree(main, record.path)
    return ""


@contextmanager
def _hold_locks(home: Path, candidate: Candidate, path: Path) -> Iterator[None]:
    """Hold the locks that a loop there would hold. Raises AigonError (exit 7) where one does."""
    what = f"The worktree of feature {candidate.feature}-{candidate.label}"
    with ExitStack() as held:
        for each in (hold_lock(get_candidate_lock(home, candidate), what), checkout_lock(home, path)):
            try:
                held.enter_context(each)
            except AigonError as error:
                if not error.where.startswith(f"pid {os.getpid()} on "):  # whoever asks may hold it already
                    raise
        yield


def _save_and_remove(it: Removal) -> str:
    ignored = sort_ignored_files(it.main, it.here)
    if why := _find_obstacle(it.here) or ignored.reason or save_uncommitted(it):
        return why
    if ignored.parked:
        save_ignored(it, ignored.parked)
    worktrees.remove_worktree(it.main, it.here.root)
    return ""


def _find_obstacle(here: Checkout) -> str:
    """What no parking helps with."""
    if Path.cwd().is_relative_to(here.root):
        return f"you stand in it ({here.root}): go to the main checkout first"
    if doing := here.under_way():
        return f"a {doing} is under way in {here.root}"
    if any(each.path == here.root and each.locked for each in worktrees.list_worktrees(here)):
        return f"somebody locked it: git worktree unlock {here.root}"
    if (here.git_dir / "modules").exists():
        return (
            f"it has submodules checked out, which may hold commits that nothing else has: "
            f"look at them, then git worktree remove --force {here.root}"
        )
    refuse_hidden_changes(here)
    return ""


@dataclass(frozen=True, slots=True)
class CleanupResult:
    """`removed` are worktrees that are gone now, `kept` those that stay with the reason, `parked` new refs."""

    removed: tuple[Candidate, ...]
    kept: tuple[tuple[Candidate, str], ...]
    parked: tuple[str, ...]


def clean_up_feature(
    main: Checkout, wanted: str, agents: Sequence[str], *, park: bool, say: Callable[[str], None]
) -> CleanupResult:
    """Remove the worktrees of a feature, or of these agents of it, where nothing is lost.

    `say` hears of each as it is done. Raises AigonError (exit 2) for a feature or an agent that is not known.
    """
    before = {row["ref"] for row in parked(main)}
    removed, kept = [], []
    for each in _choose_candidates(main, wanted, agents):
        if reason := remove_safely(main, each, park=park):
            kept.append((each, reason))
            say(f"{each.label}: kept, {reason}")
        else:
            removed.append(each)
            stays = main.commit_of(f"refs/heads/{each.branch}") is not None
            say(f"{each.label}: {each.path} is gone" + (f"; its branch {each.branch} stays" if stays else ""))
    refs = tuple(row["ref"] for row in parked(main) if row["ref"] not in before)
    return CleanupResult(tuple(removed), tuple(kept), refs)


def _choose_candidates(main: Checkout, wanted: str, agents: Sequence[str]) -> tuple[Candidate, ...]:
    there = tuple(each for each in records.list_candidates(find_home(main.common_dir)) if _is_of_feature(each, wanted))
    if not there:
        feature = locate_spec(main.root, main.common_dir, wanted).feature
        if agents:
            raise usage(
                f"Feature {feature.name_for_people} has no worktrees", hint="aigon worktrees lists all there are"
            )
        return ()
    return tuple(dict.fromkeys(_find_candidate(there, agent) for agent in agents)) or there


def _is_of_feature(candidate: Candidate, wanted: str) -> bool:
    both = wanted.isdecimal() and candidate.feature.isdecimal()
    return wanted in (candidate.feature, candidate.slug) or (both and int(wanted) == int(candidate.feature))


def _find_candidate(there: Sequence[Candidate], agent: str) -> Candidate:
    found = find_candidate(there, agent)
    if found is None:
        labels = ", ".join(each.label for each in there)
        raise usage(f"'{agent}' names no single worktree of feature {there[0].feature}", hint=f"There are: {labels}")
    return found
