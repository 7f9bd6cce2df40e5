"""Assess the files as they are, without a run: iteration 0 alone. No agent, no commit, no state.

The repository is only read; git's objects go to a temporary folder.
"""

import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from aigon.checks.project_checks import require_tools
from aigon.checks.reuse import find_dependency_folders
from aigon.checks.schedule import Schedule, add_builds, run_checks
from aigon.errors import Exit
from aigon.files.folders import TemporaryFolder
from aigon.files.home import find_home
from aigon.git.person import Checkout
from aigon.git.workspace import Tip, Workspace
from aigon.isolation.check_sandbox import CheckSandbox, make_check_sandbox
from aigon.isolation.mechanisms import CLOSING
from aigon.job.assessment import Assessment, Snapshot, describe_nothing_built, find_proof, is_hollow
from aigon.job.job import Job
from aigon.job.options import Options
from aigon.job.results import Result, load_durations
from aigon.job.world import World
from aigon.journal.decisions import find_human_ticks
from aigon.journal.events import Event, IterationFinished
from aigon.journal.records import Origin, Records, find_candidate_at, locate_records
from aigon.journal.sinks import Observer
from aigon.journal.state import State, replay
from aigon.loop import decide
from aigon.loop.assess import assess
from aigon.loop.guards.limits import unavailable
from aigon.loop.loop import Recorder
from aigon.model.checks import Check
from aigon.model.criteria import find_bound_checks
from aigon.model.outcomes import Outcome, Stopped
from aigon.observation import Observation
from aigon.process import capacity, orphans
from aigon.process.stop import Stop
from aigon.proof import frozen
from aigon.proof.frozen import find_baseline
from aigon.proof.prove import frozen_of, prove
from aigon.proof.rooms import open_room, rooms_for
from aigon.run.prepare import Prepared, build_job, prepare
from aigon.secrets import redaction

T = TypeVar("T")
MayRun = Callable[[Sequence[str]], bool]
"""Decides whether these commands may run although no person has seen them and nothing keeps them to a copy."""


class ValidationPlan(Struct, frozen=True):
    """The plan of a validation."""

    prepared: Prepared
    checks: tuple[Check, ...]


class ValidationReport(Struct, frozen=True):
    """The findings of a validation. `observed` is what a run saw deciding commands read on the base."""

    plan: ValidationPlan
    assessment: Assessment
    outcome: Outcome
    observed: Observation


def validate(
    checkout: Checkout,
    options: Options,
    observers: Sequence[Observer],
    announce: Callable[[ValidationPlan], None] = lambda _plan: None,
) -> ValidationReport:
    """Assess the files once, after `announce` has got what will be run.

    Raises AigonError as a run would before it starts.
    """
    prepared = prepare(checkout, options, with_agent=False)
    plan = ValidationPlan(prepared, () if options.skip_validation else prepared.checks.checks)
    announce(plan)
    require_tools(plan.checks)
    with open_present_world(checkout, prepared) as (world, job, snapshot):
        used = _count_turns(checkout, prepared)
        assessment = assess_once(job, world, snapshot, Recorder((), observers), used)
        outcome = _decide_outcome(job, assessment, world, used)
        record = frozen_of(job, world)
    observed = record.observed if record.base == job.base_commit else Observation()
    return ValidationReport(plan, assessment, outcome, observed)


@contextmanager
def open_present_world(checkout: Checkout, prepared: Prepared) -> Iterator[tuple[World, Job, Snapshot]]:
    """Yield a world for the files as they are, the job that they are assessed by, and a snapshot of them."""
    home, records = find_home(checkout.common_dir), _find_records(checkout, prepared)
    more = {
        **({"home": home, "durations": load_durations(home)} if home else {}),
        "frozen": records.frozen if records else None,
    }
    with (
        TemporaryFolder("validate") as folder,
        open_world("validate", checkout, prepared, folder, **more) as world,
    ):
        yield world, *_snapshot_job(checkout, prepared, world, records)


