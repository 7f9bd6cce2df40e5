"""Take the snapshot of an iteration, once every process of the agent is gone.

What is not the agent's to change is put back first, and secrets stay out: files by name, files by content, and commits
of the agent's own.
"""

import os
import stat
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from pathlib import Path

from aigon.checks.execution import prepare_check
from aigon.git.commits import Commit, list_commits, write_commit_again
from aigon.git.file_state import read_mark
from aigon.git.objects import TreeEntry, can_read, list_entries, read_beginnings, read_objects, write_tree_with
from aigon.git.secret_files import LARGEST, LeakPolicy, make_content_check, make_tracked_check, read_staged, unstage
from aigon.git.trusted import TrustedGit
from aigon.git.workspace import Tip
from aigon.job.assessment import Snapshot
from aigon.job.job import Job
from aigon.job.world import TurnNotes, World
from aigon.journal.events import Event, Notice, SavedAside
from aigon.journal.state import State
from aigon.model.changes import PutBack
from aigon.proof import restore
from aigon.proof.criteria import list_commands
from aigon.proof.frozen import ProtectedFiles
from aigon.proof.restore import Watch
from aigon.secrets.leaks import HOW_TO_ALLOW, Leak, is_secret_name
from aigon.secrets.redaction import collect_findable_values

MAX_SCANNED_BYTES = 2 << 20
"""Bytes of a file that a scanner is given."""
Blocked = Callable[[Sequence[tuple[str, bytes]]], Iterable[tuple[str, bytes]]]
"""Which of these files, by path and content, must not be in a commit."""
Redact = Callable[[bytes], bytes]
_Overlay = dict[str, TreeEntry | None]
"""Where the tree of a rewritten commit differs from the old one: path -> entry, None for no file."""


def take(job: Job, world: World, state: State) -> Generator[Event, State, Snapshot]:
    """Stage everything; put back what is not the agent's to change, and save aside what it had made of it."""
    number = state.iteration if state.turn_ended else state.finished
    workspace, root = world.workspace, world.workspace.root
    world.meter.mark()
    notes, protected = world.get(TurnNotes).take(), world.get(ProtectedFiles).files
    known = len(notes)
    if not workspace.on_branch():
        yield from _return_to_branch(job, world, number)
        notes.append(f"HEAD had left the branch {workspace.branch}; it was put back")
    tip = yield from _find_tip(job, world, state, number, notes)
    # A sandbox takes longer than git, and what it shows is not an agent's any more.
    complaints = workspace.snapshot(lambda: prepare_check(world, list_commands(job.required)))
    own = [path for path, content in world.own_files.items() if not _is_unchanged(root / path, content)]
    touched = restore.find_touched(root, protected, job.protection)
    others: Mapping[str, bytes | None] = {}
    if state.turn_ended:
        others = restore.find_other_features(workspace, state.checkpoint, world.own_files, job.protection)
        if job.scope:
            others = restore.find_outside(workspace, state.checkpoint, world.own_files, job.scope)
    if own or touched or others:
        aigons = {path for path in (*own, *others) if _is_of_last_try(world, state, path)}
        if edited := [path for path in (*own, *touched, *others) if path not in aigons]:
            keep_secrets_unstaged(job, world, tip.parent)
            message = f"aigon: parked edits to {', '.join(edited)} (iteration {number})\n"
            commit = workspace.commit_tree(workspace.tree(), tip.parent, message)
            yield _save_aside(job, world, number, "own-files", commit, f"edits to {', '.join(edited)}")
            notes.append(_describe_restored(own, touched, tuple(others), job.scope))
        for path, content in {**others, **{path: world.own_files[path] for path in own}}.items():
            workspace.write(path, content)
        restore.restore_files(workspace, touched, protected, job.protection)
        complaints = workspace.snapshot()
    if len(notes) > known and (watch := world.find(Watch)):
        watch.own_refs_moved()
    for note in notes[known:]:
        yield Notice(world.now(), note, "warning")
    # Nothing but the log waits for the list of changes: git makes it while the checks run.
    changes = world.aside.submit(workspace.changes, state.checkpoint) if state.turn_ended else None
    put_back = tuple(PutBack(path, job.protection.asks_for((path,))) for path in touched)
    return Snapshot(number, tip, workspace, job.base_commit, job.own_files, complaints, tuple(notes), changes, put_back)


def _save_aside(job: Job, world: World, number: int, name: str, commit: str, what: str) -> SavedAside:
    ref = world.workspace.keep(f"feature-{job.feature.name_for_people}/{world.run_id}-{number}-{name}", commit)
    return SavedAside(world.now(), number, ref, commit, what)


def _describe_restored(own: Sequence[str], touched: Sequence[str], others: Sequence[str], scope: str) -> str:
    """Return what the agent is told, and people read in the log."""
    whose = f"only files in {scope}/ are yours to change" if scope else "they belong to other features"
    rows = (
        (own, len(own), "only aigon writes these"),
        (touched, 10, "they decide what is proven, and are not yours to change"),
        (others, 2, whose),
    )
    return "; ".join(
        f"your edits to {_list_some(paths, most)} were put back: {why}" for paths, most, why in rows if paths
    )


