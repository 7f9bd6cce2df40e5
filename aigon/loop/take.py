"""Take the snapshot of an iteration, once every process of the agent is gone.

What is not the agent's to change is put back first, and secrets stay out: files by name, files by content, and commits
of the agent's own.
"""

import os
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path

from aigon.git.rewriting import rewrite_without
from aigon.git.secret_files import LeakPolicy, make_content_check, make_tracked_check, read_staged, unstage
from aigon.git.workspace import Tip
from aigon.job.assessment import Snapshot
from aigon.job.job import Job
from aigon.job.world import TurnNotes, World
from aigon.journal.events import Event, Notice, SavedAside
from aigon.journal.state import State
from aigon.proof import restore
from aigon.proof.frozen import ProtectedFiles
from aigon.proof.watch import Watch
from aigon.secrets.leaks import HOW_TO_ALLOW, Leak, is_secret_name
from aigon.secrets.redaction import collect_findable_values

SCANNED = 2 << 20
"""Bytes of a file that a scanner is given."""
Files = Sequence[tuple[str, bytes]]


def rewrite_without_secrets(job: Job, world: World, old: str, tip: str) -> str:
    """The agent's own commits `old..tip`, written again where they hold secrets; `tip` where they do not."""
    watch = world.find(Watch)
    people = watch.refs.known() if watch else ()
    asked = gather_known(job, world)

    def held_in(files: Files) -> Iterable[tuple[str, bytes]]:
        scanned = {each.path for each in world.scanner.leaks(files, asked)}
        return [(path, data) for path, data in files if path in scanned or asked.leak(path, data)]

    return rewrite_without(world.workspace.trusted, old, tip, held_in, people, world.redact) or tip


def gather_known(job: Job, world: World) -> LeakPolicy:
    """What decides of a suspect: the base, what people allow, and what the person's environment holds."""
    git, base = world.workspace.trusted, job.base_commit
    values = collect_findable_values(world.agent_env)
    return LeakPolicy(
        make_tracked_check(git, base), make_content_check(git, base), job.protection.may_hold_secrets, values
    )


def keep_secrets_out(job: Job, world: World, snapshot: Snapshot) -> Generator[Event, State, None]:
    """Take secrets out of the snapshot, which holds the parent's version of these files afterwards.

    A file that holds nothing but secrets is none of the commit's business; with any other the commit lacks something.
    """
    if snapshot.changes and not snapshot.changes.result():
        return
    found = hold_back(job, world, snapshot.tip.parent)
    for text in world.scanner.take_troubles():
        yield Notice(world.now(), text, "warning")
    if not found:
        return
    snapshot.forget()
    hint = f"take it out; where it is none, {HOW_TO_ALLOW}"
    snapshot.complaints += tuple(f"{each.sentence} ({hint})" for each in found if not is_secret_name(each.path))
    snapshot.notes += tuple(each.sentence for each in found)
    for each in found:
        yield Notice(world.now(), f"{each.sentence} ({hint})", "warning")


def hold_back(job: Job, world: World, parent: str) -> tuple[Leak, ...]:
    """Make the private index hold what the commit `parent` has where the work tree has secrets; what these are."""
    git, asked = world.workspace.trusted, gather_known(job, world)
    scanned: list[tuple[str, bytes]] = []
    found: dict[str, Leak] = {}
    for path, data in read_staged(git, world.workspace.root, parent):
        if leaked := asked.leak(path, data):
            found[path] = leaked
        elif world.scanner.program:
            scanned.append((path, data[:SCANNED]))
    found |= {each.path: each for each in world.scanner.leaks(scanned, asked)}
    if found:
        unstage(git, parent, [*found])
    return tuple(found.values())


def take(job: Job, world: World, state: State) -> Generator[Event, State, Snapshot]:
    """Stage everything; put back what is not the agent's to change, parking what it had made of it."""
    number = state.iteration if state.turn_ended else state.finished
    workspace = world.workspace
    world.meter.mark()
    notes, guarded_files = world.get(TurnNotes).take(), world.get(ProtectedFiles).files
    told = len(notes)
    if not workspace.on_branch():
        yield from _back_on_branch(world, job, number, notes)
    tip = yield from _tip(world, job, state, number, notes)
    complaints = workspace.snapshot()
    own, guarded = _tampered(world), restore.find_touched(workspace.root, guarded_files, job.protection)
    if own or guarded:
        if edited := [path for path in own if not _of_the_last_try(world, state, path)] + guarded:
            yield from _park(world, job, number, tip, edited)
            notes.append(_put_back(own, guarded))
        for path in own:
            workspace.write(path, world.own_files[path])
        restore.restore_files(workspace, guarded, guarded_files, job.protection)
        complaints = workspace.snapshot()
    if len(notes) > told and (watch := world.find(Watch)):
        watch.own_refs_moved()
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
    """HEAD names the branch again; a commit that only a detached HEAD held is saved aside."""
    workspace = world.workspace
    alone = workspace.detached_commit()
    workspace.back_on_branch()
    notes.append(f"HEAD had left the branch {workspace.branch}; it was put back")
    if alone and not workspace.is_ancestor(alone, workspace.tip() or alone):
        ref = workspace.keep(f"feature-{job.feature.name_for_people}/{world.run_id}-{number}-detached", alone)
        yield SavedAside(world.now(), number, ref, alone, "a commit on a detached HEAD")


def _tip(world: World, job: Job, state: State, number: int, notes: list[str]) -> Generator[Event, State, Tip]:
    """Return the branch after the turn; one that left the last iteration commit is saved aside and restored."""
    found = world.workspace.tip()
    if found == state.checkpoint:
        return Tip(found, found)
    if found and world.workspace.is_ancestor(state.checkpoint, found):
        world.get(TurnNotes).commit_messages += world.workspace.messages(state.checkpoint, found, state.regained)
        parent = rewrite_without_secrets(job, world, state.checkpoint, found)
        if parent != found:
            notes.append("your commits were written again without the secrets they held; the files are where they were")
        return Tip(parent, found)
    if found:
        ref = world.workspace.keep(f"feature-{job.feature.name_for_people}/{world.run_id}-{number}-branch", found)
        yield SavedAside(world.now(), number, ref, found, "the branch as the agent had rewritten it")
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
    """Whether aigon wrote it, for an iteration commit that was not published or not even intended yet."""
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
    yield SavedAside(world.now(), number, ref, commit, f"edits to {', '.join(changed)}")