def _snapshot_job(
    checkout: Checkout, prepared: Prepared, world: World, records: Records | None
) -> tuple[Job, Snapshot]:
    workspace = world.workspace
    base = _find_baseline(checkout, workspace, prepared, records.origin() if records else None)
    # If nobody knows what the feature began with, nobody can say that nothing was built.
    prepared = replace(prepared, options=replace(prepared.options, accept_passing=base is None))
    job = build_job(prepared, base or checkout.head or workspace.empty_tree())
    known = frozen.load(records.frozen) if records else None
    job = replace(
        job,
        decisions=records.decisions() if records else (),
        base_results=known.passed if known and known.base == base else {},
    )
    complaints, commit = workspace.snapshot(), job.base_commit
    return job, Snapshot(0, Tip(commit, commit), workspace, commit, job.own_files, complaints)


def _find_records(checkout: Checkout, prepared: Prepared) -> Records | None:
    home = find_home(checkout.common_dir)
    seat = find_candidate_at(home, checkout.root)
    return locate_records(home, prepared.feature.name_for_people, seat.label if seat else "") if home else None


def _count_turns(checkout: Checkout, prepared: Prepared) -> int:
    """Return how many turns agents had in the feature's run; one if a person accepted that all passes without any."""
    records = _find_records(checkout, prepared)
    past = replay(records.each()) if records else State()
    accepted = past.started and past.started.choices and past.started.choices.accept_passing
    return past.used or int(bool(accepted))


def _find_baseline(checkout: Checkout, workspace: Workspace, prepared: Prepared, origin: Origin | None) -> str | None:
    """Return the commit that the feature began with, or will begin with; None if nothing tells."""
    if origin and checkout.commit_of(origin.commit):
        return origin.commit
    if checkout.head and checkout.branch == prepared.branch:
        return find_baseline(workspace.trusted, checkout.head, "")
    return checkout.head if prepared.feature.stage in ("inbox", "backlog") else None


def assess_once(job: Job, world: World, snapshot: Snapshot, recorder: Recorder, used: int = 0) -> Assessment:
    """Assess a snapshot after `used` turns and, if every criterion passed, run the proof.

    `recorder` shows their events.
    """
    state = State(human_ticks=find_human_ticks(job.spec.criteria, job.decisions), used=used)
    assessment = run_to_end(assess(job, world, snapshot, state), state, recorder.show)
    return run_to_end(prove(job, world, snapshot, assessment, state), state, recorder.show)


def _decide_outcome(job: Job, assessment: Assessment, world: World, used: int) -> Outcome:
    finished = IterationFinished(
        at=world.now(),
        number=1,
        started_at="",
        checkpoint="",
        findings=assessment.findings,
        verdicts=assessment.verdicts,
        changes=(),
        fingerprint=assessment.fingerprint,
        score=assessment.score,
        feedback="",
        content=assessment.content,
        concerns=assessment.concerns,
        passed_at_base=assessment.passed_at_base,
        adds_nothing=assessment.adds_nothing,
    )
    state = State(finished=1, last=finished)
    if stopped := decide.find_interruption(job.limits, state, world.probe()):
        return stopped
    proven = find_proof(job.demand, assessment.findings, assessment.verdicts)
    if proven and not job.demand.accept_passing and is_hollow(job.demand, finished, worked=used > 0):
        return describe_nothing_built(job.demand, finished)
    waiting = unavailable(job.limits, state, world.probe()) or decide.needs_human(job.demand, state, patient=False)
    return proven or waiting or Stopped("iterations", "criteria or checks are open", Exit.STOPPED)


@contextmanager
def open_world(name: str, checkout: Checkout, prepared: Prepared, folder: Path, **more: Any) -> Iterator[World]:
    """Yield a world for the files of `checkout` that writes nothing but into `folder`; `more` are fields of it.

    The first Ctrl+C already ends everything: nothing would be lost by it. What is left running is ended as well.
    """
    orphans.adopt_orphans()
    with closing(Stop(patient=False)) as stop, stop.handling():
        world = _make_world(name, checkout, prepared, folder, stop, **more)
        try:
            yield world
        finally:
            world.close()
            orphans.sweep()


