"""Assess one tree: run its checks, then give every criterion a verdict."""

from collections.abc import Generator, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from aigon.checks.reuse import build_cache_key, forget_pass, save_pass
from aigon.checks.schedule import ChooseWorld, Schedule, choose_cache_key, open_check_copy, run_checks
from aigon.errors import environment
from aigon.isolation.check_sandbox import ANYTHING, CheckSandbox
from aigon.job.assessment import CHANGED, Assessment, Snapshot, few_paths, is_baseline, leave_undecided, require_support
from aigon.job.job import Job
from aigon.job.results import BaselineResults, Result
from aigon.job.world import Attendant, World
from aigon.journal.events import CriterionJudged, Event, Notice
from aigon.journal.state import State
from aigon.loop.take import keep_secrets_out
from aigon.model.checks import Check, Finding, Problem
from aigon.model.criteria import HIDDEN
from aigon.proof import criteria
from aigon.proof.frozen import ProtectedFiles
from aigon.text.quoting import fingerprint


class KnownLeftovers(Struct, Attendant):
    """The paths that checks left and people were told of."""

    paths: set[str] = field(default_factory=set)


def assess(job: Job, world: World, snapshot: Snapshot, state: State) -> Generator[Event, State, Assessment]:
    """Run everything that decides, on exactly this snapshot."""
    asked = criteria.list_commands(job.required)
    plan, ran, answers = yield from _run_all(job, world, snapshot, state)
    if not snapshot.number and (box := world.find(CheckSandbox)):
        both = (*zip(job.checks, ran, strict=True), *zip(asked, answers, strict=True))
        failed = [(check, each.finding) for check, each in both if each.finding.status in ("fail", "error")]
        if failed := [(check, finding) for check, finding in failed if box.confines(check.name) and not check.missing]:
            with open_check_copy(job, world, job.checks, snapshot.number) as place_of:  # that of before is closed
                _require_same_outside(world, box, replace(plan, place_of=place_of), failed)
    if formatted := _find_formatted(job, world, snapshot, (*ran, *answers)):
        text = f"The checks changed files of the agent's: {', '.join(formatted[:5])}. They run again on what they made"
        yield Notice(world.now(), text, "warning")
        _share_results(job, world, plan, sound=False)
        snapshot.take_in(formatted)
        plan, ran, answers = yield from _run_all(job, world, snapshot, state)
    # The checks run the agent's code, which could plant in git what the agent itself did not.
    for text in world.after_checks(f"feature-{job.feature.name_for_people}/{world.run_id}-{snapshot.number}-checks"):
        yield Notice(world.now(), text, "warning")
    yield from keep_secrets_out(job, world, snapshot)
    git = yield from _check_git(job, world, snapshot, (*ran, *answers))
    by_name = {result.finding.check: result for result in ran}
    results = [by_name[check.name] for check in job.checks]
    findings = (*(result.finding for result in results), *git)
    sound = not any(finding.role == "git" and finding.status == "fail" for finding in findings)
    _share_results(job, world, plan, sound=sound)
    needs_content = any(criterion.kind in ("human", "judge") for criterion in job.spec.criteria)
    content = snapshot.content().key() if needs_content else ""
    verdicts = criteria.judge_by_results(job, findings, answers, content, state.human_ticks)
    if any(criterion.kind == HIDDEN for criterion in job.spec.criteria):
        from aigon.proof.held_out import run_hidden_tests  # its parsers are needed nowhere else

        verdicts = yield from run_hidden_tests(job, world, snapshot, verdicts)
    if any(verdict.method == "judge" for verdict in verdicts):
        from aigon.loop.judging import ask_about_open  # a run without such criteria needs no part of a judge

        verdicts = yield from ask_about_open(job, world, snapshot.number, verdicts, findings)
    verdicts = require_support(findings, verdicts)
    if any(criterion.kind in ("judge", HIDDEN) for criterion in job.spec.criteria):
        world.sweep()  # of a judge that is a program, and of hidden tests
    if world.stop.now:
        return leave_undecided(Assessment(findings, verdicts, content))
    for verdict, criterion in zip(verdicts, job.spec.criteria, strict=True):
        yield CriterionJudged(world.now(), snapshot.number, verdict, criterion.text)
    everything = (*zip(job.checks, results, strict=True), *zip(asked, answers, strict=True))
    return Assessment(findings, verdicts, content, ran=everything)


def _run_all(
    job: Job, world: World, snapshot: Snapshot, state: State
) -> Generator[Event, State, tuple[Schedule, list[Result], tuple[Result, ...]]]:
    """Run the checks and the commands of criteria; return how, and the results of both.

    Checks marked `final` run once everything else passed; else they are skipped, which is no pass.
    """
    each = [check for check in job.checks if check.when == "each"]
    final = [check for check in job.checks if check.when == "final"]
    with open_check_copy(job, world, job.checks, snapshot.number) as place_of:
        plan = _make_plan(job, world, snapshot, state, place_of)
        if plan.base:  # another loop that runs the same checks on the baseline shares what it finds
            plan.base.claim(filter(None, (choose_cache_key(world, check, plan) for check in job.checks)), world.stop)
        results = yield from run_checks(world, (*each, *criteria.list_commands(job.required)), plan)
        findings = [result.finding for result in results]
        if any(found.status != "pass" and found.check not in job.demand.known_failures for found in findings):
            from aigon.checks.execution import make_skipped

            late = tuple(Result(make_skipped(check, "runs when everything else passes")) for check in final)
        else:
            late = yield from run_checks(world, final, plan)
        snapshot.settle()
        world.sweep()  # what a check left running could change the tree, and would outlive the run
    return plan, [*results[: len(each)], *late], results[len(each) :]


