"""Open a run: locks, branch, records, workspace; then hand over a job, a world and the state to start from."""

import contextlib
import os
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from aigon.agents.configured import build_loop_command
from aigon.errors import AigonError, usage
from aigon.files.home import ensure_home
from aigon.files.locks import hold_lock
from aigon.git import secret_files
from aigon.isolation.run_sandbox import make_run_sandbox
from aigon.job import branch
from aigon.job.free_space import list_volumes, require_writable
from aigon.job.job import Job
from aigon.job.options import Options
from aigon.job.seat import Seat, checkout_lock
from aigon.job.world import OwnFiles, TurnNotes, World
from aigon.journal.build_log import list_titles
from aigon.journal.decisions import find_human_ticks
from aigon.journal.durations import load_durations
from aigon.journal.events import Event, Notice, RunStarted
from aigon.journal.records import CANDIDATE, Records, is_journal_lost, locate_records, new_run_id
from aigon.journal.replay import NewerJournal, RunPast, replay_past
from aigon.journal.state import State, replay
from aigon.journal.state_document import command_elsewhere, describe_search
from aigon.loop import iteration_log
from aigon.loop.roll_back import RollbackPolicy
from aigon.loop.turn_files import remove_links
from aigon.model.candidates import format_run_command
from aigon.process import orphans
from aigon.process.meter import Meter
from aigon.process.running import loop_lock
from aigon.process.stop import Stop
from aigon.proof.frozen import ProtectedFiles, copy_of
from aigon.proof.restore import MainsOwn
from aigon.proof.watch import watch
from aigon.run import invocations, resume
from aigon.run.choices import record_choices
from aigon.run.opening import (
    Confirm,
    OpenedRun,
    Opening,
    begin_run,
    freeze_job,
    require_sound_records,
    set_damaged_state_aside,
)
from aigon.run.prepare import Prepared, build_job, prepare_ready
from aigon.run.repair.records import are_views_intact, repair_views
from aigon.run.resume import resume_run
from aigon.run.sharing_seat import find_rivals, join_arena
from aigon.secrets import redaction as secrets
from aigon.secrets.leaks import list_exclude_lines
from aigon.spec import files as specs


@dataclass(frozen=True, slots=True)
class Session:
    """A run that is ready to be driven; `opening` are the events to deliver before the loop's own."""

    prepared: Prepared
    job: Job
    world: World
    state: State
    records: Records
    state_file: Path
    past: RunPast
    opening: Sequence[Event]

    @property
    def title(self) -> str:
        """How people call what is being done."""
        return f"{self.job.feature.name} with {self.job.agent.name}"


@contextmanager
def open_session(seat: Seat, options: Options, stop: Stop, confirm: Confirm) -> Iterator[Session]:
    """Open a run for as long as the context lasts. Raises AigonError before any agent starts, HEAD where it was."""
    checkout = seat.checkout
    if checkout.head is None and options.resume:
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
            session = _session(opening, _open(opening, own, early, held), stop)
        held.callback(session.world.close)
        yield session


def _require_its_branch(seat: Seat, options: Options) -> None:
    """A checkout whose branch is gone or damaged looks like one without commits. Raises AigonError (exit 7)."""
    checkout, candidate = seat.checkout, seat.candidate
    name = candidate.feature if candidate else specs.resolve_name(checkout.root, options.feature, checkout.branch)
    records = locate_records(ensure_home(checkout.common_dir), name, seat.label)
    state = replay(records.each())
    if state.started:
        resume.require_branch(checkout, state)


def _open(opening: Opening, own: str | None, early: Prepared | None, held: ExitStack) -> OpenedRun:
    """An old run where one is to be resumed, else a new one, as prepared `early` where HEAD stays. It is locked."""
    if opening.options.resume:
        name = _name(opening, own)
        records = _locked(opening, name, held)
        past = replay_past(records.each())
        if not past.state.started:
            elsewhere = command_elsewhere(opening.checkout.common_dir, name, opening.command(name, "--resume"))
            raise usage(
                f"There is nothing to resume for feature {name}",
                where=describe_search(opening.seat.main, name, records.journal),
                hint=elsewhere or f"Start it: {_start_command(opening, name)}",
            )
        _end_leftovers(opening, name, past.state)
        return resume_run(opening, records, past)
    if own and own != opening.current:
        _readable(_require_sound(opening, _name(opening, own)))
        branch.list_own_changes(opening.checkout, [])
        branch.enter_branch(opening.checkout, own)
    prepared = early or prepare_ready(opening.checkout, opening.options, main=opening.seat.main)
    records = _locked(opening, prepared.feature.name_for_people, held)
    old = _readable(records)
    _end_leftovers(opening, prepared.feature.name_for_people, old)
    return begin_run(opening, records, prepared, old)


