"""The end of a run: one event with the outcome and a summary that fits on a screen."""

from collections.abc import Generator, Sequence

from aigon.core import report
from aigon.core.concern import Concern
from aigon.core.events import Event, RunFinished
from aigon.core.outcome import Met, NeedsHuman, Outcome, Refused, Stopped, exit_code, status
from aigon.core.state import State
from aigon.run.job import Job
from aigon.run.world import World


def finish(job: Job, world: World, outcome: Outcome, state: State) -> Generator[Event, State, Outcome]:
    """Say how the run ended."""
    tip = world.workspace.tip() or ""
    text = summary(job, world, outcome, state)
    yield RunFinished(world.now(), outcome, status(outcome), int(exit_code(outcome)), text, tip)
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
        next_command=next_command(job, outcome, look.concerns if look else ()),
        elapsed=world.elapsed(),
        waited=world.waited,
    )


def next_command(job: Job, outcome: Outcome, concerns: Sequence[Concern] = ()) -> str:
    """What a person would type next."""
    name = job.feature.name_for_people
    match outcome:
        case Met():
            return f"aigon feature-done {name}"
        case NeedsHuman(criteria=numbers):
            return _by_a_person(job, name, numbers, concerns)
        case Stopped(guard="stop-file"):
            return f"remove the stop file, then aigon feature-implement {name} --resume"
        case Refused():
            return f"aigon feature-status {name}"
        case _:
            return f"aigon feature-implement {name} --resume"


def _by_a_person(job: Job, name: str, numbers: Sequence[int], concerns: Sequence[Concern]) -> str:
    """How a person settles what is open: by approval where that decides, else by what was missing."""
    resume = f"aigon feature-implement {name} --resume"
    rules = list(dict.fromkeys(concern.rule for concern in concerns if concern.level == "review"))
    decidable = [str(c.number) for c in job.spec.criteria if c.number in numbers and c.kind in ("human", "judge")]
    if rules:  # a judge's word waits for these: approved, it is asked again
        return (
            f"git diff {job.base_commit[:12]}, then aigon approve {name} {' '.join(rules)} (or reject), then {resume}"
        )
    if decidable:
        return f"aigon approve {name} {' '.join(decidable)} (or reject), then {resume}"
    if job.demand.skip_validation:
        return f"{resume} (without --skip-validation)"
    if not numbers:
        return f"mend what the proof lacks, then {resume}"
    return f"mend {job.spec_path}, then {resume} --accept-spec"