def _require_same_outside(
    world: World, box: CheckSandbox, plan: Schedule, failed: Sequence[tuple[Check, Finding]]
) -> None:
    """Run what failed at the baseline once more without a sandbox. Raises AigonError (exit 7) if that passes, and the
    sandbox is the reason: what passes in it as well, when it runs again, is flaky.

    The error says what to grant: the paths that the output names if the check passes with them, else everything.
    """
    from aigon.checks.execution import run_check

    def passes(check: Check) -> bool:
        there = plan.place_of(world, check)
        finding = None if world.stop.now else run_check(there, check, plan.folder / "no-sandbox").finding
        world.sweep()
        return finding is not None and finding.status == "pass"

    for check, finding in failed:
        with box.lifting(check.name):
            is_same = not passes(check)
        if is_same or passes(check) or world.stop.now:
            continue
        named = box.list_refused(_read_log(finding.log))
        with box.allowing(check.name, named):
            entries = named if named and passes(check) else [ANYTHING]
        raise environment(
            f"{check.title} fails in the sandbox of checks, and passes without: {finding.summary}",
            where=".aigon/config.json",
            hint=f"Add {box.describe_grant(check.name, entries)}",
        )


def _read_log(path: str) -> str:
    with suppress(OSError):
        return Path(path).read_text(errors="replace")
    return ""


def _make_plan(job: Job, world: World, snapshot: Snapshot, state: State, place_of: ChooseWorld) -> Schedule:
    base = world.find(BaselineResults) if job.use_cache else None
    if base and not is_baseline(job.base_commit, world.workspace):
        base = None  # only the baseline is the same for all loops of an arena
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
        base=base,
        place_of=place_of,
    )


def _share_results(job: Job, world: World, plan: Schedule, *, sound: bool) -> None:
    """Save results for other loops if the files were those of the tree to the end; forget passes if they were not."""
    if sound:
        for key, result in plan.later or ():
            if result.finding.status == "pass":
                save_pass(world, key, result)
            elif result.finding.status == "fail" and plan.base and not world.stop.now:
                plan.base.keep(key, result, world.workspace.root)
    else:
        for check in job.checks:
            if check.remember:
                forget_pass(world, build_cache_key(world, check, plan.content_key(check.paths)))
    if plan.base:
        plan.base.close()


def _find_formatted(job: Job, world: World, snapshot: Snapshot, results: Sequence[Result]) -> tuple[str, ...]:
    """Return the files that checks changed, if an agent's turn had changed every one of them before.

    A person may have a check that formats, and the agent could do nothing about it. If checks change other files, these
    are leftovers, or the agent's code changed them.
    """
    if not snapshot.number or job.demand.skip_validation or world.stop.now or all(r.finding.cached for r in results):
        return ()
    changed, _ = _find_leftovers(world, snapshot)
    agents = set(snapshot.content().entries) - set(world.get(ProtectedFiles).files) if changed else set()
    return changed if changed and set(changed) <= agents else ()


def _find_leftovers(world: World, snapshot: Snapshot) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the files of the snapshot that the checks changed, and the new paths that they left.

    What they had left before, and wrote anew after the agent changed it, is taken out of the snapshot again.
    """
    changed, left = world.workspace.left_over()
    if not world.workspace.leave_out_rewritten(changed):
        return changed, left
    snapshot.forget()
    return world.workspace.left_over()


def _check_git(
    job: Job, world: World, snapshot: Snapshot, results: Sequence[Result]
) -> Generator[Event, State, tuple[Finding, ...]]:
    """Check that the commit leaves out only ignored files and new files of the checks, which are named.

    A file of the commit that the checks changed is a failure: they passed on files that are not committed.
    """
    if complaints := snapshot.complaints:
        summary = f"{len(complaints)} paths could not be committed ({complaints[0]})"
        problems = tuple(Problem(text) for text in complaints[:20])
        return (_fail_git(summary, problems, [("git", text) for text in complaints]),)
    if job.demand.skip_validation or all(result.finding.cached for result in results):
        return ()
    changed, left = _find_leftovers(world, snapshot)
    world.workspace.note_left(left)
    if changed:
        yield Notice(world.now(), f"The checks changed files that git holds: {few_paths(changed)}", "warning")
        summary = (
            f"the checks changed files that the commit holds ({few_paths(changed)}), so what they saw is not what it "
            "holds: let the checks only check or write elsewhere, or let git ignore the file (and `git rm --cached` it)"
        )
        problems = tuple(Problem("changed while the checks ran", path, rule=CHANGED) for path in changed[:20])
        return (_fail_git(summary, problems, [("git", "changed", path) for path in changed]),)
    known = world.get(KnownLeftovers).paths
    folders = tuple(path for path in known if path.endswith("/"))
    if any(path not in known and not path.startswith(folders) for path in left):
        known.update(left)
        what = f"The checks left files that git does not ignore: {few_paths(left)}"
        yield Notice(world.now(), f"{what}. They stay out of the commits; add them to .gitignore", "warning")
    warnings = tuple(Problem("written by the checks, not committed", path, severity="warning") for path in left[:20])
    summary = f"{len(left)} files written by the checks are not committed ({', '.join(left[:3])})" if left else "clean"
    return (Finding("git", "git", "Git", "pass", summary, problems=warnings),)


def _fail_git(summary: str, problems: tuple[Problem, ...], names: Sequence[Sequence[str]]) -> Finding:
    prints = tuple(fingerprint(*parts) for parts in names)
    return Finding("git", "git", "Git", "fail", summary, problems=problems, fingerprints=prints)
