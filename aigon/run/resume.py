"""Continue a run where it stopped.

The journal says what was intended, the ref whether it happened. What was published counts, what was interrupted is
saved aside, people's commits are kept.
"""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from aigon.config.loading import ReadFile, open_work_tree
from aigon.errors import AigonError, Exit
from aigon.git.locks import GitLocks
from aigon.git.person import Checkout
from aigon.git.workspace import Workspace
from aigon.job import branch
from aigon.job.world import World
from aigon.journal.events import Event, IterationFinished, Notice, RunStarted, SavedAside
from aigon.journal.records import Origin, Records
from aigon.journal.sinks import JournalSink
from aigon.journal.state import State
from aigon.loop.roll_back import finish_going_back, restore_work_tree, undo_to
from aigon.model.criteria import Spec
from aigon.proof.frozen import load
from aigon.run.choices import continue_choices, hash_spec
from aigon.run.opening import OpenedRun, Opening, list_earlier_attempts
from aigon.run.prepare import prepare_ready
from aigon.run.run_world import require_branch, require_whole
from aigon.spec import files as specs
from aigon.spec.features import Feature


def resume_run(opening: Opening, records: Records, past: list[Event], state: State) -> OpenedRun:
    """Bring branch, index and files to where the run can continue. Raises AigonError (exit 4 or 7) if it cannot."""
    before, started, options = state, state.started, opening.options
    assert started is not None, "a journal begins with its run_started"
    workspace, events = _enter_branch(opening, records, state, started)
    if state.intended and (finished := find_published(workspace, state)):
        events.append(finished)
        state = state.apply(finished)
    events += finish_going_back(workspace, state, started.feature_id)
    back = options.resume_from
    if back == "best" or (back == "last-iteration" and not state.half_turn):  # a half turn is repeated anyway
        before = state = _undo_to(opening, records, workspace, past, state, events)
        events = [event for event in events if not isinstance(event, IterationFinished)]  # these are written down
        events += finish_going_back(workspace, state, started.feature_id)
    tip = str(workspace.tip())
    if tip != state.checkpoint:
        text = f"commits since the last iteration commit are kept; continuing from {tip[:12]}"
        events.append(Notice(World.now(), text))
    feature, spec, edited = _take_up_spec(opening, workspace, state, tip)
    wanted = opening.options.half_turn
    question = f"Iteration {state.iteration} was interrupted. Keep its unfinished work in the work tree?"
    keep = state.half_turn and (wanted == "keep" or (wanted == "ask" and opening.confirm(question)))
    if state.half_turn:
        events += undo_half_turn(workspace, feature, state, tip, World.now(), keep=keep)
        workspace.write(feature.path, spec.raw)
    unjudged = keep or state.turn_ended
    head = _commit_own_changes(opening, workspace, feature, state, edited=edited, unjudged=unjudged) or tip
    suspect = unjudged or state.half_turn or state.unseen
    read = open_work_tree(workspace.root)
    if suspect:
        read = _open_recorded_files(workspace, records, state.checkpoint, {feature.path: spec.raw})
    options, notes, warnings = continue_choices(options, started, opening.seat.main, read)
    prepared = prepare_ready(opening.checkout, options, feature, read, main=opening.seat.main)
    prepared = replace(prepared, notes=(*notes, *prepared.notes), warnings=(*warnings, *prepared.warnings))
    return OpenedRun(
        prepared.options,
        prepared,
        records,
        workspace,
        head,
        records.origin() or Origin("", started.base_commit),
        past,
        before,
        tuple(events),
        since="" if suspect else state.checkpoint,
        unjudged=unjudged,
        suspect=state.checkpoint if suspect and tip != state.checkpoint else "",
        before=state.earlier,
        earlier=list_earlier_attempts(records, started.base_commit),
    )


def _enter_branch(
    opening: Opening, records: Records, state: State, started: RunStarted
) -> tuple[Workspace, list[Event]]:
    """Return the work tree on the run's branch, and what was in the way.

    Raises AigonError (exit 7) unless the branch is as the run left it, or further on.
    """
    checkout, name = opening.checkout, started.branch
    require_branch(checkout, state)
    require_whole(checkout, state)
    events = _move_stale_locks(checkout, records)
    if opening.current != name:
        branch.list_own_changes(checkout, [started.spec_path])
        branch.enter_branch(checkout, name)
    # A lock on the checkout's index that holds aigon's private index, whole, is what a killed aigon left.
    lock, index = checkout.git_dir / "index.lock", opening.own_git / "index"
    if lock.exists() and index.exists() and lock.read_bytes() == index.read_bytes():
        lock.unlink()
    workspace = opening.open_workspace(name)
    if state.intended:
        workspace.ref.remove_own_lock(state.intended.commit)
    return workspace, events


def _move_stale_locks(checkout: Checkout, records: Records) -> list[Event]:
    """Move aside the locks that git commands left in a turn that was killed with aigon.

    Such a lock is younger than the note that aigon wrote right before that turn, and no process holds it.
    """
    try:
        since = records.before_turn.stat().st_mtime_ns
    except FileNotFoundError:
        return []
    locks = GitLocks(checkout.root, checkout.git_dir, checkout.common_dir, checkout.git_dir / "aigon" / "displaced")
    return [Notice(World.now(), text, "warning") for text in locks.move_stale(since)]


def find_published(workspace: Workspace, state: State) -> IterationFinished | None:
    """Return the iteration that was committed just before the run was interrupted, if there is one.

    The commit is found by the ref's value, never by a lock; the checkout's index is made to agree with it.
    """
    intended, tip = state.intended, workspace.tip()
    if intended is None or tip is None or not workspace.is_ancestor(intended.commit, tip):
        return None
    if tip == intended.commit and workspace.trusted.attempt("diff-index", "--cached", "--quiet", tip)[0]:
        workspace.trusted.run("read-tree", "--reset", tip)
        workspace.trusted.attempt("update-index", "-q", "--refresh")
        workspace.hand_over_index()
    return intended.finished


