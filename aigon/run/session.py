"""Open a run: locks, branch, records, workspace; then hand over a job, a world and the state to start from."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from aigon.agents.configured import build_loop_command
from aigon.errors import AigonError, usage
from aigon.files.folders import remove_abandoned
from aigon.files.home import ensure_home
from aigon.files.locks import hold_lock
from aigon.files.system_errors import require_writable
from aigon.job import branch
from aigon.job.job import Job, Seat, checkout_lock
from aigon.job.options import Options
from aigon.job.world import TurnNotes, World
from aigon.journal.decisions import find_human_ticks
from aigon.journal.events import Event, Notice, RecordedTask, RunStarted
from aigon.journal.records import (
    Records,
    candidate_records,
    find_candidates,
    is_journal_lost,
    locate_records,
    new_run_id,
)
from aigon.journal.replay import NewerJournal
from aigon.journal.state import State, replay
from aigon.journal.state_document import command_elsewhere, describe_search
from aigon.journal.tasks import MAX_SUBJECT_CHARS
from aigon.loop import iteration_log
from aigon.loop.mailbox import read_mailbox
from aigon.loop.prompt import describe_decision
from aigon.model.agents import format_run_command
from aigon.model.outcomes import PURPOSES
from aigon.process import orphans
from aigon.process.running import loop_lock
from aigon.process.stop import Stop
from aigon.run import invocations, resume
from aigon.run.choices import hash_spec, limit_by_kind, record_choices
from aigon.run.opening import Confirm, OpenedRun, Opening, begin_run, freeze_job
from aigon.run.prepare import Prepared, build_job, prepare_ready
from aigon.run.record_repair import require_sound_records, set_damaged_state_aside
from aigon.run.run_world import make_run_world, recover_turn, require_branch
from aigon.spec import files as specs
from aigon.text.quoting import fold


class Session(Struct, frozen=True):
    """A run that is ready to be driven; `opening` are the events to deliver before the loop's own."""

    prepared: Prepared
    job: Job
    world: World
    state: State
    records: Records
    state_file: Path
    past: Sequence[Event]
    opening: Sequence[Event]

    @property
    def title(self) -> str:
        """The title of the run for people."""
        return f"{PURPOSES[self.job.purpose]}{self.job.feature.name} with {self.job.agent.name}"


@contextmanager
def open_session(seat: Seat, options: Options, stop: Stop, confirm: Confirm) -> Iterator[Session]:
    """Open a run for as long as the context lasts. Raises AigonError before any agent starts, HEAD where it was."""
    checkout = seat.checkout
    if options.resume and checkout.head is None:
        _require_its_branch(seat, options)
    before = branch.require_sound(checkout)
    require_writable("A run cannot begin", *(root / ".aigon" for root in {checkout.root, seat.main}))
    own = seat.candidate.branch if seat.candidate else branch.find_branch(checkout, options.feature)
    early = None
    if not options.resume and own in (None, before):
        early = prepare_ready(checkout, options, main=seat.main)  # what is wrong is said before anything is written
    home = ensure_home(checkout.common_dir)
    opening = Opening(seat, options, confirm, home, before)
    with ExitStack() as held:
        held.enter_context(checkout_lock(home, checkout.root))
        with branch.restore_branch_on_error(checkout, before):
            opened = _resume(opening, own, held) if options.resume else _begin(opening, own, early, held)
            session = _make_session(opening, opened, stop)
        held.callback(session.world.close)
        yield session


def _require_its_branch(seat: Seat, options: Options) -> None:
    """Raise AigonError (exit 7) if the branch is gone or damaged: it looks like a checkout without commits."""
    checkout, candidate = seat.checkout, seat.candidate
    name = candidate.feature if candidate else specs.resolve_name(checkout.root, options.feature, checkout.branch)
    state = replay(locate_records(ensure_home(checkout.common_dir), name, seat.label).each())
    if state.started:
        require_branch(checkout, state)


def _resume(opening: Opening, own: str | None, held: ExitStack) -> OpenedRun:
    name, seat = _resolve_name(opening, own), opening.seat
    records = _lock_records(opening, name, held)
    past = records.events()
    state = replay(past)
    if not state.started:
        elsewhere = command_elsewhere(opening.checkout.common_dir, name, opening.format_command(name, "--resume"))
        start = opening.format_command(name, "--loop") if seat.label else build_loop_command(seat.main, name)
        known = () if seat.label else find_candidates(opening.home, name)
        ran = [each.label for each in known if candidate_records(opening.home, each).journal.exists()]
        resume_worktree = "   or   ".join(format_run_command(name, label, "--resume") for label in ran)
        raise usage(
            f"There is nothing to resume for feature {name}",
            where=describe_search(seat.main, name, records.journal),
            hint=resume_worktree or elsewhere or f"Start it: {start}",
        )
    _end_leftovers(opening, name, state)
    return resume.resume_run(opening, records, past, state)


def _begin(opening: Opening, own: str | None, early: Prepared | None, held: ExitStack) -> OpenedRun:
    if own and own != opening.current:
        _read_old_state(_locate_sound_records(opening, _resolve_name(opening, own)))
        branch.list_own_changes(opening.checkout, [])
        branch.enter_branch(opening.checkout, own)
    prepared = early or prepare_ready(opening.checkout, opening.options, main=opening.seat.main)
    records = _lock_records(opening, prepared.feature.name_for_people, held)
    old = _read_old_state(records)
    _end_leftovers(opening, prepared.feature.name_for_people, old)
    return begin_run(opening, records, prepared, old)


