"""Open a run: locks, branch, records, workspace; then hand over a job, a world and the state to start from."""

import hashlib
import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from aigon.core.errors import AigonError, environment, usage
from aigon.core.events import Event, Notice, RunStarted
from aigon.core.state import State, replay
from aigon.ports import reaper
from aigon.ports import secrets as credentials
from aigon.ports.git import Checkout
from aigon.ports.home import git_directory, repository_home
from aigon.ports.stop import Stop
from aigon.ports.store import lock
from aigon.ports.workspace import Workspace
from aigon.run import branch, recover
from aigon.run.job import Job
from aigon.run.options import Options
from aigon.run.prepare import Prepared, job_of, relocated
from aigon.run.records import Origin, Records, records_of
from aigon.run.recover import Confirm
from aigon.run.stages import to_stage
from aigon.run.world import World


@dataclass(slots=True)
class Session:
    """A run that is ready to be driven; `opening` are the events to deliver before the loop's own."""

    job: Job
    world: World
    state: State
    records: Records
    state_file: Path
    past: list[Event]
    opening: list[Event] = field(default_factory=list)

    @property
    def title(self) -> str:
        """How people call what is being done."""
        return f"{self.job.feature.name} with {self.job.rungs[0].name}"


@dataclass(slots=True)
class _Found:
    """What is there when a run is opened."""

    prepared: Prepared
    past: list[Event]
    opening: list[Event]
    head: str
    origin: Origin
    resumed: bool


@contextmanager
def opened(checkout: Checkout, prepared: Prepared, options: Options, stop: Stop, confirm: Confirm) -> Iterator[Session]:
    """Open a run for as long as the context lasts. Raises AigonError before any agent starts."""
    current = branch.require_sound(checkout)
    home = repository_home(checkout.common_dir)
    name = prepared.feature.id or prepared.feature.slug
    records = records_of(home, name)
    if options.resume and not records.journal.exists():
        raise usage(
            f"There is nothing to resume for feature {name}",
            where=prepared.feature.state_file(),
            hint=f"Start it: aigon feature-implement {name} --loop",
        )
    with ExitStack() as held:
        place = hashlib.sha256(str(checkout.root).encode()).hexdigest()[:12]
        held.enter_context(lock(home / "locks" / f"checkout-{place}.lock", "This checkout"))
        held.enter_context(lock(home / "locks" / f"feature-{name}.lock", f"Feature {name}"))
        past = records.events() if options.resume else _readable(records)
        _end_leftovers(replay(past))
        opening = _take_up if past and options.resume else _begin
        yield opening(checkout, prepared, options, stop, confirm, home, records, current, past)


def _readable(records: Records) -> list[Event]:
    """What the old run's journal holds; nothing where it is damaged or too new, which must not hinder a new run."""
    try:
        return records.events()
    except AigonError:
        return []


def _end_leftovers(old: State) -> None:
    """An aigon that was killed could not end its agent, which would go on editing beside the next one."""
    if old.started and old.outcome is None:
        reaper.end_leftovers(old.started.run_id)


def _begin(
    checkout: Checkout,
    prepared: Prepared,
    options: Options,
    stop: Stop,
    _confirm: Confirm,
    home: Path,
    records: Records,
    current: str,
    past: list[Event],
) -> Session:
    """A new run: the spec in progress, on its branch, everything committed; an old run's record is put aside."""
    old = replay(past)
    _refuse_unfinished(checkout, prepared, old)
    own = branch.own_changes(checkout, [prepared.feature.path])
    branch.enter(checkout, prepared.branch)
    branch.ignore_runtime_files(checkout)
    workspace = Workspace(checkout, git_directory(home, checkout.git_dir, checkout.common_dir), prepared.branch)
    feature, moved = to_stage(checkout.root, prepared.feature, "in-progress")
    branch.take_up(workspace.trusted, feature, [*own, *moved])
    prepared = relocated(prepared, checkout.root, feature)
    workspace.take_over_index()
    head = str(workspace.tip())
    records.archive(old.started.run_id if old.started else f"unread-{_run_id()}")
    origin = _origin(workspace, records, current, prepared, head)
    found = _Found(prepared, [], [], head, origin, resumed=False)
    return _session(checkout, options, stop, home, records, workspace, found)


def _refuse_unfinished(checkout: Checkout, prepared: Prepared, state: State) -> None:
    """A new run over a broken-off turn would mix its edits in; `--resume` knows what to do with them."""
    if state.iteration > state.finished and checkout.branch == prepared.branch and checkout.changed():
        name = prepared.feature.id or prepared.feature.slug
        raise environment(
            f"The last run of feature {name} stopped in the middle of iteration {state.iteration}",
            where=", ".join(checkout.changed()[:5]),
            hint=f"aigon feature-implement {name} --resume   or   git stash --include-untracked",
        )


def _origin(workspace: Workspace, records: Records, current: str, prepared: Prepared, head: str) -> Origin:
    """Where the feature began: kept over runs as long as the branch still contains it."""
    known = records.origin()
    if known and workspace.is_ancestor(known.commit, head):
        return known
    origin = Origin(known.branch if known else "" if current == prepared.branch else current, head)
    records.set_origin(origin)
    return origin


