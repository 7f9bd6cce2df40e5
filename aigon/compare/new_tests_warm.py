"""Bytecode for the rooms of a comparison: compiling pytest anew in each of them takes longer than most tests do."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from aigon.checks import execution
from aigon.compare.new_tests_job import ADDOPTS
from aigon.compare.new_tests_stand import Stand
from aigon.isolation import dependencies
from aigon.isolation.dependencies import Bytecode
from aigon.model.checks import Check
from aigon.proof.clean_room import opened, rooms_for

PREFIX = "PYTHONPYCACHEPREFIX"
LONGEST = 120.0
"""Seconds for collecting the tests of the base; without them the rooms begin cold."""


def warmed(stand: Stand, folder: Path) -> Bytecode | None:
    """What Python compiles while pytest collects the base's tests, and nothing of any candidate's: it runs none.

    None where no check is pytest itself, or has a place of its own for bytecode. Raises AigonError (exit 7).
    """
    checks = _collecting(stand.job.checks, stand.world.check_env.get(ADDOPTS, ""))
    if not checks:
        return None
    world = replace(stand.world, rooms=folder / "rooms")
    rooms = rooms_for(stand.job, world, stand.record.base, stand.record.folders, folder)
    with opened(stand.job, world, rooms, stand.record.base) as (inside, room):
        for check in checks:
            execution.run_check(inside, check, folder)
        return dependencies.take_bytecode(room, folder / "bytecode", rooms.needs.lent)


def _collecting(checks: Sequence[Check], options: str) -> list[Check]:
    """Those that are pytest, told to run nothing."""
    some = [check for check in checks if check.parser == "pytest" and PREFIX not in check.env]
    return [
        replace(
            check,
            timeout=min(check.timeout, LONGEST),
            env={**check.env, ADDOPTS: f"{check.env.get(ADDOPTS, options)} --collect-only"},
        )
        for check in some
    ]