def _resolve_name(opening: Opening, own: str | None) -> str:
    """Return what people call the feature, wherever its spec is by now."""
    candidate = opening.seat.candidate
    return candidate.feature if candidate else specs.resolve_name(opening.checkout.root, opening.options.feature, own)


def _lock_records(opening: Opening, name: str, held: ExitStack) -> Records:
    held.enter_context(hold_lock(loop_lock(opening.home, name, opening.seat.label), f"Feature {name}"))
    return _locate_sound_records(opening, name)


def _locate_sound_records(opening: Opening, name: str) -> Records:
    """Return the records of the feature. Raises AigonError (exit 7) if they are damaged or too new."""
    records = locate_records(opening.home, name, opening.seat.label)
    require_sound_records(records, opening.locate_state_file(name))
    return records


def _end_leftovers(opening: Opening, name: str, old: State) -> None:
    """End what a killed aigon left running, whose agent would go on editing during the next turn; keep its commits."""
    left = invocations.list_left_processes(opening.home, name, opening.seat.label)
    ended = invocations.end_processes(left)
    if old.started and old.outcome is None:
        ended += orphans.end_leftovers_of_run(old.started.run_id)
    for sentence in recover_turn(opening):
        print(f"aigon: {sentence} (of the turn that was killed)", file=sys.stderr)
    remove_abandoned()
    if ended:
        print(f"aigon: an aigon that was killed had left {ended} processes running; they are ended", file=sys.stderr)


def _read_old_state(records: Records) -> State:
    """Return the final state of the old run; `lost` if its journal is damaged, or was renamed as such.

    Raises AigonError (exit 7) for a journal of a newer version.
    """
    try:
        return replace(replay(records.each()), lost=is_journal_lost(records))
    except NewerJournal:
        raise
    except AigonError:
        return State(lost=True)


def _make_session(opening: Opening, opened: OpenedRun, stop: Stop) -> Session:
    prepared, options, records, seat = opened.prepared, opened.options, opened.records, opening.seat
    rerun = options.resume_from == "ask" and opening.confirm("Run every check again, remembered passes too?")
    job = build_job(prepared, opened.origin.commit, label=seat.label, mode=seat.mode)
    use_cache = job.use_cache and not rerun
    job = replace(job, decisions=records.decisions(), earlier=opened.earlier, use_cache=use_cache)
    job, record = freeze_job(opened, job)
    state = opened.state
    run_id = state.started.run_id if state.started else new_run_id()
    world = make_run_world(opening, opened, job, record, run_id, stop)
    earlier = _count_earlier(job, world, opened)
    times = [attempt.at for attempt in (*opened.earlier, *state.tried.all) if attempt.at]
    numbered = max(earlier, state.last_number)
    limits = limit_by_kind(job.limits, options, prepared.kind, numbered, times, datetime.now().astimezone())
    job = replace(job, limits=limits)
    remarks: tuple[str, ...] = ()
    started = _make_started(job, world, opened, earlier)
    if state.half_turn:  # the mailbox of the turn that was killed
        folder = world.iteration_folder(state.iteration)
        requests, remarks = read_mailbox(folder, job.spec.criteria, job.feature.name_for_people)
        started = replace(started, requests=requests)
    state_file = opening.locate_state_file(prepared.feature.name_for_people)
    prior = (*set_damaged_state_aside(state_file, world.now()), *opened.events)
    # A journal begins with the start of its run: whatever else is first counts as damage.
    events = (*prior, started) if opened.resumed else (started, *prior)
    notes = (*world.get(TurnNotes).sentences, *remarks)
    killed = (Notice(world.now(), f"{text} (of the turn that was killed)", "warning") for text in notes)
    return Session(prepared, job, world, state, records, state_file, opened.past, (*events, *killed))


def _count_earlier(job: Job, world: World, opened: OpenedRun) -> int:
    """Return the highest number of an iteration of earlier runs: numbers continue over the runs of a feature."""
    if known := opened.state.started:
        return known.earlier_iterations
    log = (world.own_files[job.log_path] or b"").decode("utf-8", "replace")
    return max((opened.numbered, *iteration_log.read_iteration_numbers(log)))


def _list_tasks(job: Job) -> tuple[RecordedTask, ...]:
    judge = job.judge.backend if job.judge else "none"
    decided = ((each, describe_decision(each, job.checks, judge)) for each in job.spec.criteria)
    return tuple(RecordedTask(each.number, fold(each.text, MAX_SUBJECT_CHARS), how) for each, how in decided)


def _make_started(job: Job, world: World, opened: OpenedRun, earlier: int) -> RunStarted:
    prepared = opened.prepared
    return RunStarted(
        at=world.now(),
        run_id=world.run_id,
        feature_id=prepared.feature.name_for_people,
        slug=prepared.feature.slug,
        label=job.label,
        agent=job.agent.name,
        mode=job.mode,
        branch=world.workspace.branch,
        base_commit=job.base_commit,
        head=opened.head,
        spec_path=job.spec_path,
        spec_sha=hash_spec(prepared.spec),
        criteria_total=len(prepared.spec.criteria),
        max_iterations=job.limits.iterations,
        resumed=opened.resumed,
        skip_validation=bool(opened.options.skip_validation),
        human_ticks=find_human_ticks(prepared.spec.criteria, job.decisions),
        pid=os.getpid(),
        host=os.uname().nodename,
        spent_before=opened.before.usd,
        unknown_before=opened.before.unknown,
        earlier_iterations=earlier,
        since=opened.suspect,
        choices=record_choices(job, prepared, opened.options),
        kind=prepared.kind.name if prepared.kind else "",
        profile=prepared.checks.profile,
        tasks=_list_tasks(job),
    )
