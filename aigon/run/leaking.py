"""Secrets stay out of checkpoints: files by name, files by content, and what an agent committed itself."""

from collections.abc import Generator

from aigon.core.events import Event, Notice
from aigon.core.leaks import blocked, leak
from aigon.core.state import State
from aigon.ports.leaks import holds, keep_out, leaks, tracked_in
from aigon.ports.rewrite import without
from aigon.run.job import Job
from aigon.run.snapshot import Snapshot
from aigon.run.world import World


def without_secrets(job: Job, world: World, old: str, tip: str) -> str:
    """The agent's own commits `old..tip`, written again where they hold secrets; `tip` where they do not."""
    git, known = world.workspace.trusted, world.watch.refs.known() if world.watch else ()
    tracked, held = tracked_in(git, job.base_commit), holds(git, job.base_commit)

    def blocked(path: str, data: bytes) -> bool:
        if leak(path, data) is None or job.protection.allowed(path):
            return False
        return leak(path, data, tracked=tracked(path), known=held) is not None

    return without(git, old, tip, blocked, known) or tip


def keep_secrets_out(job: Job, world: World, snapshot: Snapshot) -> Generator[Event, State, None]:
    """Take secrets out of the snapshot, which holds the parent's version of these files afterwards.

    A file that holds nothing but secrets is none of the commit's business; with any other the commit lacks something.
    """
    paths = [change.path for change in snapshot.changes.result()] if snapshot.changes else []
    git, base = world.workspace.trusted, job.base_commit
    found = leaks(world.workspace.root, paths, tracked_in(git, base), holds(git, base), job.protection.allowed)
    if not found:
        return
    keep_out(git, snapshot.tip.parent, [each.path for each in found])
    snapshot.forget()
    hint = "take it out; where it is none, the spec can `allow` the path"
    snapshot.complaints += tuple(f"{each.sentence} ({hint})" for each in found if not blocked(each.path))
    snapshot.notes += tuple(each.sentence for each in found)
    for each in found:
        yield Notice(world.now(), each.sentence, "warning")
