"""Implement a feature: prepare, open, drive."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import get_args

from msgspec import Struct
from msgspec.structs import replace

from aigon.checks.project_checks import NAME_A_CHECK
from aigon.config.prices import add_known_prices, describe_stale_prices, find_price
from aigon.errors import AigonError
from aigon.files.atomic import pin_folder
from aigon.git.person import Checkout
from aigon.hooks.hooked_loop import add_hooks
from aigon.hooks.notifications import make_notifiers
from aigon.isolation.check_sandbox import announce_no_check_sandbox
from aigon.isolation.run_sandbox import RunSandbox, announce_sandbox
from aigon.job import branch
from aigon.job.job import Job, Seat
from aigon.job.options import Options
from aigon.job.world import World
from aigon.journal.decisions import find_decision
from aigon.journal.events import Notice, RunFinished, RunStarted
from aigon.journal.sinks import (
    BackgroundObservers,
    FailPoints,
    JournalSink,
    Observer,
    RecordingStage,
    parse_fail_points,
)
from aigon.journal.spending import estimate_cost_range
from aigon.journal.state_file import StateFileSink
from aigon.loop.loop import Assess, Durable, Loop, Recorder, assess_and_prove, drive_loop, run_loop
from aigon.loop.prompt import render_prompt
from aigon.model.agents import format_run_command
from aigon.model.criteria import HIDDEN, find_bound_checks
from aigon.model.outcomes import RunPurpose
from aigon.model.requests import describe_no_judge
from aigon.process import orphans
from aigon.process.running import keep_note
from aigon.process.stop import Stop
from aigon.process.watchdog import run_watchdog
from aigon.proof.proposed_allow import describe_proposals
from aigon.proof.vacuity import criterion_key, describe_passing, list_warnings, own_proof
from aigon.run.opening import Confirm
from aigon.run.run_world import has_lent_repository
from aigon.run.seating import take_seat
from aigon.run.session import Session, open_session
from aigon.run.sinks import SinkContext, open_sinks
from aigon.text.amounts import estimate_tokens, format_cost_range, format_count

Observers = Callable[[Session], Sequence[Observer]]


class Task(Struct, frozen=True):
    """The purpose of a run that builds no feature: `adapt` shapes the job, `assess_tree` decides on a snapshot.

    In the file `request` another aigon asks for its end, as well as in the run's own; `again` continues it.
    """

    purpose: RunPurpose = "build"

    adapt: Callable[[Job], Job] = lambda job: job
    assess_tree: Assess = assess_and_prove
    request: Path | None = None
    again: str = ""


BUILDING = Task()


def implement(
    checkout: Checkout, options: Options, *, observers: Observers, confirm: Confirm, announce: bool = True
) -> RunFinished:
    """Run the loop for one feature and one agent to its end, in the seat that `take_seat` chooses.

    Raises AigonError before or instead of a run. With `announce` the first Ctrl+C is answered on standard error; an
    observer that owns the screen answers itself.
    """
    with take_seat(checkout, options, say) as (seat, spelled):
        return run_in_seat(seat, spelled, observers, confirm, announce=announce)


def run_in_seat(
    seat: Seat,
    options: Options,
    observers: Observers,
    confirm: Confirm,
    *,
    announce: bool = True,
    task: Task = BUILDING,
) -> RunFinished:
    """Run the loop in a seat to its end. Raises AigonError before or instead of a run."""
    again = task.again or format_run_command(options.feature, seat.label)
    stop = Stop(
        [seat.main / name for name in branch.STOP_FILES],
        announce=lambda _signal: _say_how_to_stop(again) if announce else None,
    )
    with contextlib.ExitStack() as held:
        held.enter_context(stop.handling())
        session = held.enter_context(open_session(seat, options, stop, confirm))
        opening = [replace(e, purpose=task.purpose) if isinstance(e, RunStarted) else e for e in session.opening]
        session = replace(session, job=replace(task.adapt(session.job), purpose=task.purpose), opening=opening)
        job, world, state, config = session.job, session.world, session.state, session.prepared.config
        whose = (job.feature.name_for_people, job.label)
        running = held.enter_context(keep_note(world.home, world.invocation, world.run_id, *whose))
        world = replace(world, guardian=held.enter_context(run_watchdog(world.invocation, running)))
        orphans.adopt_orphans()
        session = replace(session, world=world)
        stop.requests = tuple(filter(None, (running.request, task.request)))
        if not options.allow_visible and any(criterion.kind == HIDDEN for criterion in job.spec.criteria):
            from aigon.proof.held_out import require_out_of_sight

            require_out_of_sight(job, world)
        watching = [*observers(session), *_list_own_observers(session, in_arena=bool(options.arena))]
        recorder = Recorder(_open_records(session), watching, world.redact)
        loop: Loop | None = None
        try:
            state = recorder.deliver_all([*session.opening, *_list_notices(session)], state)
            steps = run_loop(job, world, state, task.assess_tree)
            loop = add_hooks(steps, config, job, world, state, session.state)
            ended = drive_loop(loop, state, recorder)
        finally:
            stop.halt()
            if loop:
                loop.close()  # nothing of an assessment that was interrupted may still run when survivors are swept
            world.sweep()
            recorder.close()
    if ended.status in ("needs_human", "stopped"):
        from aigon.run.approvals import update_pages

        update_pages(seat.checkout)
    return ended


def _list_own_observers(session: Session, *, in_arena: bool) -> Iterator[Observer]:
    """Yield what tells services of the run, and what writes files for people."""
    job, world, config = session.job, session.world, session.prepared.config
    if config.notify:
        yield from make_notifiers(config, job, world, session.state, in_arena=in_arena)
    for folder in (world.folder, world.folder.parent.parent):  # views are written while an agent works
        pin_folder(folder)
    whose = (job.feature.name_for_people, job.label, world.run_id)
    context = SinkContext(*whose, world.workspace.root, world.folder, session.past, session.state, config.views.toon)
    yield BackgroundObservers(open_sinks(context))


def _open_records(session: Session) -> tuple[Durable, ...]:
    """Return the journal, then what is made of it, with fail points around them if a test asks for some."""
    journal = JournalSink(session.records.journal)
    state_file = StateFileSink(session.state_file, session.past)
    points = parse_fail_points(os.environ)
    if not points:
        return (journal, state_file)
    before, between, after = (
        FailPoints(stage, tuple(points), session.world.stop.rest) for stage in get_args(RecordingStage)
    )
    return (before, journal, between, state_file, after)


def _list_notices(session: Session) -> Iterator[Notice]:
    """Yield what a person should know before the first paid turn."""
    prepared, job, world, now = session.prepared, session.job, session.world, World.now()
    for warning in list_warnings(prepared.spec):
        yield Notice(now, f"{job.spec_path}:{warning.line}: {warning.message}", "warning")
    if not job.checks and not job.demand.skip_validation:
        text = "This project has no checks: only the commands of criteria or a person can prove a criterion"
        yield Notice(now, f"{text}. To check more, {NAME_A_CHECK}", "warning")
    yield from announce_sandbox(world.get(RunSandbox), now)
    yield from announce_no_check_sandbox(prepared.config, world.get(RunSandbox).wanted, world.home, now)
    if world.get(RunSandbox).mechanism == "landlock" and not has_lent_repository(world):
        text = "Landlock cannot keep agents out of .git in the main checkout: what they delete there is put back;"
        yield Notice(now, f"{text} in a worktree (--worktree) they have a repository of their own")
    passed = {c.number for c in job.spec.criteria if job.base_results.get(criterion_key(c))}
    for text in (
        *_list_missing_checks(job),
        *own_proof(job.spec.criteria, lambda path: _exists_or_is_built(world, path)),
        *describe_passing(job.spec.criteria, passed),
    ):
        yield Notice(now, text, "warning")
    for text in describe_proposals(prepared.proposals, job.spec_path):
        yield Notice(now, text.strip(), "warning")
    yield from _announce_judge(session, now)
    yield from (Notice(now, text) for text in prepared.notes)
    yield from (Notice(now, text, "warning") for text in prepared.warnings)
    tokens = estimate_tokens(render_prompt(job, world, session.state, session.state.last_number + 1))
    models = _list_models(job)
    if text := describe_stale_prices(add_known_prices(job.prices, *models), date.today(), models):
        yield Notice(now, text, "warning")
    cap = f"capped at ${job.limits.max_cost:.2f}" if job.limits.max_cost else "cap it with --max-cost"
    if not job.limits.iterations:
        return
    turns = f"up to {format_count(job.limits.iterations, 'turn')} with {job.agent.name}, ~{tokens:,} prompt tokens each"
    yield Notice(now, f"{turns}. Cost: {render_price_tag(job, tokens)}; {cap}")


def _exists_or_is_built(world: World, path: str) -> bool:
    """Return whether a file is there, or git ignores it, since builds make such files."""
    if (world.workspace.root / path).exists():
        return True
    with contextlib.suppress(AigonError):  # a path outside of the repository
        return bool(world.workspace.trusted.find_ignored([path]))
    return False


def _list_missing_checks(job: Job) -> Iterator[str]:
    """Yield the criteria that nothing can prove."""
    roles = {check.name: check.role for check in job.checks}
    for criterion in () if job.demand.skip_validation else job.spec.criteria:
        if criterion.kind == "check" and not find_bound_checks(criterion.command or "", roles):
            yield (
                f"Criterion {criterion.number} needs a check '{criterion.command}', which this project does not have"
                f" (there are: {', '.join(sorted(roles)) or 'none'}): nothing can prove it until the project has it"
            )


def _announce_judge(session: Session, now: str) -> Iterator[Notice]:
    prepared, job, look = session.prepared, session.job, session.state.last
    content = look.content if look else ""
    waiting = [
        c.number for c in job.spec.criteria if c.kind == "judge" and not find_decision(job.decisions, c, content)
    ]
    if not waiting:
        return
    name, has_tests = job.feature.name_for_people, bool(job.acceptance)
    is_begun = bool(session.world.workspace.history(job.base_commit))
    if prepared.judge:
        text = f"judge: {prepared.judge.backend} ({prepared.judge.model}) for {', '.join(map(str, waiting))}"
        instead = f"`aigon feature-prove {name}` has tests written instead, before the work"
        yield Notice(now, text if is_begun or has_tests else f"{text}; {instead}")
    else:
        text = describe_no_judge(waiting, name, has_tests=has_tests, is_begun=is_begun)
        yield Notice(now, text, "warning")


def say(text: str) -> None:
    """Print what comes before the run, on standard error."""
    print(f"aigon: {text}", file=sys.stderr)


def _say_how_to_stop(again: str) -> None:
    # Written past Python's buffers: a signal handler may interrupt somebody who is just using them.
    text = (
        "\naigon: finishing this iteration, then stopping. Ctrl+C again stops at once; nothing is lost either way.\n"
        f"To continue later: {again}\n"
    )
    with contextlib.suppress(OSError):
        os.write(2, text.encode(errors="replace"))


def estimate_cost(job: Job, tokens: int) -> tuple[float, float] | None:
    """Return the least and the most in US dollars for a first prompt of `tokens`; None if a model has no price.

    The dearest model that the escalation steps can reach in this many turns sets the upper end.
    """
    models = _list_models(job)
    table = add_known_prices(job.prices, *models)
    quotes = [find_price(table, model) for model in models]
    ranges = [estimate_cost_range(tokens, job.limits.iterations, quote.price) for quote in quotes if quote]
    known = [each for each in ranges if each]
    if not known or len(known) < len(models):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def render_price_tag(job: Job, tokens: int) -> str:
    """Return `roughly $0.40 to $6`, or that the cost is unknown."""
    if cost := estimate_cost(job, tokens):
        return f"roughly {format_cost_range(*cost)}"
    models = ", ".join(filter(None, _list_models(job)))
    return "unknown" + (f" (no price for {models})" if models else "")


def _list_models(job: Job) -> list[str]:
    """Return the models of the escalation steps that this invocation can reach, each once."""
    reached = job.steps if job.limits.iterations > 1 else job.steps[:1]
    return list(dict.fromkeys(step.agent.model for step in reached))
