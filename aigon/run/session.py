"""Open a run: locks, branch, records, workspace; then hand over a job, a world and the state to start from."""

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from aigon.core.decisions import ticked_by_a_person
from aigon.core.errors import AigonError, usage
from aigon.core.events import Event, RunStarted
from aigon.core.leaks import exclude_lines
from aigon.core.state import State, replay
from aigon.ports import reaper, secrets
from aigon.ports.home import repository_home
from aigon.ports.loops import loop_lock
from aigon.ports.stop import Stop
from aigon.ports.store import lock
from aigon.run import branch, recover, specs
from aigon.run.begin import begin
from aigon.run.earlier_durations import earlier_durations
from aigon.run.freeze import freeze
from aigon.run.job import Job
from aigon.run.locks import checkout_lock
from aigon.run.mains_own import MainsOwn
from aigon.run.opening import Opened, Opening
from aigon.run.options import Options
from aigon.run.partial import Partial
from aigon.run.prepare import Prepared, job_of, ready
from aigon.run.records import CANDIDATE, Records, records_of
from aigon.run.recover import Confirm
from aigon.run.run_id import new_run_id
from aigon.run.seat import Seat
from aigon.run.sharing_seat import rivals_of, share
from aigon.run.take_up import take_up
from aigon.run.watch import Watch, watch
from aigon.run.world import World


@dataclass(frozen=True, slots=True)
class Session:
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
        """How people call what is being done."""
        return f"{self.job.feature.name} with {self.job.agent.name}"


@contextmanager
def opened(seat: Seat, options: Options, stop: Stop, confirm: Confirm) -> Iterator[Session]:
    """Open a run for as long as the context lasts. Raises AigonError before any agent starts, HEAD where it was."""
    checkout = seat.checkout
    if checkout.head is None and options.resume and seat.candidate:
        _require_its_branch(seat)
    before = branch.require_sound(checkout)
    own = seat.candidate.branch if seat.candidate else branch.branch_of(checkout, options.feature)
    early = None
    if not options.resume and own in (None, before):
        early = ready(checkout, options, main=seat.main)  # what is wrong is said before anything is written
    home = repository_home(checkout.common_dir)
    opening = Opening(seat, options, confirm, home, before)
    with ExitStack() as held:
        held.enter_context(checkout_lock(home, checkout.root))
        with branch.back_on_error(checkout, before):
            session = _session(opening, _open(opening, own, early, held), stop)
        held.callback(session.world.close)
        yield session


def _require_its_branch(seat: Seat) -> None:
    """A worktree whose branch was deleted looks like a repository without commits. Raises AigonError (exit 7)."""
    checkout, candidate = seat.checkout, seat.candidate
    assert candidate is not None, "only a worktree's branch is checked out and gone"
    records = records_of(repository_home(checkout.common_dir), candidate.feature, candidate.label)
    if records.journal.exists():
        recover.require_branch(checkout, replay(records.events()))


def _open(opening: Opening, own: str | None, early: Prepared | None, held: ExitStack) -> Opened:
    """An old run where one is to be resumed, else a new one, as prepared `early` where HEAD stays. It is locked."""
    if opening.options.resume:
        name = _name(opening, own)
        records = _locked(opening, name, held)
        if not records.journal.exists():
            raise usage(
                f"There is nothing to resume for feature {name}",
                where=f".aigon/loop-state-{name}{f'-{opening.seat.label}' if opening.seat.label else ''}.json",
                hint=f"Start it: {opening.command(name, '--loop')}",
            )
        past = records.events()
        _end_leftovers(replay(past))
        return take_up(opening, records, past)
    if own and own != opening.current:
        branch.own_changes(opening.checkout, [])
        branch.enter(opening.checkout, own)
    prepared = early or ready(opening.checkout, opening.options, main=opening.seat.main)
    records = _locked(opening, prepared.feature.name_for_people, held)
    old = replay(_readable(records))
    _end_leftovers(old)
    return begin(opening, records, prepared, old)


def _locked(opening: Opening, name: str, held: ExitStack) -> Records:
    records = records_of(opening.home, name, opening.seat.label)
    held.enter_context(lock(loop_lock(opening.home, name, opening.seat.label), f"Feature {name}"))
    return records


def _name(opening: Opening, own: str | None) -> str:
    """What people call the feature, wherever its spec is by now."""
    candidate = opening.seat.candidate
    return candidate.feature if candidate else specs.name_of(opening.checkout.root, opening.options.feature, own)