def _take_up(
    checkout: Checkout,
    prepared: Prepared,
    options: Options,
    stop: Stop,
    confirm: Confirm,
    home: Path,
    records: Records,
    current: str,
    past: list[Event],
) -> Session:
    """An old run goes on: what was published is counted, what was broken off is parked, people's commits are kept."""
    state = replay(past)
    started = state.started
    assert started is not None, "a journal begins with its run_started"
    recover.require_branch(checkout, state)
    if current != started.branch:
        branch.own_changes(checkout, [prepared.feature.path])
        branch.enter(checkout, started.branch)
    recover.remove_own_lock(
        checkout.git_dir,
        git_directory(home, checkout.git_dir, checkout.common_dir),
        intended=state.intended is not None,
    )
    workspace = Workspace(checkout, git_directory(home, checkout.git_dir, checkout.common_dir), started.branch)
    opening: list[Event] = []
    if state.intended and (finished := recover.published(workspace, state)):
        opening.append(finished)
        state = state.apply(finished)
    tip = str(workspace.tip())
    if tip != state.checkpoint:
        opening.append(Notice(World.now(), f"your commits since the run stopped are kept; it goes on from {tip[:12]}"))
    spec = recover.spec_of(workspace, prepared.spec, prepared.feature.path, state, tip)
    edited = recover.spec_name(spec) != started.spec_sha
    if edited:
        recover.accept_spec(_before(checkout, state), spec, prepared.feature.path, options.accept_spec, confirm)
    keep = state.half_turn and _keep(options, state, confirm)
    if state.half_turn:
        opening += recover.roll_back(workspace, prepared.feature, state, tip, World.now(), keep=keep)
        workspace.write(prepared.feature.path, spec.raw)
    prepared = relocated(prepared, checkout.root, prepared.feature)
    head = _head(checkout, workspace, prepared, tip, unjudged=keep or state.turn_ended, edited=edited)
    origin = records.origin() or Origin("", started.base_commit)
    found = _Found(prepared, past, opening, head, origin, resumed=True)
    return _session(checkout, options, stop, home, records, workspace, found)


def _before(checkout: Checkout, state: State) -> bytes:
    """The spec as the last checkpoint has it."""
    assert state.started is not None
    return (checkout.ask("show", f"{state.checkpoint}:{state.started.spec_path}") or "").encode()


def _keep(options: Options, state: State, confirm: Confirm) -> bool:
    """Whether the files of a turn that was broken off stay in the work tree."""
    question = f"Iteration {state.iteration} was broken off. Keep its half-finished work in the work tree?"
    return options.on_partial == "keep" or (options.on_partial == "ask" and confirm(question))


def _head(
    checkout: Checkout, workspace: Workspace, prepared: Prepared, tip: str, *, unjudged: bool, edited: bool
) -> str:
    """The commit to start from: it holds an edited spec and aigon's own changes; work that is to be judged waits."""
    spec = prepared.feature.path
    own = ([spec] if edited else []) if unjudged else branch.own_changes(checkout, [spec])
    taken = branch.take_up(workspace.trusted, prepared.feature, own)
    workspace.take_over_index()
    return taken or tip


def _session(
    checkout: Checkout,
    options: Options,
    stop: Stop,
    home: Path,
    records: Records,
    workspace: Workspace,
    found: _Found,
) -> Session:
    prepared = found.prepared
    job = replace(job_of(prepared, options, found.origin.commit), decisions=records.decisions())
    state = replay(found.past)
    run_id = state.started.run_id if state.started else _run_id()
    world = World(
        run_id=run_id,
        workspace=workspace,
        checkout=checkout.root,
        folder=checkout.root / ".aigon" / "runs" / run_id,
        home=home,
        stop=stop,
        agent_env=prepared.env,
        check_env={**prepared.check_env, "AIGON_RUN": run_id},
        redact=credentials.redactor(prepared.env, prepared.agent.env if prepared.agent else {}),
        own_files=_own_files(checkout.root, workspace, job, found.head),
    )
    world.folder.mkdir(parents=True, exist_ok=True)
    started = _started(job, world, found, options)
    session = Session(job, world, state, records, checkout.root / prepared.feature.state_file(), found.past)
    session.opening = [*found.opening, started]
    return session


def _own_files(root: Path, workspace: Workspace, job: Job, head: str) -> dict[str, bytes | None]:
    """Spec and log as the branch has them, whatever the agent of a turn that is still to be judged made of them."""
    return {path: workspace.file_at(head, path, root) for path in (job.spec_path, job.log_path)}


def _started(job: Job, world: World, found: _Found, options: Options) -> RunStarted:
    prepared = found.prepared
    ticked = tuple(c.number for c in prepared.spec.criteria if c.kind == "human" and c.checked)
    return RunStarted(
        at=world.now(),
        run_id=world.run_id,
        feature_id=prepared.feature.id or prepared.feature.slug,
        slug=prepared.feature.slug,
        label=job.label,
        agent=job.rungs[0].name,
        mode="solo",
        branch=world.workspace.branch,
        base_commit=job.base_commit,
        head=found.head,
        spec_path=job.spec_path,
        spec_sha=recover.spec_name(prepared.spec),
        criteria_total=len(prepared.spec.criteria),
        max_iterations=job.limits.iterations,
        resumed=found.resumed,
        skip_validation=options.skip_validation,
        human_ticks=ticked,
        pid=os.getpid(),
        host=socket.gethostname(),
    )


def _run_id() -> str:
    return f"{datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"
