"""Remove worktrees without losing work. Branches and records stay, so a worktree can be made again."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from aigon.config.loading import load_configuration, open_work_tree
from aigon.errors import AigonError, usage
from aigon.files.home import ensure_home
from aigon.files.locks import hold_lock
from aigon.git import worktrees
from aigon.git.blind_spots import refuse_hidden_changes
from aigon.git.person import Checkout
from aigon.git.run_repository import put_back_link
from aigon.git.workspace import Workspace
from aigon.job.branch import list_saved_work
from aigon.job.job import checkout_lock, list_known_candidates
from aigon.job.spec_locations import locate_spec
from aigon.model.agents import Candidate, find_candidate
from aigon.process.running import loop_lock
from aigon.secrets.leaks import list_exclude_lines
from aigon.text.quoting import fold
from aigon.worktrees.ignored import sort_ignored_files
from aigon.worktrees.places import MARKER, find_worktree, release_folder

MAX_NAMED_FILES = 3
"""Files that a reason names."""


class CleanupResult(Struct, frozen=True):
    """The worktrees that were removed, those that stay with the reason, and the refs of work that was saved aside."""

    removed: tuple[Candidate, ...]
    kept: tuple[tuple[Candidate, str], ...]
    parked: tuple[str, ...]


def clean_up_feature(
    main: Checkout, wanted: str, agents: Sequence[str], *, park: bool, say: Callable[[str], None]
) -> CleanupResult:
    """Remove the worktrees of a feature, or of these agents of it, if no work is lost. `say` hears of each.

    Raises AigonError (exit 2) for an unknown feature or agent.
    """
    before = {row["ref"] for row in list_saved_work(main)}
    removed, kept = [], []
    for candidate in _choose_candidates(main, wanted, agents):
        if reason := remove_safely(main, candidate, park=park):
            kept.append((candidate, reason))
            say(f"{candidate.label}: kept, {reason}")
        else:
            removed.append(candidate)
            branch = candidate.branch if main.commit_of(f"refs/heads/{candidate.branch}") else ""
            say(f"{candidate.label}: {candidate.path} is gone" + (f"; its branch {branch} stays" if branch else ""))
    refs = tuple(row["ref"] for row in list_saved_work(main) if row["ref"] not in before)
    return CleanupResult(tuple(removed), tuple(kept), refs)


def _choose_candidates(main: Checkout, wanted: str, agents: Sequence[str]) -> tuple[Candidate, ...]:
    known = list_known_candidates(main, wanted)
    if not known:
        feature = locate_spec(main.root, main.common_dir, wanted).feature
        if agents:
            what = f"Feature {feature.name_for_people} has no worktrees"
            raise usage(what, hint="aigon worktrees lists all there are")
    chosen: dict[Candidate, None] = {}
    for agent in agents:
        candidate = find_candidate(known, agent)
        if candidate is None:
            labels = ", ".join(each.label for each in known)
            what = f"'{agent}' names no single worktree of feature {known[0].feature}"
            raise usage(what, hint=f"There are: {labels}")
        chosen[candidate] = None
    return tuple(chosen) or known


def remove_safely(main: Checkout, candidate: Candidate, *, park: bool) -> str:
    """Remove a candidate's worktree; return "", or as half a sentence why it stays.

    It stays while a loop runs there, and while it holds what is in no commit, unless `park` allows to save that aside.
    The branch and the record are not touched. A lock that this process holds is no obstacle.
    """
    home = ensure_home(main.common_dir)
    try:
        path = find_worktree(main, candidate, load_configuration(open_work_tree(main.root)).worktree)
        if path is None:
            return _forget_missing(main, candidate)
        if str(path) != candidate.path and not (path.parent / MARKER).exists():
            return f"its branch is checked out in {path}, which aigon did not make: git worktree remove {path}"
        with _hold_locks(home, candidate, path), Checkout.open(path) as worktree:
            put_back_link(path)
            if worktree.root != path.resolve():
                return f"git takes {path} for a part of {worktree.root}"
            return _Removal(main, worktree, candidate, home, park).carry_out()
    except AigonError as error:
        return f"{error}: {error.hint}" if error.hint else str(error)


def _forget_missing(main: Checkout, candidate: Candidate) -> str:
    path = Path(candidate.path)
    if candidate.path and os.path.lexists(path) and (not path.is_dir() or any(path.iterdir())):
        return f"{path} exists, but is no longer a worktree of this repository: check it, and remove it yourself"
    record = worktrees.find_worktree_of(main, candidate.branch)
    if record and record.missing:
        if record.locked:
            return f"its folder is gone, and it is locked: {fold(record.locked)}"
        worktrees.remove_worktree(main, record.path)
    return ""


@contextmanager
def _hold_locks(home: Path, candidate: Candidate, path: Path) -> Iterator[None]:
    """Hold the locks that a loop there would hold. Raises AigonError (exit 7) if one does."""
    what = f"The worktree of feature {candidate.feature}-{candidate.label}"
    with ExitStack() as stack:
        loop = loop_lock(home, candidate.feature, candidate.label)
        for lock in (hold_lock(loop, what), checkout_lock(home, path)):
            try:
                stack.enter_context(lock)
            except AigonError as error:
                if not error.where.startswith(f"pid {os.getpid()} on "):  # the caller may hold it already
                    raise
        yield


class _Removal(Struct, frozen=True):
    """A worktree to remove, and whether work that is in no commit may be saved aside first.

    Its methods return "", or why the worktree has to stay.
    """

    main: Checkout
    worktree: Checkout
    candidate: Candidate
    home: Path
    park: bool

    def carry_out(self) -> str:
        ignored = sort_ignored_files(self.main, self.worktree)
        if reason := self._find_obstacle() or ignored.reason or self._save_uncommitted():
            return reason
        if ignored.paths:
            self._save_ignored(ignored.paths)
        worktrees.remove_worktree(self.main, self.worktree.root)
        release_folder(self.worktree.root.parent)
        return ""

    def _find_obstacle(self) -> str:
        worktree, root = self.worktree, self.worktree.root
        if Path.cwd().is_relative_to(root):
            return f"you are in it ({root}): go to the main checkout first"
        if operation := worktree.under_way():
            return f"a {operation} is under way in {root}"
        if any(record.path == root and record.locked for record in worktrees.list_worktrees(worktree)):
            return f"it is locked: git worktree unlock {root}"
        if (worktree.git_dir / "modules").exists():
            return (
                f"it has submodules checked out, which may hold commits that nothing else has: "
                f"look at them, then git worktree remove --force {root}"
            )
        refuse_hidden_changes(worktree)
        return ""

    def _save_uncommitted(self) -> str:
        worktree, candidate, lost = self.worktree, self.candidate, ""
        changed, head = worktree.list_changed(), worktree.head
        if worktree.branch is None and head is not None:
            lost = "" if worktree.git("for-each-ref", "--count=1", "--contains", head, "refs/heads") else head
        if not self.park:
            again = f"commit it there, or save it aside: aigon cleanup {candidate.feature} {candidate.label} --park"
            if changed:
                return f"it holds work that is in no commit ({_format_paths(changed)}): {again}"
            return f"its HEAD is a commit that is on no branch ({lost[:12]}): {again}" if lost else ""
        if not changed and not lost:
            return ""
        with self._open_workspace() as workspace:
            if changed and (reason := self._save_changes(workspace, changed)):
                return reason
            if lost:
                self._keep(workspace, "head", lost)
        remaining = worktree.list_changed()
        return f"{_format_paths(remaining)} could not be put away" if remaining else ""

    @contextmanager
    def _open_workspace(self) -> Iterator[Workspace]:
        """Open the worktree with aigon's own git, which leaves out secrets."""
        with TemporaryDirectory(prefix="git-cleanup-", dir=self.home) as folder:
            workspace = Workspace(self.worktree, Path(folder), self.worktree.branch or self.candidate.branch)
            workspace.trusted.keep_out(list_exclude_lines())
            yield workspace

    def _keep(self, workspace: Workspace, kind: str, commit: str) -> None:
        workspace.keep(f"feature-{self.candidate.feature}/{self.candidate.label}-{kind}", commit)

    def _save_changes(self, workspace: Workspace, changed: Sequence[str]) -> str:
        """Save aside the work tree, then put it back to its commit."""
        head = self.worktree.head
        if head is None:
            return "its branch has no commit"
        if complaints := workspace.snapshot():
            return fold("; ".join(complaints))
        tracked = set(workspace.list_tracked())
        if omitted := [p for p in changed if os.path.lexists(self.worktree.root / p) and p not in tracked]:
            return f"{_format_paths(omitted)} may hold secrets, which are not saved aside"
        message = f"aigon: saved aside what {self.candidate.branch} had not committed\n"
        self._keep(workspace, "uncommitted", workspace.commit_tree(workspace.tree(), head, message))
        workspace.restore(head)
        return ""

    def _save_ignored(self, paths: Sequence[str]) -> None:
        head = str(self.worktree.head)
        with self._open_workspace() as workspace:
            git, index = workspace.trusted, workspace.trusted.directory / "index.ignored"
            git.run("read-tree", head, index=index)
            stdin = b"".join(os.fsencode(path) + b"\0" for path in paths)
            git.run("update-index", "--add", "-z", "--stdin", stdin=stdin, index=index)
            tree = git.run("write-tree", index=index).decode().strip()
            message = f"aigon: saved aside what git ignored in the worktree of {self.candidate.branch}\n"
            self._keep(workspace, "ignored", workspace.commit_tree(tree, head, message))


def _format_paths(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - MAX_NAMED_FILES} more" if len(paths) > MAX_NAMED_FILES else ""
    return ", ".join(fold(path) for path in paths[:MAX_NAMED_FILES]) + more
