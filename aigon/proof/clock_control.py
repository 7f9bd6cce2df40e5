"""Whether a number that measures time still does: aigon slows the command down and looks whether the number follows.

A program that prints how long it took can replace its own clock. At the base its number followed when the command was
slowed down; in the change it became much better, the command takes as long as before, and the number no longer follows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from aigon.checks.execution import CRITERION
from aigon.job.results import Result
from aigon.model.changes import Concern, hash_change
from aigon.model.checks import Check
from aigon.model.criteria import Criterion
from aigon.proof.criteria import read_printed_number

if TYPE_CHECKING:
    from aigon.proof.bench import ProofBench

RULE = "clock"
SHORTEST, LONGEST = 0.1, 3.0
"""Seconds of a command that is looked at: a shorter one is mostly its own start, a longer one holds up the proof."""
BETTER = 2.0
"""A number that changed by a smaller factor need not have come from another clock."""
AS_LONG = 0.75
"""The part of the base's time from which on a command takes as long as before."""
FOLLOWS = 1.3
"""The factor by which a number follows at least if the command is slowed down some ten times."""

Measured = tuple[float, float]
"""What a command printed, and its seconds."""


def control_clocks(
    bench: "ProofBench", tree: str, metrics: Sequence[Check], results: Mapping[str, Result]
) -> tuple[Concern, ...]:
    """Return a review for each of the commands `metrics` whose number no longer follows the time that it takes."""
    now = {check.name: found for check in metrics if (found := _read(results[check.name]))}
    looked_at = [check for check in metrics if check.name in now and SHORTEST <= now[check.name][1] <= LONGEST]
    code, out, _ = bench.world.workspace.trusted.attempt("rev-parse", f"{bench.job.base_commit}^{{tree}}")
    base_tree = out.decode().strip()
    if not looked_at or code or base_tree == tree:
        return ()
    base = _run(bench, base_tree, looked_at, "clock-base")
    doubtful = [check for check in looked_at if check.name in base and _is_doubtful(base[check.name], now[check.name])]
    if not doubtful:
        return ()
    slowed = [replace(check, slowed=now[check.name][1]) for check in doubtful]
    base_slowed = _run(bench, base_tree, slowed, "clock-base-slowed")
    now_slowed = _run(bench, tree, slowed, "clock-slowed")
    return tuple(
        _make_concern(check, tree, base[check.name], now[check.name])
        for check in doubtful
        if check.name in base_slowed
        and check.name in now_slowed
        and _has_followed(base[check.name], base_slowed[check.name])
        and now_slowed[check.name][1] >= FOLLOWS * now[check.name][1]
        and not _has_followed(now[check.name], now_slowed[check.name])
    )


def _run(bench: "ProofBench", tree: str, checks: Sequence[Check], name: str) -> dict[str, Measured]:
    results = bench.run(tree, checks, name)
    return {name: found for name, result in results.items() if (found := _read(result))}


def _read(result: Result) -> Measured | None:
    number = read_printed_number(result.output)
    if result.finding.status != "pass" or isinstance(number, str):
        return None
    return float(number), result.finding.duration


def _is_doubtful(base: Measured, now: Measured) -> bool:
    """Whether the number changed much, while the command takes as long as at the base."""
    return _changed_by(base[0], now[0]) >= BETTER and now[1] >= AS_LONG * base[1]


def _has_followed(plain: Measured, slowed: Measured) -> bool:
    return _changed_by(plain[0], slowed[0]) >= FOLLOWS


def _changed_by(one: float, other: float) -> float:
    """Return the factor between two numbers, whichever is larger; endless if only one of them is 0."""
    small, large = sorted((abs(one), abs(other)))
    return 1.0 if small == large else large / small if small else float("inf")


def _make_concern(check: Check, tree: str, base: Measured, now: Measured) -> Concern:
    what = (
        f"criterion {check.name.rpartition('-')[2]} printed {now[0]:g}, at the base {base[0]:g}, but takes as long as "
        f"there ({now[1]:.2f} s and {base[1]:.2f} s), and its number no longer follows when aigon slows it down: "
        "what measures is not the clock. A `seconds` criterion is measured by aigon"
    )
    return Concern(RULE, "review", what, (), hash_change([check.argv[-1], tree]))


def list_metrics(criteria: Sequence[Criterion], checks: Sequence[Check]) -> list[Check]:
    """Return the commands that decide by a number which they print."""
    names = {f"criterion-{each.number}" for each in criteria if each.kind == "metric"}
    return [check for check in checks if check.source == CRITERION and check.name in names]