def _start_command(opening: Opening, name: str) -> str:
    label = opening.seat.label
    return format_run_command(name, label, "--loop") if label else build_loop_command(opening.seat.main, name)


def _locked(opening: Opening, name: str, held: ExitStack) -> Records:
    held.enter_context(hold_lock(loop_lock(opening.home, name, opening.seat.label), f"Feature {name}"))
    return _require_sound(opening, name)


def _require_sound(opening: Opening, name: str) -> Records:
    """The records of the feature. Raises AigonError (exit 7) where they are damaged or too new; nothing is touched."""
    records = locate_records(opening.home, name, opening.seat.label)
    require_sound_records(records, opening.seat.main / ".aigon" / _state_name(opening, name))
    return records


def _state_name(opening: Opening, name: str) -> str:
    return f"loop-state-{name}{f'-{opening.seat.label}' if opening.seat.label else ''}.json"


def _name(opening: Opening, own: str | None) -> str:
    """What people call the feature, wherever its spec is by now."""
    candidate = opening.seat.candidate
    return candidate.feature if candidate else specs.resolve_name(opening.checkout.root, opening.options.feature, own)


def _end_leftovers(opening: Opening, name: str, old: State) -> None:
    """An aigon that was killed could not end its agent, which would go on editing beside the next one."""
    ended = invocations.end_left_by_feature(opening.home, name, opening.seat.label)
    if old.started and old.outcome is None:
        ended += orphans.end_leftovers_of_run(old.started.run_id)
    if ended:
        print(f"aigon: an aigon that was killed had left {ended} processes running; they are ended", file=sys.stderr)


def _readable(records: Records) -> State:
    """What the old run came to; `lost` where its journal is damaged, or was put aside as such.

    Raises AigonError (exit 7) for one that a newer version wrote.
    """
    try:
        return replace(replay(records.each()), lost=is_journal_lost(records))
    except NewerJournal:
        raise
    except AigonError:
        return State(lost=True)


def _session(opening: Opening, found: OpenedRun, stop: Stop) -> Session:
    checkout, prepared, options = opening.checkout, found.prepared, found.options
    rerun = options.resume_from == "ask" and opening.confirm("Run every check again, remembered passes too?")
    job = build_job(prepared, options, found.origin.commit, label=opening.seat.label, mode=opening.seat.mode)
    job = replace(
        job, decisions=found.records.decisions(), earlier=found.earlier, use_cache=job.use_cache and not rerun
    )
    job, record = freeze_job(opening, found, job)
    state = found.past.state
    world = _world(opening, found, job, state.started.run_id if state.started else new_run_id(), stop)
    world.attend(ProtectedFiles(record.guarded))
    left = sorted({line for agent in prepared.agents if agent.kind for line in agent.kind.leaves})
    branch.exclude_from_git(checkout, left, "what coding agents leave for themselves")
    found.workspace.trusted.keep_out((*list_exclude_lines((*job.protection.allow, *job.protection.secrets)), *left))
    note = world.home / "sandboxes" / job.name
    world.attend(make_run_sandbox(opening.seat, prepared.config, options.sandbox, world.agent_env, world.folder, note))
    _watch(opening, found, world)
    arena = Path(options.arena) if options.arena else None
    world = join_arena(world, opening.seat.candidate, prepared.config, job.limits.max_cost, arena)
    started = _started(job, world, found, options)
    state_file = opening.seat.main / prepared.feature.state_file(job.label)
    events = (
        *set_damaged_state_aside(state_file),
        *_kept_views(world.folder, found),
        *found.events,
        started,
        *_undone(world),
    )
    return Session(prepared, job, world, state, found.records, state_file, found.past, events)


def _undone(world: World) -> Iterator[Notice]:
    """What a turn that was killed had done to git, and is put back."""
    yield from (
        Notice(World.now(), f"{text} (of the turn that was killed)", "warning")
        for text in world.get(TurnNotes).sentences
    )


def _kept_views(folder: Path, found: OpenedRun) -> Sequence[Event]:
    """Make anew what a run left for people and is gone or damaged; what was damaged is kept, and told as events."""
    with contextlib.suppress(OSError):  # nobody relies on them
        if not found.resumed or are_views_intact(folder, {**found.past.turns.titles, **list_titles()}):
            return ()
        done = [each for each in repair_views(folder, found.records.each, behind=False) if each.kept_as]
        text = "{} was damaged: renamed {} and rebuilt"
        return [Notice(World.now(), text.format(Path(e.path).name, Path(e.kept_as).name), "warning") for e in done]
    return ()