def _list_some(paths: Sequence[str], most: int) -> str:
    return ", ".join(paths[:most]) + (f" and {len(paths) - most} more" if len(paths) > most else "")


def _return_to_branch(job: Job, world: World, number: int) -> Generator[Event, State, None]:
    """Let HEAD name the branch again, and save aside a commit that only a detached HEAD held."""
    workspace = world.workspace
    detached = workspace.detached_commit()
    workspace.back_on_branch()
    if detached and not workspace.is_ancestor(detached, workspace.tip() or detached):
        yield _save_aside(job, world, number, "detached", detached, "a commit on a detached HEAD")


def _find_tip(job: Job, world: World, state: State, number: int, notes: list[str]) -> Generator[Event, State, Tip]:
    """Return the branch after the turn. One that left the last iteration commit is saved aside and restored."""
    found = world.workspace.tip()
    if found == state.checkpoint:
        return Tip(found, found)
    if found and world.workspace.is_ancestor(state.checkpoint, found):
        world.get(TurnNotes).commit_messages += world.workspace.messages(state.checkpoint, found, state.regained)
        parent = rewrite_without_secrets(job, world, state.checkpoint, found)
        if parent != found:
            notes.append("your commits were written again without the secrets they held; the files are where they were")
        return Tip(parent, found)
    if found and can_read(world.workspace.trusted, found):
        yield _save_aside(job, world, number, "branch", found, "the branch as the agent had rewritten it")
    notes.append(f"the branch had been rewritten; continuing from {state.checkpoint[:12]}")
    return Tip(state.checkpoint, found or "0" * len(state.checkpoint))


def _is_unchanged(path: Path, content: bytes | None) -> bool:
    """Return whether the file has this content, or is absent for None; one behind a link does not count."""
    if content is None:
        return not os.path.lexists(path)
    folder = os.fspath(path.parent)
    return _read_plain(path) == content and os.path.realpath(folder) == folder


def _read_plain(path: Path) -> bytes | None:
    if not stat.S_ISREG(read_mark(os.fspath(path))[0]):
        return None
    with open(path, "rb") as file:  # noqa: PTH123 - on the hot path
        return file.read()


def _is_of_last_try(world: World, state: State, path: str) -> bool:
    """Return whether aigon wrote it for an iteration commit that was not published, or not even intended yet."""
    there = _read_plain(world.workspace.root / path)
    if there is None:
        return False
    if world.workspace.wrote(path, there):
        return True
    intended = state.intended and world.workspace.file_at(state.intended.commit, path, world.workspace.root)
    return there == intended


def make_leak_policy(job: Job, world: World) -> LeakPolicy:
    """Return what decides on a suspect: the base, what people allow, and what the person's environment holds."""
    git, base = world.workspace.trusted, job.base_commit
    values = collect_findable_values(world.agent_env)
    return LeakPolicy(
        make_tracked_check(git, base), make_content_check(git, base), job.protection.may_hold_secrets, values
    )


def rewrite_without_secrets(job: Job, world: World, old: str, tip: str) -> str:
    """Rewrite the agent's own commits `old..tip` if they hold secrets, and return the new tip; `tip` if they do not."""
    watch, policy = world.find(Watch), make_leak_policy(job, world)

    def select_leaking(files: Sequence[tuple[str, bytes]]) -> Iterable[tuple[str, bytes]]:
        scanned = {leak.path for leak in world.scanner.leaks(files, policy)}
        return [(path, data) for path, data in files if path in scanned or policy.leak(path, data)]

    people = watch.refs.list_known_objects() if watch else ()
    return rewrite_without(world.workspace.trusted, old, tip, select_leaking, people, world.redact) or tip


def keep_secrets_out(job: Job, world: World, snapshot: Snapshot) -> Generator[Event, State, None]:
    """Take secrets out of the snapshot, which holds the parent's version of these files afterwards.

    A file that holds nothing but secrets does not belong in a commit; without any other file the commit is incomplete.
    """
    if snapshot.changes and not snapshot.changes.result():
        return
    leaks = keep_secrets_unstaged(job, world, snapshot.tip.parent)
    for text in world.scanner.take_troubles():
        yield Notice(world.now(), text, "warning")
    if not leaks:
        return
    snapshot.forget()
    hint = f"take it out; if it is not a secret, {HOW_TO_ALLOW}"
    snapshot.complaints += tuple(f"{leak.sentence} ({hint})" for leak in leaks if not is_secret_name(leak.path))
    snapshot.notes += tuple(leak.sentence for leak in leaks)
    for leak in leaks:
        yield Notice(world.now(), f"{leak.sentence} ({hint})", "warning")


