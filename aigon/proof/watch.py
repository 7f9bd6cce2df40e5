"""Put back what an agent has no business to write: git's hooks, configuration and refs, aigon's records.

Looked at after the agent's turn and again after the checks, which run its code.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct, field

from aigon.files.atomic import write_view
from aigon.git.file_protection import FileProtection, ProtectedPaths
from aigon.git.held_objects import HeldObjects
from aigon.git.locks import GitLocks
from aigon.git.protected_paths import list_global_config, make_opinion, watch_git_paths
from aigon.git.ref_protection import RefProtection
from aigon.git.refs import NOBODY, Rivals
from aigon.git.run_repository import RunRepository
from aigon.git.workspace import Workspace
from aigon.job.world import Attendant
from aigon.model.changes import Concern, hash_change
from aigon.proof.restore import MainsOwn

Park = Callable[[str, str], str]
"""Keeps an object under a ref made of the name given; the ref."""


class Watch(Struct, Attendant):
    """`git` are git's own files, `records` aigon's, `refs` branches and tags, `mains` what people keep in `.aigon/`
    beside a worktree, `locks` those of git; `lost` is what could not be put back. The file `note` says what `git` was,
    while an agent works: if it is there when a run is opened, the last turn was killed, and nobody has looked at what
    it did there.
    """

    git: FileProtection
    records: FileProtection
    refs: RefProtection
    lost: list[Concern] = field(default_factory=list)
    mains: MainsOwn | None = None
    note: Path | None = None
    own: Path = Path()
    locks: GitLocks | None = None
    run: RunRepository | None = None
    """What agents commit to; None if they commit to the person's repository."""
    held: HeldObjects | None = None
    """Git's objects under a second name; None if no agent and no check can delete one."""

    def begin(self) -> tuple[str, ...]:
        """Take everything as it is before any agent runs for right, but what a turn that was killed did to git.

        That is put back; a sentence each.
        """
        deleted = self._hold(believe=not (self.note and self.note.exists()))
        try:
            self.git.recall(self.note.read_bytes() if self.note else b"{}", self.own)
        except (OSError, ValueError, TypeError):
            restored: tuple[str, ...] = ()
        else:
            restored = tuple(each.sentence for each in self.git.put_back())
        self.git.remember()
        self.refs.remember()
        if self.locks:
            self.locks.remember()
        return (*deleted, *restored)

    def before_turn(self) -> None:
        """Take aigon's own records as they are now for right."""
        if self.note:
            write_view(self.note, self.git.render_note().decode())
        self.records.remember()
        self.refs.see_rivals()
        if self.locks:
            self.locks.remember()
        if self.mains:
            self.mains.before_turn()
        self._hold(quick=True)
        if self.run:
            self.run.lend()

    def after_turn(self, park: Park) -> tuple[str, ...]:
        """Put back what the agent changed; a sentence each. Every process of it has to be gone."""
        taken = self.run.take_back(park) if self.run else self._hold()
        stale = self.locks.move_stale() if self.locks else ()
        found = [*self.git.put_back(), *self.records.put_back()]
        if self.note:
            self.note.unlink(missing_ok=True)
        mains = self.mains.after_turn() if self.mains else ()
        if self.run and taken:
            self.refs.remember()
        return (*taken, *stale, *(each.sentence for each in found), *mains, *self._restore_refs(park))

    def after_checks(self, park: Park) -> tuple[str, ...]:
        """The same for what the checks ran, while aigon writes its own records."""
        stale = self.locks.move_stale() if self.locks else ()
        return (*self._hold(), *stale, *(each.sentence for each in self.git.put_back()), *self._restore_refs(park))

    def close(self) -> None:
        if self.run:
            self.run.close()

    def own_refs_moved(self) -> None:
        """aigon itself wrote refs (something was saved aside): they are right as they are now."""
        self.refs.remember()

    def _hold(self, *, believe: bool = False, quick: bool = False) -> tuple[str, ...]:
        return self.held.hold(self.refs.list_known_objects(), believe=believe, quick=quick) if self.held else ()

    def _restore_refs(self, park: Park) -> Iterator[str]:
        for moved in self.refs.put_back(park):
            if moved.done == "failed":
                key = hash_change([moved.ref, moved.before, moved.after])
                self.lost.append(Concern("lost-ref", "review", moved.sentence, (), key, mendable=False))
            yield moved.sentence


def watch(
    workspace: Workspace,
    hooks_path: str,
    home: Path,
    records: tuple[Path, ...],
    journal: Path,
    rivals: Rivals = NOBODY,
) -> Watch:
    """A watch over a checkout; `records` are aigon's files that are written whole, `journal` grows.

    What other loops of the repository write, `rivals` says.
    """
    git, displaced = workspace.trusted, workspace.own / "displaced"
    theirs = list_global_config(os.environ)
    own = ProtectedPaths((home, workspace.root), files=records, growing=(journal,))
    return Watch(
        FileProtection(
            watch_git_paths(git, hooks_path, lambda: ProtectedPaths((), theirs)),
            displaced,
            make_opinion(git, shared=rivals != NOBODY),
        ),
        FileProtection(lambda: own, displaced),
        RefProtection(git, workspace.branch, displaced, rivals),
        own=git.directory,
        locks=GitLocks(git.root, git.git_dir, git.common_dir, displaced),
        held=HeldObjects(git, home / "held"),
    )
