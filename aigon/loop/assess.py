"""Assess one tree: run its checks, then give every criterion a verdict."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace

from aigon.checks.passes import build_cache_key, forget_pass, save_pass
from aigon.checks.schedule import ChooseWorld, Schedule, choose_cache_key, open_check_copy, run_checks
from aigon.job.assessment import CHANGED, Assessment, Snapshot, few_paths, is_baseline
from aigon.job.demand import require_support
from aigon.job.job import Job
from aigon.job.results import BaselineResults, Result
from aigon.job.world import Attendant, World
from aigon.journal.events import CriterionJudged, Event, Notice
from aigon.journal.state import State
from aigon.loop.judging import ask_about_open
from aigon.loop.take import keep_secrets_out
from aigon.model.checks import Check, Finding, Problem
from aigon.model.criteria import Verdict
from aigon.proof import criteria
from aigon.proof.frozen import ProtectedFiles
from aigon.text.fingerprints import fingerprint


def is_shared_baseline(job: Job, world: World) -> bool:
    """Whether this is the look that all loops of the arena have in common, and what others saw there is believed."""
    return (
        bool(world.find(BaselineResults))
        and job.use_cache
        and is_baseline(job.base_commit, world.workspace, world.workspace.tree())
    )


def wait_for_others(world: World, plan: Schedule, checks: Sequence[Check]) -> None:
    """At the base, wait for whoever is running the same checks; what he saw is known then."""
    if plan.base:
        plan.base.claim(filter(None, (choose_cache_key(world, check, plan) for check in checks)), world.stop)


def share_results(world: World, plan: Schedule, *, sound: bool) -> None:
    """What was seen stands for others, where the files were still those of the tree afterwards."""
    for key, result in (plan.later or ()) if sound else ():
        if result.finding.status == "pass":
            save_pass(world, key, result)
        elif result.finding.status == "fail" and plan.base and not world.stop.now:
            plan.base.keep(key, result, world.workspace.root)
    if plan.base:
        plan.base.close()


@dataclass(slots=True)
class KnownLeftovers(Attendant):
    """The paths that checks left and people were told of."""

    paths: set[str] = field(default_factory=set)


def check_git(
    job: Job, world: World, snapshot: Snapshot, results: Sequence[Result]
) -> Generator[Event, State, tuple[Finding, ...]]:
    """Nothing is left out of the commit but ignored files and what the checks wrote beside it, which is named.

    A file of the commit that the checks changed is a failure: they passed on files that nobody commits.
    """
    if snapshot.complaints:
        problems = tuple(Problem(text) for text in snapshot.complaints[:20])
        names = tuple(fingerprint("git", text) for text in snapshot.complaints)
        summary = f"{len(snapshot.complaints)} paths could not be committed ({snapshot.complaints[0]})"
        return (Finding("git", "git", "Git", "fail", summary, problems=problems, fingerprints=names),)
    if job.demand.skip_validation or all(result.finding.cached for result in results):
        return ()
    changed, left = _left_over(world, snapshot)
    world.workspace.note_left(left)
    if changed:
        yield Notice(world.now(), f"The checks changed files that git holds: {few_paths(changed)}", "warning")
        return (_changed_by_checks(changed),)
    told = world.get(KnownLeftovers).paths
    known = tuple(path for path in told if path.endswith("/"))
    if any(path not in told and not path.startswith(known) for path in left):
        told.update(left)
        what = f"The checks left files that git does not ignore: {few_paths(left)}"
        yield Notice(world.now(), f"{what}. They stay out of the commits; add them to .gitignore", "warning")
    warnings = tuple(Problem("written by the checks, not committed", path, severity="warning") for path in left[:20])
    summary = f"{len(left)} files written by the checks are not committed ({', '.join(left[:3])})" if left else "clean"
    return (Finding("git", "git", "Git", "pass", summary, problems=warnings),)


def find_formatted(job: Job, world: World, snapshot: Snapshot, results: Sequence[Result]) -> tuple[str, ...]:
    """Return the files that checks changed, if an agent's turn had changed every one of them before.

    A check that formats is the person's to have, and the agent could do nothing about it. What checks change in other
    files is litter, or the doing of what the agent wrote.
    """
    if not snapshot.number or job.demand.skip_validation or world.stop.now or all(r.finding.cached for r in results):
        return ()
    changed, _ = _left_over(world, snapshot)
    theirs = set(snapshot.content().entries) - set(world.get(ProtectedFiles).files) if changed else set()
    return changed if changed and set(changed) <= theirs else ()


def _left_over(world: World, snapshot: Snapshot) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the files of the snapshot that the checks changed, and the paths that they left beside it.

    What they had left before, and wrote anew after the agent changed it, is taken out of the snapshot again.
    """
    changed, left = world.workspace.left_over()
    if not world.workspace.leave_out_rewritten(changed):
        return changed, left
    snapshot.forget()
    return world.workspace.left_over()


