"""The work tree at one moment: taken once, after every process of the agent is gone."""

import os
from collections.abc import Generator
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

from aigon.core.events import Event, Notice, Parked
from aigon.core.model import Change
from aigon.core.state import State
from aigon.ports.workspace import Content, Tip, Workspace
from aigon.run.job import Job
from aigon.run.world import World


@dataclass(slots=True)
class Snapshot:
    """What aigon's private index holds. `complaints` are git's, about paths it could not take; `notes` go to the agent.

    `number` is the iteration it belongs to, 0 for the base.
    """

    number: int
    tip: Tip
    workspace: Workspace
    base: str
    own_files: frozenset[str]
    complaints: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    changes: Future[tuple[Change, ...]] | None = None
    _content: Content | None = field(default=None)

    def settle(self) -> None:
        """Wait until nothing of aigon's own is running for this snapshot: a sweep would take it for a survivor."""
        if self.changes:
            self.changes.result()

    def content(self) -> Content:
        """What it holds beyond the base, asked of git once and only when something wants to know."""
        if self._content is None:
            self._content = self.workspace.content(self.base, self.own_files)
        return self._content


def take(job: Job, world: World, state: State) -> Generator[Event, State, Snapshot]:
    """Stage everything; put back what is not the agent's to change, parking what it had made of it."""
    number = state.iteration if state.turn_ended else state.finished
    workspace = world.workspace
    notes: list[str] = []
    if not workspace.on_branch():
        yield from _back_on_branch(world, job, number, notes)
    tip = yield from _tip(world, job, state, number, notes)
    complaints = workspace.snapshot()
    if changed := _tampered(world):
        if edited := [path for path in changed if not _of_the_last_try(world, state, path)]:
            yield from _park(world, job, number, tip, edited)
            notes.append(f"your edits to {', '.join(edited)} were put back: only aigon writes these")
        for path in changed:
            workspace.write(path, world.own_files[path])
        complaints = workspace.snapshot()
    for note in notes:
        yield Notice(world.now(), note, "warning")
    # Nothing but the log waits for the list of changes: git makes it while the checks run.
    changes = world.aside.submit(workspace.changes, state.checkpoint) if state.turn_ended else None
    return Snapshot(number, tip, workspace, job.base_commit, job.own_files, complaints, tuple(notes), changes)


def _back_on_branch(world: World, job: Job, number: int, notes: list[str]) -> Generator[Event, State, None]:
    """HEAD names the branch again; a commit that only a detached HEAD held is parked."""
    workspace = world.workspace
    alone = workspace.detached_commit()
    workspace.back_on_branch()
    notes.append(f"HEAD had left the branch {workspace.branch}; it was put back")
    if alone and not workspace.is_ancestor(alone, workspace.tip() or alone):
        ref = workspace.keep(f"feature-{job.feature.id}/{world.run_id}-{number}-detached", alone)
        yield Parked(world.now(), number, ref, alone, "a commit on a detached HEAD")


def _tip(world: World, job: Job, state: State, number: int, notes: list[str]) -> Generator[Event, State, Tip]:
    """The branch after the turn; one that no longer descends from the last checkpoint is parked and put back."""
    found = world.workspace.tip()
    if found == state.checkpoint or (found and world.workspace.is_ancestor(state.checkpoint, found)):
        return Tip(found, found)
    if found:
        ref = world.workspace.keep(f"feature-{job.feature.id}/{world.run_id}-{number}-branch", found)
        yield Parked(world.now(), number, ref, found, "the branch as the agent had rewritten it")
    notes.append(f"the branch had been rewritten; it goes on from {state.checkpoint[:12]}")
    return Tip(state.checkpoint, found or "0" * len(state.checkpoint))


def _tampered(world: World) -> list[str]:
    """aigon's own files that are not as aigon left them."""
    root = world.workspace.root
    return [path for path, wanted in world.own_files.items() if not _as_left(root / path, wanted)]


def _as_left(path: Path, wanted: bytes | None) -> bool:
    """Whether these bytes stand there, or nothing at all; what is reached through a link does not count."""
    if wanted is None:
        return not os.path.lexists(path)
    return _bytes(path) == wanted and path.parent.resolve() == path.parent


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() and not path.is_symlink() else None


def _of_the_last_try(world: World, state: State, path: str) -> bool:
    """Whether aigon wrote it itself, for a checkpoint that was intended and then could not be published."""
    there = _bytes(world.workspace.root / path)
    if state.intended is None or there is None:
        return False
    return there == world.workspace.file_at(state.intended.commit, path, world.workspace.root)


def _park(world: World, job: Job, number: int, tip: Tip, changed: list[str]) -> Generator[Event, State, None]:
    workspace = world.workspace
    message = f"aigon: parked edits to {', '.join(changed)} (iteration {number})\n"
    commit = workspace.commit_tree(workspace.tree(), tip.parent, message)
    ref = workspace.keep(f"feature-{job.feature.id}/{world.run_id}-{number}-own-files", commit)
    yield Parked(world.now(), number, ref, commit, f"edits to {', '.join(changed)}")
