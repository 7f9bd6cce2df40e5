"""The end of a run: one event with the outcome and a summary that fits on a screen."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace

from aigon.job.job import Job
from aigon.job.partial import stopped_short
from aigon.job.world import World
from aigon.journal import best
from aigon.journal.events import Event, RunFinished
from aigon.journal.state import State
from aigon.loop import summary as report
from aigon.loop.issues import advice, remaining
from aigon.model.candidates import describe_missing_failing_criterion, format_branch_name, format_run_command
from aigon.model.changes import Concern
from aigon.model.judging import describe_no_judge
from aigon.model.outcomes import (
    Interrupted,
    Met,
    NeedsHuman,
    Outcome,
    Refused,
    Stopped,
    Unavailable,
    get_exit_code,
    get_status,
)
from aigon.proof.vacuity import describe_passing
from aigon.run.rolling_back import better, said, settle


def finish(job: Job, world: World, outcome: Outcome, state: State) -> Generator[Event, State, Outcome]:
    """Say how the run ended, after going back to the best checkpoint where that is wanted."""
    state = yield from settle(job, world, outcome, state)
    tip = world.workspace.tip() or ""
    issues: tuple[str, ...] = ()
    if isinstance(outcome, Met):
        outcome = replace(outcome, iteration=state.last.number if state.last else 0)
    elif state.last:
        issues = remaining(state.last.findings, state.last.verdicts, job.spec.criteria)
    text = summary(job, world, outcome, state)
    code = int(get_exit_code(outcome))
    yield RunFinished(world.now(), outcome, get_status(outcome), code, text, tip, state.done, issues)
    return outcome


def summary(job: Job, world: World, outcome: Outcome, state: State) -> str:
    """Outcome, what is proven, what is not and why, the commits, the next command."""
    look = state.last
    return report.summary(
        outcome=outcome,
        spec=job.spec,
        verdicts=look.verdicts if look else (),
        findings=look.findings if look else (),
        commits=world.workspace.history(job.base_commit),
        spend=state.spend,
        log=job.log_path if world.own_files.get(job.log_path) else "",
        next_command=next_command(job, outcome, state),
        elapsed=world.elapsed(),
        waited=world.waited,
        about_branch=_about_branch(job, outcome, state),
        turn=state.turn,
        root=str(world.checkout),
        warnings=(
            *describe_passing(job.spec.criteria, look.passed_at_base if look else ()),
            *_about_judge(job, outcome),
        ),
        iterations=state.done,
        advice=_advice(job, outcome, state),
    )


def _advice(job: Job, outcome: Outcome, state: State) -> Sequence[str]:
    if not state.done or isinstance(outcome, Met | Interrupted):
        return ()
    return advice(state, {check.name: check.cwd for check in job.checks})


def _about_judge(job: Job, outcome: Outcome) -> Iterator[str]:
    """Yield what would have decided the criteria that wait for a person only because there is no judge."""
    numbers = outcome.criteria if isinstance(outcome, NeedsHuman) and not outcome.nothing_built else ()
    waiting = [c.number for c in job.spec.criteria if c.kind == "judge" and c.number in numbers]
    if waiting and job.judge is None:
        yield describe_no_judge(waiting, job.feature.name_for_people)


def _about_branch(job: Job, outcome: Outcome, state: State) -> str:
    """Where the branch stands, if that is not where the last iteration ended, or not where it is best."""
    if went := state.rolled_back:
        far = f"{best.name(state.last)} ({best.how_far(state.last, state.base)})" if state.last else ""
        return f"went back to {far}; {_undone(state)} parked as {went.ref}"
    there = better(state) if stopped_short(outcome, state) else None
    if there is None:
        return ""
    back = f"{format_run_command(job.feature.name_for_people, job.label)} --resume-from best"
    return f"The best checkpoint is {said(there, state)}. To park what came after it and continue from there:\n  {back}"


def _undone(state: State) -> str:
    """`iterations 3 and 4 are`."""
    first, *_, last = (*state.taken_back, state.undone)
    if first == last:
        return f"iteration {last} is"
    return f"iterations {first} {'and' if last == first + 1 else 'to'} {last} are"


def next_command(job: Job, outcome: Outcome, state: State) -> str:
    """What a person would type next."""
    name = job.feature.name_for_people
    resume = format_run_command(name, job.label)
    match outcome:
        case Met():
            return f"aigon feature-done {name}{f' {job.label}' if job.label else ''}"
        case NeedsHuman(nothing_built=True):
            return describe_missing_failing_criterion(name, job.label, job.spec_path)
        case NeedsHuman(criteria=numbers):
            return _by_a_person(job, resume, numbers, state.last.concerns if state.last else ())
        case Stopped(guard="stop-file"):
            return f"remove the stop file, then {resume}"
        case Stopped(guard="cost") if not (state.unpriced or state.lost):
            return f"{resume} --max-cost USD"
        case Refused():
            return f"aigon feature-status {name}"
        case Unavailable() if state.turn and state.turn.end == "bad_credentials":
            return f"{_login(job, state.turn.agent)}, then {resume}"
        case _:
            return resume


def _login(job: Job, agent: str) -> str:
    """How a person logs in to the agent of this name; its configuration may have a key as well."""
    kinds = (step.agent.kind for ladder in (job.rungs, *job.fallback) for step in ladder if step.agent.name == agent)
    kind = next((each for each in kinds if each), None)
    return f"log in to {kind.title} ({kind.login})" if kind and kind.login else f"give {agent} a key that is good"


def _by_a_person(job: Job, resume: str, numbers: Sequence[int], concerns: Sequence[Concern]) -> str:
    """How a person settles what is open: by approval where that decides, else by what was missing."""
    name, whose = job.feature.name_for_people, f" --agent {job.label}" if job.label else ""
    rules = list(dict.fromkeys(concern.rule for concern in concerns if concern.level == "review"))
    decidable = [str(c.number) for c in job.spec.criteria if c.number in numbers and c.kind in ("human", "judge")]
    if rules:  # a judge's word waits for these: approved, it is asked again
        approve = f"aigon approve {name} {' '.join(rules)}{whose} (or reject)"
        branch = format_branch_name(job.feature.id, job.label, job.feature.slug) if job.label else ""
        change = f"{job.base_commit[:12]}..{branch}" if branch else job.base_commit[:12]
        return f"git diff {change}, then {approve}, then {resume}"
    if decidable:
        return f"aigon approve {name} {' '.join(decidable)}{whose} (or reject), then {resume}"
    if job.demand.skip_validation:
        return f"{resume} --no-skip-validation"
    if not numbers:
        return f"fix what the proof lacks, then {resume}"
    return f"fix {job.spec_path}, then {resume} --accept-spec"
