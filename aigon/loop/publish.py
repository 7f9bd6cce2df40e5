"""Write down what the assessment found: ticks, log, one commit; save the work aside if it is incomplete."""

import errno
from collections.abc import Generator
from datetime import datetime

from msgspec.structs import replace

from aigon.files.system_errors import ResourceShortage, explain_os_error, explain_shortage
from aigon.job.assessment import Assessment, Snapshot, is_forgiven
from aigon.job.escalation import find_next_step
from aigon.job.job import Job
from aigon.job.world import World
from aigon.journal.events import CommitIntended, Event, IterationFinished, SavedAside
from aigon.journal.state import State
from aigon.loop.feedback import render_feedback
from aigon.loop.guards.limits import AWAY
from aigon.loop.iteration_log import Built, move_to_part, render_entry, render_header, render_iteration_message
from aigon.model.criteria import find_promises, judge_promises, narrow_to_stage
from aigon.model.outcomes import Met, Outcome
from aigon.model.requests import judge_claims
from aigon.model.resources import find_full_volume, format_bytes
from aigon.process.meter import Meter
from aigon.secrets.redaction import redact_value
from aigon.spec.document import tick_boxes

SHORT_FEEDBACK, FULL_FEEDBACK = 2_000, 8_000
"""Estimated tokens of the feedback: as a rule, and on an escalation step that asks for all of it."""


def draft_iteration(job: Job, world: World, snapshot: Snapshot, look: Assessment, state: State) -> IterationFinished:
    """Return the assessment as an event, without an iteration commit yet: what `decide` decides on.

    Raises AigonError (exit 7) if the assessment decided nothing because the disk was full.
    """
    require_room(world.meter, look)
    turn = state.turn if state.turn_ended else None
    forgiven = {finding.check for finding in look.findings if is_forgiven(job.demand, finding)}
    promises = find_promises(turn.said if turn else "", job.promises)
    claims = judge_claims(state.requests.claims if turn else (), look.verdicts)
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
        promises=(
            *judge_promises(promises, look.findings, look.verdicts, forgiven, job.spec.settings.stages),
            *claims,
        ),
        took=world.meter.measure_use(),
        passed_at_base=look.passed_at_base,
        adds_nothing=look.adds_nothing,
        put_back=snapshot.put_back,
    )
    wants_all = job.steps[find_next_step(state.apply(draft), job.steps)].full
    feedback = render_feedback(
        narrow_to_stage(job.spec, draft.verdicts)[0],
        draft,
        last=state.last,
        base=state.base,
        turn=turn,
        notes=snapshot.notes,
        logs=str(world.iteration_folder(snapshot.number)),
        budget=FULL_FEEDBACK if wants_all else SHORT_FEEDBACK,
    )
    return redact_value(replace(draft, feedback=feedback), world.redact)  # the commit message takes words from it


def publish(
    job: Job,
    world: World,
    snapshot: Snapshot,
    look: Assessment,
    draft: IterationFinished,
    outcome: Outcome | None,
    state: State,
) -> Generator[Event, State, State]:
    """Commit a judged turn, or save a broken-off one aside.

    An assessment without a turn is committed only if it proves everything: for what was kept of a broken-off turn, or
    for boxes that can be ticked now (after an approval, or since the judge is back).
    """
    if not look.complete:
        return (yield from _save_aside(job, world, snapshot, state))
    if state.turn_ended:
        if not isinstance(outcome, Met) and _was_turned_away(world, snapshot, state):
            return state
    elif isinstance(outcome, Met) and world.workspace.changes(state.checkpoint):
        draft = replace(draft, number=state.last_number + 1)
    elif not (isinstance(outcome, Met) and state.finished and _tick(job, draft) != world.own_files[job.spec_path]):
        return (yield draft)
    return (yield from _commit(job, world, snapshot, draft, state))


def _was_turned_away(world: World, snapshot: Snapshot, state: State) -> bool:
    """Return whether the agent could not work at all and left everything as it was: that is no iteration."""
    tip, turn = snapshot.tip, state.turn
    if turn is None or turn.end not in AWAY or not tip.ref == tip.parent == state.checkpoint:
        return False
    return not world.workspace.changes(state.checkpoint)