def _watch(opening: Opening, found: OpenedRun, world: World) -> None:
    """Let a watch over git and aigon's records join; it takes them as they are now for right."""
    checkout, folder = opening.checkout, found.records.folder
    state = opening.seat.main / found.prepared.feature.state_file(opening.seat.label)
    files = (
        state,
        folder / "feature.json",
        found.records.frozen,
        copy_of(found.records.frozen),
        folder / "decisions.jsonl",
        folder / CANDIDATE,
        world.home / "repository.json",
    )
    hooks = checkout.config.get("core.hookspath", "")
    rivals = find_rivals(world.home, opening.seat.candidate)
    made = watch(found.workspace, hooks, world.home, files, found.records.journal, rivals, found.records.before_turn)
    if opening.seat.candidate:
        aside = found.workspace.own / "displaced"
        made.mains = MainsOwn(
            opening.seat.main,
            found.workspace.trusted,
            aside,
            world.get(ProtectedFiles).files,
            found.prepared.protection,
        )
    world.get(TurnNotes).sentences += world.attend(made).begin()


def _world(opening: Opening, found: OpenedRun, job: Job, run_id: str, stop: Stop) -> World:
    prepared, root = found.prepared, opening.checkout.root
    folder = opening.seat.main / ".aigon" / "runs" / run_id
    folder.mkdir(parents=True, exist_ok=True)
    remove_links(folder, found.workspace.own / "displaced")  # a kill may have left what an agent made
    invocation = new_run_id()
    mine = {"AIGON_INVOCATION": invocation, **_of_the_seat(opening.seat, prepared)}
    # As the branch has them, whatever the agent of a turn that is still to be judged made of them.
    own = OwnFiles({path: found.workspace.file_at(found.head, path, root) for path in (job.spec_path, job.log_path)})
    return World(
        run_id=run_id,
        invocation=invocation,
        workspace=found.workspace,
        checkout=opening.seat.main,
        folder=folder,
        home=opening.home,
        stop=stop,
        agent_env={**prepared.env, **mine},
        check_env={**prepared.check_env, "AIGON_RUN": run_id, **mine},
        redact=secrets.make_redactor(prepared.env, *(agent.env for agent in prepared.agents)),
        frozen=found.records.frozen,
        attendants=[own, RollbackPolicy(found.options.on_partial or "keep", opening.confirm)],
        durations=load_durations(opening.home),
        scanner=_scanner(found, job.base_commit),
        meter=Meter(list_volumes(root, opening.checkout.common_dir / "objects", opening.home, folder)),
    )


def _scanner(found: OpenedRun, base: str) -> secret_files.SecretScanner:
    """A scanner for secrets where one is installed, with the project's own rules as the base has them."""
    prepared, workspace = found.prepared, found.workspace
    made = secret_files.find_scanner(prepared.config.secrets.scanner, prepared.check_env, workspace.root)
    if made.program and not made.chosen:
        texts = (workspace.file_at(base, name, workspace.root) for name in secret_files.RULES)
        made.rules = next((text for text in texts if text), b"")
    return made


def _of_the_seat(seat: Seat, prepared: Prepared) -> dict[str, str]:
    """Ports and names of its own, and the folder that it is in, for what runs in a worktree."""
    if seat.candidate is None:
        return {}
    from aigon.worktrees.worktree import build_environment

    return {**build_environment(seat.candidate, prepared.config), "PWD": str(seat.checkout.root)}


def _earlier_iterations(found: OpenedRun, log: bytes) -> int:
    """Return the highest number of an iteration before this run: numbers continue over the runs of a feature."""
    if known := found.past.state.started:
        return known.earlier_iterations
    return max((found.numbered, *iteration_log.read_iteration_numbers(log.decode("utf-8", "replace"))))


def _started(job: Job, world: World, found: OpenedRun, options: Options) -> RunStarted:
    prepared = found.prepared
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
        head=found.head,
        spec_path=job.spec_path,
        spec_sha=resume.hash_spec(prepared.spec),
        criteria_total=len(prepared.spec.criteria),
        max_iterations=job.limits.iterations,
        resumed=found.resumed,
        skip_validation=bool(options.skip_validation),
        human_ticks=find_human_ticks(prepared.spec.criteria, job.decisions),
        pid=os.getpid(),
        host=socket.gethostname(),
        spent_before=found.before.usd,
        unknown_before=found.before.unknown,
        earlier_iterations=_earlier_iterations(found, world.own_files[job.log_path] or b""),
        since=found.suspect,
        choices=record_choices(job, prepared, options),
    )
