"""Write down what the assessment found: ticks, log, one commit; a commit is saved aside if it is not complete."""

from collections.abc import Generator
from dataclasses import replace
from datetime import datetime

from aigon.job.assessment import Assessment, Snapshot, require_room
from aigon.job.demand import is_forgiven
from aigon.job.escalation import find_next_step
from aigon.job.job import Job
from aigon.job.world import World
from aigon.journal.events import CommitIntended, Event, IterationFinished, SavedAside
from aigon.journal.state import State
from aigon.loop import commit_message, feedback, iteration_log
from aigon.loop.guards.availability import AWAY
from aigon.model.criteria import Promise, find_promises, judge_promises
from aigon.model.outcomes import Met, Outcome
from aigon.secrets.redaction import redact_value
from aigon.spec.document import tick_boxes

SHORT, FULL = 2_000, 8_000
"""Estimated tokens of a digest: as a rule, and on a step of the steps that asks for all of it."""


def draft_iteration(job: Job, world: World, snapshot: Snapshot, look: Assessment, state: State) -> IterationFinished:
    """The look as an event, without an iteration commit yet: what `decide` decides on.

    Raises AigonError (exit 7) for one that decided nothing, as there was no room for it on disk.
    """
    require_room(world.meter, look)
    draft = IterationFinished(
        at=world.now(),
        number=snapshot.number,
        started_at=state.began,
        checkpoint="",
        findings=look.findings,
        verdicts=look.verdicts,
        changes=snapshot.changes.result() if snapshot.changes else (),
        fingerprint=look.fingerprint,
        score=look.score,
        feedback="",
        content=look.content,
        concerns=look.concerns,
        tree=snapshot.known,
        promises=_promises(job, look, state),
        took=world.meter.taken(),
        passed_at_base=look.passed_at_base,
        adds_nothing=look.adds_nothing,
    )
    size = FULL if _full(job, state.apply(draft)) else SHORT
    draft = replace(draft, feedback=_feedback(job, world, snapshot, look, state, size))
    return redact_value(draft, world.redact)  # its words go into the log, which is committed


def _full(job: Job, after: State) -> bool:
    """Whether the next turn is on a step that is given the whole digest."""
    return job.steps[find_next_step(after, job.steps)].full


def _promises(job: Job, look: Assessment, state: State) -> tuple[Promise, ...]:
    """What the agent of the turn that is looked at promised, and whether it holds."""
    said = state.turn.said if state.turn_ended and state.turn else ""
    known = {finding.check for finding in look.findings if is_forgiven(job.demand, finding)}
    return judge_promises(find_promises(said, job.promises), look.findings, look.verdicts, known)


def publish(
    job: Job,
    world: World,
    snapshot: Snapshot,
    look: Assessment,
    draft: IterationFinished,
    outcome: Outcome | None,
    state: State,
) -> Generator[Event, State, State]:
    """Commit a judged turn; park a broken-off one; a look without a turn commits only ticks that a resume proved."""
    if not look.complete:
        return (yield from _park(job, world, snapshot, state))
    if not state.turn_ended:
        if isinstance(outcome, Met) and world.workspace.changes(state.checkpoint):
            draft = replace(draft, number=state.last_number + 1)  # what was kept of a broken-off turn proves everything
        elif not _ticks_due(job, world, draft, outcome, state):
            return (yield draft)
    elif not isinstance(outcome, Met) and _turned_away(world, snapshot, state):
        return state
    return (yield from _commit(job, world, snapshot, draft, state))


def _turned_away(world: World, snapshot: Snapshot, state: State) -> bool:
    """Whether the agent could not work at all and left everything as it was: that is no iteration."""
    tip, turn = snapshot.tip, state.turn
    if turn is None or turn.end not in AWAY or not tip.ref == tip.parent == state.checkpoint:
        return False
    return not world.workspace.changes(state.checkpoint)


def _ticks_due(job: Job, world: World, draft: IterationFinished, outcome: Outcome | None, state: State) -> bool:
    """Proven on a resume without a turn (an approval, a judge that was away): the boxes say so too."""
    return isinstance(outcome, Met) and state.finished > 0 and _ticked(job, draft) != world.own_files[job.spec_path]