def _tick(job: Job, draft: IterationFinished) -> bytes:
    return tick_boxes(job.spec, {v.criterion: v.status == "met" and not v.is_waived for v in draft.verdicts})


def _commit(
    job: Job, world: World, snapshot: Snapshot, draft: IterationFinished, state: State
) -> Generator[Event, State, State]:
    turn, step = (state.turn, _describe_step(state)) if state.turn_ended else (None, "")
    log, parts = _render_log(job, world, snapshot, draft, state, step)
    wanted = {job.spec_path: _tick(job, draft), job.log_path: log}
    files = {path: data for path, data in wanted.items() if data != world.own_files.get(path)}
    message = render_iteration_message(
        draft,
        feature_id=job.feature.name_for_people,
        run_id=world.run_id,
        agent=turn.agent if turn else job.agent.name,
        rung=step,
        skipped=job.demand.skip_validation,
        built=_classify_commit(draft, state),
    )
    commit = world.workspace.commit({**parts, **files}, snapshot.tip.parent, message)
    finished = replace(draft, checkpoint=commit)
    yield CommitIntended(world.now(), draft.number, commit, snapshot.tip.ref, world.workspace.branch, finished)
    world.workspace.publish(commit, snapshot.tip.ref)
    world.own_files.update(files)
    return (yield replace(finished, at=world.now()))


def _describe_step(state: State) -> str:
    """Return `2/4 sonnet high` if the agent of the turn has several escalation steps."""
    if state.rungs == 1:
        return ""
    return " ".join(filter(None, (f"{state.climbs + 1}/{state.rungs}", state.model, state.effort)))


def _classify_commit(draft: IterationFinished, state: State) -> Built:
    """Return what the commit brings, for its type: a release is made of what was built, not of turns that failed."""
    if not state.turn_ended:
        return "ticked" if draft.number == state.finished else "changed"
    if state.turn and state.turn.failed and any(verdict.status != "met" for verdict in draft.verdicts):
        return "failed"
    return "changed" if draft.changes else "unchanged"


def _render_log(
    job: Job, world: World, snapshot: Snapshot, draft: IterationFinished, state: State, step: str
) -> tuple[bytes, dict[str, bytes]]:
    """Return the log with the entry of this iteration, and the part that it leaves behind if it was full."""
    feature, before = job.feature, world.own_files.get(job.log_path)
    if before is None:
        title = job.spec.title or feature.slug
        before = render_header(feature.name_for_people, title, job.agent.name).encode()
    when = datetime.fromisoformat(draft.at).strftime("%Y-%m-%d %H:%M:%S")
    turn = state.turn if state.turn_ended else None
    entry = render_entry(draft, job.spec, turn, when, rung=step, notes=snapshot.notes)
    before, parts = move_to_part(job.log_path, before)
    return before + world.redact(entry.encode("utf-8", "replace")), parts  # it is committed


def _save_aside(job: Job, world: World, snapshot: Snapshot, state: State) -> Generator[Event, State, State]:
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


def require_room(meter: Meter, assessment: Assessment) -> None:
    """Raise AigonError (exit 7) if something failed while a disk was full: that says nothing about the work.

    Nothing was decided then. A resume assesses the very same work again, and pays no turn for that.
    """
    meter.sample()
    passed = all(f.status == "pass" for f in assessment.findings) and all(
        v.status == "met" for v in assessment.verdicts
    )
    if passed or not assessment.complete:
        return
    if isinstance(meter.trouble, ResourceShortage):
        raise meter.trouble
    if isinstance(meter.trouble, OSError):
        raise explain_os_error("The checks could not run, so nothing was decided", meter.trouble)
    if volume := find_full_volume(meter.least):
        what, do = explain_shortage(errno.EROFS if volume.problem else errno.ENOSPC, volume.mounted)
        least = "" if volume.problem or volume.free is None else f" (down to {format_bytes(volume.free)})"
        raise ResourceShortage(
            f"Checks failed while {what}{least}, so nothing was decided",
            where=f"{volume.place} ({volume.holds})",
            hint=f"{do}, then run again with --resume: the work is assessed again, without a paid turn",
        )
