"""Secrets stay out of checkpoints: files by name, files by content, and what an agent committed itself."""

from collections.abc import Generator, Iterable, Sequence

from aigon.git.rewriting import rewrite_without
from aigon.git.secret_files import LeakPolicy, make_content_check, make_tracked_check, read_staged, unstage
from aigon.job.job import Job
from aigon.job.snapshot import Snapshot
from aigon.job.world import World
from aigon.journal.events import Event, Notice
from aigon.journal.state import State
from aigon.secrets.leaks import HOW_TO_ALLOW, Leak, is_secret_name
from aigon.secrets.redaction import collect_findable_values

SCANNED = 2 << 20
"""Bytes of a file that a scanner is given."""
Files = Sequence[tuple[str, bytes]]


def without_secrets(job: Job, world: World, old: str, tip: str) -> str:
    """The agent's own commits `old..tip`, written again where they hold secrets; `tip` where they do not."""
    people = world.watch.refs.known() if world.watch else ()
    asked = known_of(job, world)

    def held_in(files: Files) -> Iterable[tuple[str, bytes]]:
        scanned = {each.path for each in world.scanner.leaks(files, asked)}
        return [(path, data) for path, data in files if path in scanned or asked.leak(path, data)]

    return rewrite_without(world.workspace.trusted, old, tip, held_in, people, world.redact) or tip


def known_of(job: Job, world: World) -> LeakPolicy:
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
    for text in world.scanner.said():
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
    git, asked = world.workspace.trusted, known_of(job, world)
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