def _changed_by_checks(changed: Sequence[str]) -> Finding:
    summary = (
        f"the checks changed files that the commit holds ({few_paths(changed)}), so what they saw is not what it "
        "holds: have the checks only look or write elsewhere, or let git ignore the file (and `git rm --cached` it)"
    )
    problems = tuple(Problem("changed while the checks ran", path, rule=CHANGED) for path in changed[:20])
    names = tuple(fingerprint("git", "changed", path) for path in changed)
    return Finding("git", "git", "Git", "fail", summary, problems=problems, fingerprints=names)


def assess(job: Job, world: World, snapshot: Snapshot, state: State) -> Generator[Event, State, Assessment]:
    """Run what decides, on exactly this snapshot."""
    asked = criteria.list_commands(job.spec.criteria)
    plan, ran, answers = yield from _run_all(job, world, snapshot, state)
    if formatted := find_formatted(job, world, snapshot, (*ran, *answers)):
        said = f"The checks changed files of the agent's: {', '.join(formatted[:5])}. They run again on what they made"
        yield Notice(world.now(), said, "warning")
        _forget(job, world, plan)
        share_results(world, plan, sound=False)
        snapshot.take_in(formatted)
        plan, ran, answers = yield from _run_all(job, world, snapshot, state)
    yield from _put_back(job, world, snapshot)
    yield from keep_secrets_out(job, world, snapshot)
    git = yield from check_git(job, world, snapshot, (*ran, *answers))
    findings = (*(result.finding for result in _of_checks(job, ran)), *git)
    sound = not any(finding.role == "git" and finding.status == "fail" for finding in findings)
    if not sound:
        _forget(job, world, plan)
    share_results(world, plan, sound=sound)
    content = snapshot.content().key() if _decisions_matter(job) else ""
    human = state.human_ticks
    verdicts = criteria.judge_by_results(job, findings, answers, content, human)
    verdicts = require_support(findings, (yield from ask_about_open(job, world, snapshot.number, verdicts, findings)))
    world.sweep()  # a judge may be a program, too
    if world.stop.now:
        return Assessment(findings, tuple(_undecided(verdict) for verdict in verdicts), content, complete=False)
    for verdict, criterion in zip(verdicts, job.spec.criteria, strict=True):
        yield CriterionJudged(world.now(), snapshot.number, verdict, criterion.text)
    everything = (*zip(job.checks, _of_checks(job, ran), strict=True), *zip(asked, answers, strict=True))
    return Assessment(findings, verdicts, content, ran=everything)


def _run_all(
    job: Job, world: World, snapshot: Snapshot, state: State
) -> Generator[Event, State, tuple[Schedule, list[Result], tuple[Result, ...]]]:
    """Run the checks and the commands of criteria; return how, and the results of both."""
    each = [check for check in job.checks if check.when == "each"]
    asked = criteria.list_commands(job.spec.criteria)
    with open_check_copy(job, world, job.checks, snapshot.number) as place_of:
        plan = _plan(job, world, snapshot, state, place_of)
        wait_for_others(world, plan, job.checks)
        results = yield from run_checks(world, (*each, *asked), plan)
        ran = list(results[: len(each)])
        ran += yield from _final(job, world, plan, results)
        snapshot.settle()
        world.sweep()  # what a check left running could change the tree, and would outlive the run
    return plan, ran, results[len(each) :]


def _put_back(job: Job, world: World, snapshot: Snapshot) -> Generator[Event, State, None]:
    """The checks run the agent's code, which could plant in git what the agent itself did not."""
    place = f"feature-{job.feature.name_for_people}/{world.run_id}-{snapshot.number}-checks"
    for text in world.after_checks(place):
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
        base=world.find(BaselineResults) if is_shared_baseline(job, world) else None,
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
