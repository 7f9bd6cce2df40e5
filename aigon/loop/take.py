"""Take a snapshot: once, after every process of the agent is gone, with what is not the agent's to change put back."""

import os
from collections.abc import Generator, Sequence
from pathlib import Path

from aigon.git.workspace import Tip
from aigon.job.job import Job
from aigon.job.snapshot import Snapshot
from aigon.job.world import World
from aigon.journal.events import Event, Notice, Parked
from aigon.journal.state import State
from aigon.loop.leaking import hold_back, without_secrets
from aigon.proof import put_back


def take(job: Job, world: World, state: State) -> Generator[Event, State, Snapshot]:
    """Stage everything; put back what is not the agent's to change, parking what it had made of it."""
    number = state.iteration if state.turn_ended else state.finished
    workspace = world.workspace
    world.meter.mark()
    notes, world.mended = world.mended, []
    told = len(notes)
    if not workspace.on_branch():
        yield from _back_on_branch(world, job, number, notes)
    tip = yield from _tip(world, job, state, number, notes)
    complaints = workspace.snapshot()
    own, guarded = _tampered(world), put_back.touched(workspace.root, world.guarded, job.protection)
    if own or guarded:
        if edited := [path for path in own if not _of_the_last_try(world, state, path)] + guarded:
            yield from _park(world, job, number, tip, edited)
            notes.append(_put_back(own, guarded))
        for path in own:
            workspace.write(path, world.own_files[path])
        put_back.put_back(workspace, guarded, world.guarded, job.protection)
        complaints = workspace.snapshot()
    if world.watch and len(notes) > told:
        world.watch.own_refs_moved()
    for note in notes[told:]:
        yield Notice(world.now(), note, "warning")
    # Nothing but the log waits for the list of changes: git makes it while the checks run.
    changes = world.aside.submit(workspace.changes, state.checkpoint) if state.turn_ended else None
    return Snapshot(number, tip, workspace, job.base_commit, job.own_files, complaints, tuple(notes), changes)


def _put_back(own: Sequence[str], guarded: Sequence[str]) -> str:
    """What the agent is told, and people read in the log."""
    said = [f"your edits to {', '.join(own)} were put back: only aigon writes these"] if own else []
    if guarded:
        listed = ", ".join(guarded[:10]) + (f" and {len(guarded) - 10} more" if len(guarded) > 10 else "")
        said.append(f"your edits to {listed} were put back: they decide what is proven, and are not yours to change")
    return "; ".join(said)


def _back_on_branch(world: World, job: Job, number: int, notes: list[str]) -> Generator[Event, State, None]:
    """HEAD names the branch again; a commit that only a detached HEAD held is parked."""
    workspace = world.workspace
    alone = workspace.detached_commit()
    workspace.back_on_branch()
    notes.append(f"HEAD had left the branch {workspace.branch}; it was put back")
    if alone and not workspace.is_ancestor(alone, workspace.tip() or alone):
        ref = workspace.keep(f"feature-{job.feature.name_for_people}/{world.run_id}-{number}-detached", alone)
        yield Parked(world.now(), number, ref, alone, "a commit on a detached HEAD")


def _tip(world: World, job: Job, state: State, number: int, notes: list[str]) -> Generator[Event, State, Tip]:
    """The branch after the turn; one that no longer descends from the last checkpoint is parked and put back."""
    found = world.workspace.tip()
    if found == state.checkpoint:
        return Tip(found, found)
    if found and world.workspace.is_ancestor(state.checkpoint, found):
        world.messages += world.workspace.messages(state.checkpoint, found, state.regained)
        parent = without_secrets(job, world, state.checkpoint, found)
        if parent != found:
            notes.append("your commits were written again without the secrets they held; the files are where they were")
        return Tip(parent, found)
    if found:
        ref = world.workspace.keep(f"feature-{job.feature.name_for_people}/{world.run_id}-{number}-branch", found)
        yield Parked(world.now(), number, ref, found, "the branch as the agent had rewritten it")
    notes.append(f"the branch had been rewritten; continuing from {state.checkpoint[:12]}")
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
    """Whether aigon wrote it itself, for a checkpoint that could not be published or was not even intended yet."""
    there = _bytes(world.workspace.root / path)
    if there is None:
        return False
    if world.workspace.wrote(path, there):
        return True
    intended = state.intended and world.workspace.file_at(state.intended.commit, path, world.workspace.root)
    return there == intended


def _park(world: World, job: Job, number: int, tip: Tip, changed: list[str]) -> Generator[Event, State, None]:
    workspace = world.workspace
    hold_back(job, world, tip.parent)
    message = f"aigon: parked edits to {', '.join(changed)} (iteration {number})\n"
    commit = workspace.commit_tree(workspace.tree(), tip.parent, message)
    ref = workspace.keep(f"feature-{job.feature.name_for_people}/{world.run_id}-{number}-own-files", commit)
    yield Parked(world.now(), number, ref, commit, f"edits to {', '.join(changed)}")
