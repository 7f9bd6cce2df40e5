"""The check of aigon's own: whether the files that the other checks saw are those that the commit will hold."""

from collections.abc import Generator, Sequence

from aigon.job.assessment import CHANGED, few_paths
from aigon.job.job import Job
from aigon.job.results import Result
from aigon.job.snapshot import Snapshot
from aigon.job.world import World
from aigon.journal.events import Event, Notice
from aigon.journal.state import State
from aigon.model.checks import Finding, Problem
from aigon.text.fingerprints import fingerprint


def git_check(
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
    known = tuple(path for path in world.left if path.endswith("/"))
    if any(path not in world.left and not path.startswith(known) for path in left):
        world.left |= set(left)
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
    theirs = set(snapshot.content().entries) - set(world.guarded) if changed else set()
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
