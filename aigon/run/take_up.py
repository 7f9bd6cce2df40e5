"""An old run goes on: what was published is counted, what was broken off is parked, people's commits are kept."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from aigon.config.loading import ReadFile, open_work_tree
from aigon.git.workspace import Workspace
from aigon.job import branch
from aigon.job.world import World
from aigon.journal.events import Event, IterationFinished, Notice, RunStarted
from aigon.journal.past import Past
from aigon.journal.records import Origin, Records
from aigon.journal.sink import JournalSink
from aigon.journal.state import State
from aigon.model.criteria import Spec
from aigon.proof.frozen import load
from aigon.run import recover
from aigon.run.choices import continue_choices
from aigon.run.earlier_attempts import earlier_attempts
from aigon.run.lost_objects import require_whole
from aigon.run.opening import Opened, Opening
from aigon.run.prepare import ready
from aigon.run.rolling_back import caught_up, undo_to
from aigon.spec import files as specs
from aigon.spec.features import Feature


def take_up(opening: Opening, records: Records, past: Past) -> Opened:
    """Bring branch, index and files to where the run can go on. Raises AigonError (exit 4 or 7) where it cannot."""
    state = past.state
    started = state.started
    assert started is not None, "a journal begins with its run_started"
    workspace, events = _workspace(opening, records, state, started)
    if state.intended and (finished := recover.published(workspace, state)):
        events.append(finished)
        state = state.apply(finished)
    events += caught_up(workspace, state, started.feature_id)
    back = opening.options.resume_from
    if back == "best" or (back == "last-iteration" and not state.half_turn):  # a half turn is repeated anyway
        past = _undo_to(opening, records, workspace, replace(past, state=state), events)
        state = past.state
        events = [event for event in events if not isinstance(event, IterationFinished)]  # these are written down
        events += caught_up(workspace, state, started.feature_id)
    tip = str(workspace.tip())
    if tip != state.checkpoint:
        events.append(Notice(World.now(), f"commits since the last checkpoint are kept; continuing from {tip[:12]}"))
    feature = _feature(opening, workspace, started.spec_path, tip)
    spec, edited = _spec(opening, workspace, feature, state, tip)
    keep = state.half_turn and _keep(opening, state)
    if state.half_turn:
        events += recover.roll_back(workspace, feature, state, tip, World.now(), keep=keep)
        workspace.write(feature.path, spec.raw)
    unjudged = keep or state.turn_ended
    head = _head(opening, workspace, feature, state, tip, unjudged=unjudged, edited=edited)
    suspect = unjudged or state.half_turn or state.unseen
    files = _files_of(workspace, records, state.checkpoint, {feature.path: spec.raw}) if suspect else None
    read = files or open_work_tree(workspace.root)
    continued = continue_choices(opening.options, started, opening.seat.main, read)
    prepared = ready(opening.checkout, continued.options, feature, read, main=opening.seat.main)
    said, warned = (*continued.notes, *prepared.said), (*continued.warnings, *prepared.warned)
    origin = records.origin() or Origin("", started.base_commit)
    since = "" if files else state.checkpoint
    return Opened(
        continued.options,
        replace(prepared, said=said, warned=warned),
        records,
        workspace,
        head,
        origin,
        past,
        tuple(events),
        since=since,
        unjudged=bool(unjudged),
        suspect=state.checkpoint if suspect and tip != state.checkpoint else "",
        before=state.earlier,
        earlier=earlier_attempts(records, started.base_commit),
    )


def _undo_to(opening: Opening, records: Records, workspace: Workspace, past: Past, events: Sequence[Event]) -> Past:
    """Write down where the branch goes back to, before it does. Facts among `events` come before that.

    Raises AigonError (exit 2 or 7): nothing to go back from, or changes of a person's that would be parked with it.
    """
    started, state = past.state.started, past.state
    assert started is not None, "a journal begins with its run_started"
    if not state.turn_ended and not state.half_turn:
        branch.own_changes(opening.checkout, [started.spec_path], recover.left_by_checks(state))
    known = [event for event in events if isinstance(event, IterationFinished)]
    journal = JournalSink(records.journal)
    for event in (*known, *undo_to(workspace, state, started.feature_id, opening.options.resume_from)):
        journal(event, state)
        state = state if event in known else state.apply(event)
        past.iterations.take(event)
        past.turns.take(event)
    journal.close()
    return replace(past, state=state)


def _feature(opening: Opening, workspace: Workspace, path: str, tip: str) -> Feature:
    """The feature of the run, wherever a person moved its spec; what an agent did to the file does not count."""
    root = opening.checkout.root
    if workspace.file_at(tip, path, root) is None:
        return specs.locate(root, opening.options.feature)
    return specs.feature_of(path)


def _files_of(workspace: Workspace, records: Records, commit: str, accepted: Mapping[str, bytes]) -> ReadFile:
    """The project's files as recorded or committed: what an agent made of them since its turn began is no rule."""
    known = load(records.frozen)
    fixed = {**{path: each.data for path, each in (known.guarded if known else {}).items() if each.whole}, **accepted}

    def read(path: str) -> bytes | None:
        return fixed[path] if path in fixed else workspace.file_at(commit, path, workspace.root)

    return read


def _workspace(opening: Opening, records: Records, state: State, started: RunStarted) -> tuple[Workspace, list[Event]]:
    """The work tree on the run's branch, which has to be as the run left it or further on, and what was in the way."""
    checkout, name = opening.checkout, started.branch
    recover.require_branch(checkout, state)
    require_whole(checkout, state)
    stale = recover.move_stale_locks(checkout, records)
    if opening.current != name:
        branch.own_changes(checkout, [started.spec_path])
        branch.enter(checkout, name)
    recover.remove_own_lock(checkout.git_dir, opening.own_git)
    workspace = opening.workspace(name)
    if state.intended:
        workspace.ref.remove_own_lock(state.intended.commit)
    return workspace, stale


def _spec(opening: Opening, workspace: Workspace, feature: Feature, state: State, tip: str) -> tuple[Spec, bool]:
    """The spec to go on with, and whether a person changed it since the run stopped, which has to be accepted."""
    assert state.started is not None
    path = feature.path
    spec = recover.spec_of(workspace, path, state, tip)
    edited = recover.spec_name(spec) != state.started.spec_sha
    if edited:
        before = (opening.checkout.ask("show", f"{state.checkpoint}:{state.started.spec_path}") or "").encode()
        recover.accept_spec(before, spec, path, opening.options.accept_spec, opening.confirm)
    return spec, edited


def _keep(opening: Opening, state: State) -> bool:
    """Whether the files of a turn that was broken off stay in the work tree."""
    wanted = opening.options.half_turn
    question = f"Iteration {state.iteration} was broken off. Keep its half-finished work in the work tree?"
    return wanted == "keep" or (wanted == "ask" and opening.confirm(question))


def _head(
    opening: Opening, workspace: Workspace, feature: Feature, state: State, tip: str, *, unjudged: bool, edited: bool
) -> str:
    """The commit to start from: it holds an edited spec and aigon's own changes; work that is to be judged waits."""
    spec, left = feature.path, recover.left_by_checks(state)
    own = ([spec] if edited else []) if unjudged else branch.own_changes(opening.checkout, [spec], left)
    taken = branch.take_up(workspace.trusted, feature, own)
    workspace.take_over_index()
    workspace.note_left(left)
    return taken or tip
