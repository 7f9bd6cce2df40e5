"""What a loop in a worktree has in common with the others of its repository and its arena, put together."""

import shutil
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from aigon.config.models import Config
from aigon.git.refs import Rivals
from aigon.job import ledger
from aigon.job.base_assessments import BaselineResults
from aigon.job.ledger import LEDGER, open_ledger
from aigon.job.world import World
from aigon.journal import records
from aigon.model.candidates import Candidate, format_branch_name
from aigon.process import capacity
from aigon.process.capacity import CheckSlots

BASE = "base"
"""The folder, in the arena's, of what its loops know from one another of the base."""


def prepare_arena_folder(arena: Path, resumed: Collection[str] = ()) -> None:
    """Make the arena's folder ready for its loops: only those that are `resumed`, by label, have spent anything yet.

    No loop of the arena may run. What was seen at the base is to be seen anew: the machine may be another by now.
    """
    arena.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(arena / BASE, ignore_errors=True)
    ledger.reset_accounts(arena / LEDGER, resumed)


def join_arena(
    world: World, candidate: Candidate | None, config: Config, limit: float | None = None, arena: Path | None = None
) -> World:
    """Let the loop of `candidate` take turns with others; in an `arena`, also share money and the look at the base.

    Nothing changes for a loop in the main checkout (None).
    """
    if candidate is None:
        return world
    if arena:
        if ledger_ := open_ledger(world.home, arena, candidate, limit):
            world.attend(ledger_)
        world.attend(BaselineResults(arena / BASE, candidate.label))
    slots = CheckSlots(world.home / "locks", config.arena.check_slots or capacity.count_slots())
    return replace(world, made_by=f"worktree {candidate.ready}", slots=slots)


def find_rivals(home: Path, candidate: Candidate | None) -> Rivals:
    """Whose refs are nobody's business of this loop: those of all candidates of the repository but its own.

    Only branches that have the name that aigon gives them: nobody's record takes another branch out of the guard.
    """
    others = (each for each in records.list_candidates(home) if each != candidate)
    named = {each.branch for each in others if each.branch == format_branch_name(each.feature, each.label, each.slug)}
    return Rivals(frozenset(named) - {candidate.branch if candidate else ""}, candidate.feature if candidate else "")