def _ticked(job: Job, draft: IterationFinished) -> bytes:
    return tick_boxes(job.spec, {v.criterion: v.status == "met" for v in draft.verdicts})


def _commit(
    job: Job, world: World, snapshot: Snapshot, draft: IterationFinished, state: State
) -> Generator[Event, State, State]:
    wanted = {job.spec_path: _ticked(job, draft), job.log_path: _log(job, world, snapshot, draft, state)}
    files = {path: data for path, data in wanted.items() if data != world.own_files.get(path)}
    message = _message(job, world, draft, state)
    commit = world.workspace.commit(files, snapshot.tip.parent, message)
    finished = replace(draft, checkpoint=commit)
    yield CommitIntended(world.now(), draft.number, commit, snapshot.tip.ref, world.workspace.branch, finished)
    world.workspace.publish(commit, snapshot.tip.ref)
    world.own_files.update(files)
    return (yield replace(finished, at=world.now()))


def _worker(job: Job, state: State) -> str:
    """Who worked in this iteration: one that stands in for another is named itself."""
    return state.turn.agent if state.turn_ended and state.turn else job.agent.name


def _describe_step(state: State) -> str:
    """`2/4 sonnet high`, where whoever worked has a steps."""
    if state.rungs == 1 or not state.turn_ended:
        return ""
    return " ".join(filter(None, (f"{state.climbs + 1}/{state.rungs}", state.model, state.effort)))


def _message(job: Job, world: World, draft: IterationFinished, state: State) -> str:
    return commit_message.render_iteration_message(
        feature_id=job.feature.name_for_people,
        run_id=world.run_id,
        number=draft.number,
        agent=_worker(job, state),
        rung=_describe_step(state),
        findings=draft.findings,
        verdicts=draft.verdicts,
        skipped=job.demand.skip_validation,
        built=_built(draft, state),
    )


def _built(draft: IterationFinished, state: State) -> commit_message.Built:
    """What the commit brings, for its type: a release is made of what was built, not of turns that failed."""
    if not state.turn_ended:
        return "ticked" if draft.number == state.finished else "changed"
    if state.turn and state.turn.failed and any(verdict.status != "met" for verdict in draft.verdicts):
        return "failed"
    return "changed" if draft.changes else "unchanged"


def _log(job: Job, world: World, snapshot: Snapshot, draft: IterationFinished, state: State) -> bytes:
    before = world.own_files.get(job.log_path)
    head = before if before is not None else _header(job)
    when = datetime.fromisoformat(draft.at).strftime("%Y-%m-%d %H:%M:%S")
    turn = state.turn if state.turn_ended else None
    entry = iteration_log.render_entry(draft, job.spec, turn, when, rung=_describe_step(state), notes=snapshot.notes)
    return head + entry.encode("utf-8", "replace")


def _header(job: Job) -> bytes:
    feature = job.feature
    return iteration_log.render_header(feature.name_for_people, job.spec.title or feature.slug, job.agent.name).encode()


def _feedback(job: Job, world: World, snapshot: Snapshot, look: Assessment, state: State, budget: int) -> str:
    return feedback.render_feedback(
        job.spec,
        look.findings,
        look.verdicts,
        state.last.findings if state.last else (),
        state.base.findings if state.base else (),
        state.turn if state.turn_ended else None,
        snapshot.notes,
        str(world.iteration_folder(snapshot.number)),
        budget,
    )


def _park(job: Job, world: World, snapshot: Snapshot, state: State) -> Generator[Event, State, State]:
    """Keep what was not committed under a ref of its own; the files stay as they are."""
    workspace = world.workspace
    if snapshot.tip.ref != snapshot.tip.parent:  # a branch that the agent had rewritten, saved aside by the snapshot
        workspace.publish(snapshot.tip.parent, snapshot.tip.ref)
    if not workspace.changes(snapshot.tip.parent):
        return state
    message = f"aigon: parked at an interruption (iteration {state.iteration})\n"
    commit = workspace.commit_tree(workspace.tree(), snapshot.tip.parent, message)
    ref = workspace.keep(f"feature-{job.feature.name_for_people}/{world.run_id}-{state.iteration}", commit)
    return (yield SavedAside(world.now(), state.iteration, ref, commit, "what was not committed yet"))
