"""Iteration 0 alone: assess the files as they are. No agent, no commit, no state."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct
from msgspec.structs import replace

from aigon.checks.project_checks import require_tools
from aigon.errors import Exit
from aigon.files.home import find_home
from aigon.files.temporary import TemporaryFolder
from aigon.git.person import Checkout
from aigon.git.workspace import Tip, Workspace
from aigon.job.assessment import Assessment, Snapshot
from aigon.job.demand import describe_nothing_built, find_proof, is_hollow
from aigon.job.job import Job
from aigon.job.options import Options
from aigon.job.world import World
from aigon.journal.decisions import find_human_ticks
from aigon.journal.durations import load_durations
from aigon.journal.events import IterationFinished
from aigon.journal.records import Origin, Records, find_candidate_at, locate_records
from aigon.journal.sinks import Observer
from aigon.journal.state import State, replay
from aigon.loop import decide
from aigon.loop.assess import assess
from aigon.loop.drive import Recorder
from aigon.loop.guards.availability import unavailable
from aigon.model.checks import Check
from aigon.model.outcomes import Outcome, Stopped
from aigon.observation import Observation
from aigon.proof import frozen
from aigon.proof.baseline import find_baseline
from aigon.proof.prove import frozen_of, prove
from aigon.run.prepare import Prepared, build_job, prepare
from aigon.run.present_tree import open_world, run_to_end


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
