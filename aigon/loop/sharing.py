"""What loops of one repository share when they look at trees: passes, and in an arena the whole look at the base."""

from collections.abc import Sequence

from aigon.checks.passes import save_pass
from aigon.checks.schedule import Schedule, choose_cache_key
from aigon.job.job import Job
from aigon.job.snapshot import is_the_base
from aigon.job.world import World
from aigon.model.checks import Check


def at_base(job: Job, world: World) -> bool:
    """Whether this is the look that all loops of the arena have in common, and what others saw there is believed."""
    return bool(world.base) and job.use_cache and is_the_base(job.base_commit, world.workspace, world.workspace.tree())


def wait_for_others(world: World, plan: Schedule, checks: Sequence[Check]) -> None:
    """At the base, wait for whoever is running the same checks; what he saw is known then."""
    if plan.base:
        plan.base.claim(filter(None, (choose_cache_key(world, check, plan) for check in checks)), world.stop)


def settle(world: World, plan: Schedule, *, sound: bool) -> None:
    """What was seen stands for others, where the files were still those of the tree afterwards."""
    for key, result in (plan.later or ()) if sound else ():
        if result.finding.status == "pass":
            save_pass(world, key, result)
        elif result.finding.status == "fail" and plan.base and not world.stop.now:
            plan.base.keep(key, result, world.workspace.root)
    if plan.base:
        plan.base.close()