def _make_world(name: str, checkout: Checkout, prepared: Prepared, folder: Path, stop: Stop, **more: Any) -> World:
    world = World(
        **{
            "run_id": name,
            "workspace": Workspace(checkout, folder / "git", checkout.branch or "", objects=folder / "objects"),
            "checkout": checkout.root,
            "folder": folder / "run",
            "home": folder,
            "rooms": folder / "rooms",
            "stop": stop,
            "agent_env": {},
            "check_env": {**prepared.check_env, "AIGON_RUN": name},
            "redact": redaction.make_redactor(prepared.env),
            "keeps": False,
            **more,
        }
    )
    config, env = prepared.config, world.check_env
    wanted: Any = os.environ.get("AIGON_SANDBOX")
    if box := make_check_sandbox(checkout, checkout.root, config, prepared.proof, env, folder, name, wanted):
        world.attend(box)
    return world


def run_to_end(steps: Generator[Event, State, T], state: State, show: Callable[[Event], None]) -> T:
    """Run a part of the loop on its own, with `state` throughout, and return its result."""
    try:
        event = next(steps)
        while True:
            show(event)
            event = steps.send(state)
    except StopIteration as end:
        result: T = end.value
        return result


def select_checks(checks: Sequence[Check], wanted: Sequence[str]) -> tuple[Check, ...]:
    """Return the checks that criteria bound to these names and roles rest on."""
    roles = {check.name: str(check.role) for check in checks}
    names = {name for each in wanted for name in find_bound_checks(each, roles)}
    return tuple(check for check in checks if check.name in names)


def run_on_copy(
    checkout: Checkout,
    prepared: Prepared,
    checks: Sequence[Check],
    timeout: float,
    doubtful: Mapping[str, str],
    may_run: MayRun,
) -> dict[str, Result]:
    """Run `checks` side by side in a clean room, each for at most `timeout` seconds, and return the results by name.

    `doubtful` are the commands that no person has seen, by check. Where a sandbox can keep them from the person's files
    and from every network, they run in one. Elsewhere they only run if `may_run` says so.

    Raises KeyboardInterrupt if the person stopped it, AigonError for a repository that cannot be assessed.
    """
    if not checks:
        return {}
    short = [replace(check, timeout=min(check.timeout, timeout), remember=False) for check in checks]
    with (
        TemporaryFolder("compile") as folder,
        open_world("spec-compile", checkout, prepared, folder) as world,
    ):
        world.workspace.snapshot()
        job = build_job(prepared, checkout.head or world.workspace.empty_tree())
        before, tree = find_dependency_folders(checkout.root, job.proof.setups), world.workspace.tree()
        rooms = rooms_for(job, world, tree, before, world.folder)
        box = world.find(CheckSandbox)
        is_confined = bool(box and {box.mechanism, rooms.mechanism} <= {*CLOSING})
        is_allowed = is_confined or not doubtful or may_run([*doubtful.values()])
        known = [check for check in short if check.name not in doubtful]
        unseen = [check for check in short if check.name in doubtful] if is_allowed else []
        results = dict[str, Result]()
        for some, own in ((known, rooms), (unseen, replace(rooms, apart=is_confined))):
            if some and not world.stop.now:
                with open_room(job, world, own, tree) as (inside, _):
                    results |= _run_together(inside, add_builds(some, job.checks))
        if world.stop.reason:
            raise KeyboardInterrupt
    return results


def _run_together(world: World, checks: Sequence[Check]) -> dict[str, Result]:
    plan = Schedule(
        number=0,
        folder=world.folder,
        content_key=lambda _paths: "",
        durations={},
        slots=capacity.count_slots(),
        stop_on_first_failure=False,
        use_cache=False,
    )
    results = run_to_end(run_checks(world, checks, plan), State(), lambda _event: None)
    return {check.name: result for check, result in zip(checks, results, strict=True)}
