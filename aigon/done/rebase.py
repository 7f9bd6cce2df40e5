"""Rebase a feature upon its target: where its branch is checked out, with no branch moving before all is proven."""

from dataclasses import replace

from aigon.done.merge import (
    IN_PLACE,
    Landing,
    Prove,
    conflicting,
    conflicts_in,
    no_verify,
    require_pre_commit,
    undone,
)
from aigon.done.place import detached, standing_on
from aigon.done.proof import same_but_for_features
from aigon.errors import AigonError
from aigon.git.person import NO_HOOKS
from aigon.job import branch

SAFE_REBASE = ("-c", "rebase.updateRefs=false", "-c", "rebase.autoStash=false", "-c", "rebase.autoSquash=false")
"""Nothing but HEAD may move before the result is proven."""


def rebase(landing: Landing, prove: Prove, *, verify: bool) -> tuple[Landing, bool]:
    """The same with the branch's commits upon the target, and whether the result had to be proven anew.

    No branch moves: HEAD stands alone meanwhile, where the branch is checked out.
    """
    chosen = landing.chosen
    if landing.settled:
        return landing, False
    with standing_on(landing.main, chosen.branch) as place, detached(place, chosen.branch, landing.tip):
        try:
            place.git_with_hooks(*SAFE_REBASE, *IN_PLACE, "rebase", "-q", *no_verify(verify), landing.onto)
        except AigonError as error:
            conflicts = conflicts_in(place)
            place.ask(*NO_HOOKS, "rebase", "--abort")
            raise conflicting(landing, conflicts, error) from None
        rebased = replace(landing, tip=str(place.head))
        anew = not same_but_for_features(landing.main, rebased.tip, landing.tip, landing.feature.path)
        if anew:
            prove(place, rebased)
    return rebased, anew


def forward(landing: Landing, *, verify: bool) -> str:
    """Let the target follow to the tip, which contains it; the tip.

    No commit is made here, so that git runs no pre-commit hook: with `verify` it is run on what the target gains.
    """
    branch.enter_branch(landing.main, landing.target)
    if verify:
        require_pre_commit(landing)
    with undone(landing):
        landing.main.git_with_hooks("merge", "-q", "--ff-only", landing.tip)
    return landing.tip
