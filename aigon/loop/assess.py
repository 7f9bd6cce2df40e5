"""The look at one tree: its checks, then a verdict for every criterion."""

from collections.abc import Generator, Sequence
from dataclasses import replace

from aigon.checks.passes import build_cache_key, forget_pass
from aigon.checks.schedule import ChooseWorld, Schedule, open_check_copy, run_checks
from aigon.job.assessment import Look
from aigon.job.demand import supported
from aigon.job.job import Job
from aigon.job.results import Result
from aigon.job.snapshot import Snapshot
from aigon.job.world import World
from aigon.journal.events import CriterionJudged, Event, Notice
from aigon.journal.state import State
from aigon.loop import criteria, sharing
from aigon.loop.git_check import find_formatted, git_check
from aigon.loop.judging import judged
from aigon.loop.leaking import keep_secrets_out
from aigon.model.checks import Check
from aigon.model.criteria import Verdict


def assess(job: Job, world: World, snapshot: Snapshot, state: State) -> Generator[Event, State, Look]:
    """Run what decides, on exactly this snapshot."""
    asked = criteria.commands(job.spec.criteria)
    plan, ran, answers = yield from _run_all(job, world, snapshot, state)
    if formatted := find_formatted(job, world, snapshot, (*ran, *answers)):
        said = f"The checks changed files of the agent's: {', '.join(formatted[:5])}. They run again on what they made"
        yield Notice(world.now(), said, "warning")
        _forget(job, world, plan)
        sharing.settle(world, plan, sound=False)
        snapshot.take_in(formatted)
        plan, ran, answers = yield from _run_all(job, world, snapshot, state)
    yield from _put_back(job, world, snapshot)
    yield from keep_secrets_out(job, world, snapshot)
    git = yield from git_check(job, world, snapshot, (*ran, *answers))
    findings = (*(result.finding for result in _of_checks(job, ran)), *git)
    sound = not any(finding.role == "git" and finding.status == "fail" for finding in findings)
    if not sound:
        _forget(job, world, plan)
    sharing.settle(world, plan, sound=sound)
    content = snapshot.content().key() if _decisions_matter(job) else ""
    human = state.human_ticks
    verdicts = criteria.by_what_ran(job, findings, answers, content, human)
    verdicts = supported(findings, (yield from judged(job, world, snapshot.number, verdicts, findings)))
    world.sweep()  # a judge may be a program, too
    if world.stop.now:
        return Look(findings, tuple(_undecided(verdict) for verdict in verdicts), content, complete=False)
    for verdict, criterion in zip(verdicts, job.spec.criteria, strict=True):
        yield CriterionJudged(world.now(), snapshot.number, verdict, criterion.text)
    everything = (*zip(job.checks, _of_checks(job, ran), strict=True), *zip(asked, answers, strict=True))
    return Look(findings, verdicts, content, ran=everything)


def _run_all(
    job: Job, world: World, snapshot: Snapshot, state: State
) -> Generator[Event, State, tuple[Schedule, list[Result], tuple[Result, ...]]]:
    """Run the checks and the commands of criteria; return how, and the results of both."""
    each = [check for check in job.checks if check.when == "each"]
    asked = criteria.commands(job.spec.criteria)
    with open_check_copy(job, world, job.checks, snapshot.number) as place_of:
        plan = _plan(job, world, snapshot, state, place_of)
        sharing.wait_for_others(world, plan, job.checks)
        results = yield from run_checks(world, (*each, *asked), plan)
        ran = list(results[: len(each)])
        ran += yield from _final(job, world, plan, results)
        snapshot.settle()
        world.sweep()  # what a check left running could change the tree, and would outlive the run
    return plan, ran, results[len(each) :]


def _put_back(job: Job, world: World, snapshot: Snapshot) -> Generator[Event, State, None]:
    """The checks run the agent's code, which could plant in git what the agent itself did not."""
    if world.watch:
        place = f"feature-{job.feature.name_for_people}/{world.run_id}-{snapshot.number}-checks"
        said = world.watch.after_checks(world.park(place))
        world.mended += said
        for text in said:
            yield Notice(world.now(), text, "warning")


def _of_checks(job: Job, ran: Sequence[Result]) -> list[Result]:
    by_name = {result.finding.check: result for result in ran}
    return [by_name[check.name] for check in job.checks]


def _undecided(verdict: Verdict) -> Verdict:
    return replace(verdict, status="unclear", reason="the run was stopped before this was decided")


def _plan(job: Job, world: World, snapshot: Snapshot, state: State, place_of: ChooseWorld) -> Schedule:
    return Schedule(
        number=snapshot.number,
        folder=world.iteration_folder(snapshot.number),
        content_key=lambda paths: snapshot.content().key(paths),
        durations={**world.durations, **state.durations},
        slots=job.slots,
        stop_on_first_failure=job.stop_on_first_failure,
        use_cache=job.use_cache,
        known_failures=job.demand.known_failures,
        later=[] if world.made_by else None,
        base=world.base if sharing.at_base(job, world) else None,
        place_of=place_of,
    )


def _final(
    job: Job, world: World, plan: Schedule, results: Sequence[Result]
) -> Generator[Event, State, tuple[Result, ...]]:
    """Checks marked `final` run once everything else that ran is green; skipped, they are no pass."""
    final: list[Check] = [check for check in job.checks if check.when == "final"]
    known = job.demand.known_failures
    if any(result.finding.status != "pass" and result.finding.check not in known for result in results):
        from aigon.checks.execution import make_skipped

        return tuple(Result(make_skipped(check, "runs when everything else is green")) for check in final)
    return (yield from run_checks(world, final, plan))


def _forget(job: Job, world: World, plan: Schedule) -> None:
    """Passes beside a failed git check were on other files than their names say."""
    for check in job.checks:
        if check.remember:
            forget_pass(world, build_cache_key(world, check, plan.content_key(check.paths)))


def _decisions_matter(job: Job) -> bool:
    return any(criterion.kind in ("human", "judge") for criterion in job.spec.criteria)