def _end_leftovers(old: State) -> None:
    """An aigon that was killed could not end its agent, which would go on editing beside the next one."""
    if old.started and old.outcome is None:
        reaper.end_leftovers(old.started.run_id)


def _readable(records: Records) -> list[Event]:
    """What the old run's journal holds; nothing where it is damaged or too new, which must not hinder a new run."""
    try:
        return records.events()
    except AigonError:
        return []


def _session(opening: Opening, found: Opened, stop: Stop) -> Session:
    checkout, prepared, options = opening.checkout, found.prepared, opening.options
    rerun = options.resume_from == "ask" and opening.confirm("Run every check again, remembered passes too?")
    job = job_of(prepared, options, found.origin.commit, label=opening.seat.label, mode=opening.seat.mode)
    job = replace(job, decisions=found.records.decisions(), use_cache=job.use_cache and not rerun)
    job, record = freeze(opening, found, job)
    state = replay(list(found.past))
    world = _world(opening, found, job, state.started.run_id if state.started else new_run_id(), stop)
    world.guarded, world.frozen = record.guarded, found.records.frozen
    left = sorted({line for agent in prepared.agents if agent.kind for line in agent.kind.leaves})
    branch.exclude(checkout, left, "what coding agents leave for themselves")
    found.workspace.trusted.keep_out((*exclude_lines(job.protection.allow), *left))
    world.watch = _watch(opening, found, world)
    arena = Path(options.arena) if options.arena else None
    share(world, opening.seat.candidate, prepared.config, job.limits.max_cost, arena)
    started = _started(job, world, found, options)
    state_file = opening.seat.main / prepared.feature.state_file(job.label)
    return Session(prepared, job, world, state, found.records, state_file, found.past, (*found.events, started))


def _watch(opening: Opening, found: Opened, world: World) -> Watch:
    """A watch over git and aigon's records, which takes them as they are now for right."""
    checkout, folder = opening.checkout, found.records.folder
    state = opening.seat.main / found.prepared.feature.state_file(opening.seat.label)
    files = (
        state,
        folder / "feature.json",
        found.records.frozen,
        folder / "decisions.jsonl",
        folder / CANDIDATE,
        world.home / "repository.json",
    )
    hooks = checkout.config.get("core.hookspath", "")
    rivals = rivals_of(world.home, opening.seat.candidate)
    made = watch(found.workspace, hooks, world.home, files, found.records.journal, rivals)
    if opening.seat.candidate:
        aside = found.workspace.own / "displaced"
        made.mains = MainsOwn(
            opening.seat.main, found.workspace.trusted, aside, world.guarded, found.prepared.protection
        )
    made.begin()
    return made


def _world(opening: Opening, found: Opened, job: Job, run_id: str, stop: Stop) -> World:
    prepared, root = found.prepared, opening.checkout.root
    folder = opening.seat.main / ".aigon" / "runs" / run_id
    folder.mkdir(parents=True, exist_ok=True)
    invocation = new_run_id()
    mine = {"AIGON_INVOCATION": invocation, **_of_the_seat(opening.seat, prepared)}
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
        redact=secrets.redactor(prepared.env, *(agent.env for agent in prepared.agents)),
        # As the branch has them, whatever the agent of a turn that is still to be judged made of them.
        own_files={path: found.workspace.file_at(found.head, path, root) for path in (job.spec_path, job.log_path)},
        durations=earlier_durations(opening.home),
        partial=Partial(opening.options.on_partial, opening.confirm),
    )


def _of_the_seat(seat: Seat, prepared: Prepared) -> dict[str, str]:
    """Ports and names of its own, and the folder that it is in, for what runs in a worktree."""
    if seat.candidate is None:
        return {}
    from aigon.run.worktree import environment

    return {**environment(seat.candidate, prepared.config), "PWD": str(seat.checkout.root)}


def _started(job: Job, world: World, found: Opened, options: Options) -> RunStarted:
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
        spec_sha=recover.spec_name(prepared.spec),
        criteria_total=len(prepared.spec.criteria),
        max_iterations=job.limits.iterations,
        resumed=found.resumed,
        skip_validation=options.skip_validation,
        human_ticks=ticked_by_a_person(prepared.spec.criteria, job.decisions),
        pid=os.getpid(),
        host=socket.gethostname(),
        spent_before=found.before.usd,
        unknown_before=found.before.unknown,
    )