def _undo_to(
    opening: Opening, records: Records, workspace: Workspace, past: list[Event], state: State, events: Sequence[Event]
) -> State:
    """Write down where the branch goes back to, before it does. Facts among `events` are written before that.

    Raises AigonError (exit 2 or 7): nothing to go back from, or a person's changes would be saved aside too.
    """
    started = state.started
    assert started is not None, "a journal begins with its run_started"
    if not state.turn_ended and not state.half_turn:
        branch.list_own_changes(opening.checkout, [started.spec_path], _list_left_by_checks(state))
    known = [event for event in events if isinstance(event, IterationFinished)]
    journal = JournalSink(records.journal)
    for event in (*known, *undo_to(workspace, state, started.feature_id, opening.options.resume_from)):
        journal(event, state)
        state = state if event in known else state.apply(event)
        past.append(event)
    journal.close()
    return state


def _take_up_spec(opening: Opening, workspace: Workspace, state: State, tip: str) -> tuple[Feature, Spec, bool]:
    """Return the feature by where its spec is now, the spec, and whether a person edited it since.

    Raises AigonError (exit 4) unless an edited one is accepted.
    """
    started = state.started
    assert started is not None, "a journal begins with its run_started"
    feature = specs.feature_for_path(started.spec_path)
    if workspace.file_at(tip, feature.path, workspace.root) is None:  # a person moved it
        feature = specs.locate_feature(workspace.root, opening.options.feature)
    spec = read_spec(workspace, feature.path, state, tip)
    edited = hash_spec(spec) != started.spec_sha
    if edited:
        before = (opening.checkout.ask("show", f"{state.checkpoint}:{started.spec_path}") or "").encode()
        _accept_spec(before, spec, feature.path, opening)
    return feature, spec, edited


def read_spec(workspace: Workspace, path: str, state: State, tip: str) -> Spec:
    """Return the spec as people left it: the work tree's, unless an agent's turn may have been the last to write there.

    A run that ended by itself has restored the spec; one that was killed has not. Raises AigonError (exit 2) for a spec
    without criteria.
    """
    killed = state.outcome is None and state.iteration > state.finished
    files = open_work_tree(workspace.root)
    raw = workspace.file_at(tip, path, workspace.root) if killed else None
    return specs.parse_runnable_spec(raw if raw is not None else files(path) or b"", path)


def _accept_spec(before: bytes, spec: Spec, path: str, opening: Opening) -> None:
    """Show what a person changed in the spec since the run stopped. Raises AigonError (exit 4) unless accepted."""
    import difflib  # hardly ever

    old, new = (text.decode(errors="replace").splitlines() for text in (before, spec.raw))
    diff = "\n".join(difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", lineterm=""))
    question = f"{diff}\n\nThe spec changed since the run stopped. Continue with the new one?"
    if not (opening.options.accept_spec or opening.confirm(question)):
        raise AigonError(
            "The spec changed since the run stopped",
            where=path,
            hint=f"Run again with --accept-spec to take it as it is now:\n{diff}",
            code=Exit.NEEDS_HUMAN,
        )


def undo_half_turn(
    workspace: Workspace, feature: Feature, state: State, tip: str, now: str, *, keep: bool
) -> list[Event]:
    """Save aside what an interrupted turn left; restore the work tree to `tip` unless `keep`. Return the events."""
    assert state.started is not None
    number = state.iteration
    workspace.snapshot()
    if not workspace.changes(tip):
        return restore_work_tree(workspace, tip, now) if not keep and workspace.obstacles(tip) else []
    what = f"what iteration {number} had begun"
    commit = workspace.commit_tree(workspace.tree(), tip, f"aigon: parked {what}\n")
    ref = workspace.keep(f"feature-{feature.name_for_people}/{state.started.run_id}-{number}-begun", commit)
    saved = SavedAside(now, number, ref, commit, what)
    if keep:
        return [saved, Notice(now, f"the half-finished work of iteration {number} stays in the work tree")]
    return [
        saved,
        *restore_work_tree(workspace, tip, now),
        Notice(now, f"iteration {number} was interrupted: its work is saved aside as {ref}, and the turn runs again"),
    ]


def _list_left_by_checks(state: State) -> tuple[str, ...]:
    """Return what the git check of the last assessment named as written by the checks, not by a person or agent."""
    findings = state.last.findings if state.last else ()
    return tuple(p.file for f in findings if f.role == "git" for p in f.problems if p.severity == "warning")


def _commit_own_changes(
    opening: Opening, workspace: Workspace, feature: Feature, state: State, *, edited: bool, unjudged: bool
) -> str | None:
    """Commit an edited spec and aigon's own changes; work that is to be assessed waits."""
    spec, left = feature.path, _list_left_by_checks(state)
    if unjudged:
        own = [spec] if edited else []
    else:
        own = branch.list_own_changes(opening.checkout, [spec], left)
    commit = branch.commit_own_paths(workspace.trusted, feature, own)
    workspace.take_over_index()
    workspace.note_left(left)
    return commit


def _open_recorded_files(
    workspace: Workspace, records: Records, commit: str, accepted: Mapping[str, bytes]
) -> ReadFile:
    """Return a reader of the files as recorded or committed: what an agent changed since its turn began is no rule."""
    known = load(records.frozen)
    fixed = {path: each.data for path, each in (known.guarded if known else {}).items() if each.whole}
    fixed |= accepted

    def read(path: str) -> bytes | None:
        return fixed[path] if path in fixed else workspace.file_at(commit, path, workspace.root)

    return read