def keep_secrets_unstaged(job: Job, world: World, parent: str) -> tuple[Leak, ...]:
    """Let the private index hold what the commit `parent` has where the work tree has secrets, and return these."""
    git, policy = world.workspace.trusted, make_leak_policy(job, world)
    scanned: list[tuple[str, bytes]] = []
    found: dict[str, Leak] = {}
    for path, data in read_staged(git, world.workspace.root, world.workspace.raw_changes(parent)):
        if leak := policy.leak(path, data):
            found[path] = leak
        elif world.scanner.program:
            scanned.append((path, data[:MAX_SCANNED_BYTES]))
    found |= {leak.path: leak for leak in world.scanner.leaks(scanned, policy)}
    if found:
        unstage(git, parent, [*found])
    return tuple(found.values())


def rewrite_without(
    git: TrustedGit,
    old: str,
    tip: str,
    blocked: Blocked,
    known: Sequence[str] = (),
    redact: Redact = lambda text: text,
) -> str | None:
    """Rewrite `old..tip` without blocked files and with redacted messages; return the new tip, None for the old one.

    A blocked file that existed before a commit keeps its earlier content; commits that become empty stay. Commits that
    one of `known` contains (branches of people) stay as they are. The old commits stay in git's reflogs; no ref moves.
    Raises AigonError (exit 7) if git cannot write.
    """
    chain = list_commits(git, tip, (old, *known))
    secret = _list_blocked(git, chain, blocked)
    raw = dict(read_objects(git, [commit.name for commit in chain]))
    messages = {name: clean for name, data in raw.items() if (clean := _redact_commit(data, redact)) != data}
    if not secret and not messages:
        return None
    new_names: dict[str, str] = {}
    overlays: dict[str, _Overlay] = {}
    for commit in chain:  # parents first
        overlays[commit.name] = overlay = _find_overlay(git, commit, secret, overlays)
        if overlay or commit.name in messages or any(parent in new_names for parent in commit.parents):
            changes = {path: (entry.mode, entry.sha) if entry else None for path, entry in overlay.items()}
            tree = write_tree_with(git, commit.name, changes) if overlay else None
            data = messages.get(commit.name, raw[commit.name])
            new_names[commit.name] = write_commit_again(git, data, tree, new_names)
    return new_names.get(tip)


def _redact_commit(raw: bytes, redact: Redact) -> bytes:
    """Redact the message of a commit, and the names of its people: an agent can call itself what it likes."""
    head, gap, message = raw.partition(b"\n\n")
    lines = [redact(line) if line.startswith((b"author ", b"committer ")) else line for line in head.split(b"\n")]
    return b"\n".join(lines) + gap + redact(message)


def _list_blocked(git: TrustedGit, chain: Sequence[Commit], blocked: Blocked) -> set[tuple[str, TreeEntry]]:
    """Return paths and entries that some commit brought in and that are blocked, and look at each once."""
    paths: dict[str, set[tuple[str, TreeEntry]]] = {}
    for commit in chain:
        for path, entry in commit.brought.items():
            if entry.is_file:
                paths.setdefault(entry.sha, set()).add((path, entry))
    secret: set[tuple[str, TreeEntry]] = set()
    batch: list[tuple[tuple[str, bytes], TreeEntry]] = []
    for name, data in read_beginnings(git, paths, LARGEST):
        batch += [((path, data), entry) for path, entry in paths[name]]
        if sum(len(data) for (_, data), _ in batch) > LARGEST:
            secret |= _select_blocked(batch, blocked)
            batch = []
    return secret | _select_blocked(batch, blocked)


def _select_blocked(
    batch: Sequence[tuple[tuple[str, bytes], TreeEntry]], blocked: Blocked
) -> set[tuple[str, TreeEntry]]:
    # Contents may be large: they are compared by identity.
    held = {(path, id(data)) for path, data in blocked([file for file, _ in batch])} if batch else set()
    return {(path, entry) for (path, data), entry in batch if (path, id(data)) in held}


def _find_overlay(
    git: TrustedGit, commit: Commit, blocked: set[tuple[str, TreeEntry]], overlays: Mapping[str, _Overlay]
) -> _Overlay:
    brought = [path for path, entry in commit.brought.items() if (path, entry) in blocked]
    inherited = {path for parent in commit.parents for path in overlays.get(parent, {})}
    paths = sorted({*brought, *inherited})
    if not paths:
        return {}
    here = list_entries(git, commit.name, paths)
    before = [(list_entries(git, parent, paths), overlays.get(parent, {})) for parent in commit.parents]
    overlay: _Overlay = {}
    for path, entry in here.items():
        now = [changed.get(path, theirs.get(path)) for theirs, changed in before]
        had = [theirs.get(path) == entry for theirs, _ in before]
        if entry in now or (not any(had) and (path, entry) not in blocked):
            continue  # a parent still has it, or it is new and not blocked
        from_parents = [new for new, same in zip(now, had, strict=True) if same]
        overlay[path] = (from_parents or now or [None])[0]
    return {path: entry for path, entry in overlay.items() if entry != here[path]}
