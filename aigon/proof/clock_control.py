"""Tell whether a number that became much better was measured, and not made for the program that prints it.

A program that prints how long it took can replace its own clock. At the base its number followed when the command was
slowed down; in the change the command takes as long as before, and the number no longer follows. And what is measured
can recognise the program that measures, by its name or its lines: a copy with others has to print as good a number.
"""

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from aigon.checks.execution import CRITERION
from aigon.control.programs import find_scripts
from aigon.job.results import Result
from aigon.model.changes import Concern, hash_change
from aigon.model.checks import Check
from aigon.model.criteria import Criterion
from aigon.proof.criteria import read_printed_number

if TYPE_CHECKING:
    from aigon.proof.bench import ProofBench

RULE = "clock"
SHORTEST, LONGEST = 0.1, 3.0
"""Seconds of a command that is looked at: a shorter one is mostly its own start, and is looked at only if a program
could be recognised; a longer one holds up the proof."""
BETTER = 2.0
"""A number that changed by a smaller factor need not have come from another clock."""
AS_LONG = 0.75
"""The part of the base's time from which on a command takes as long as before."""
FOLLOWS = 1.3
"""The factor by which a number follows at least if the command is slowed down some ten times."""

Measured = tuple[float, float]
"""What a command printed, and its seconds."""


def control_clocks(
    bench: "ProofBench", tree: str, checks: Sequence[Check], results: Mapping[str, Result]
) -> tuple[Concern, ...]:
    """Return a review for each command that decides by its number, if that no longer follows the time that it takes."""
    metrics = _list_metrics(bench.job.spec.criteria, checks)
    now = {check.name: found for check in metrics if (found := _read(results[check.name]))}
    looked_at = [check for check in metrics if check.name in now and _is_looked_at(check, now[check.name][1])]
    code, out, _ = bench.world.workspace.trusted.attempt("rev-parse", f"{bench.job.base_commit}^{{tree}}")
    base_tree = out.decode().strip()
    if not looked_at or code or base_tree == tree:
        return ()
    clocks = _Clocks(bench, tree, base_tree, _run(bench, base_tree, looked_at, "clock-base"), now)
    better = [check for check in looked_at if clocks.is_better(check.name)]
    return (*clocks.find_recognised(better), *clocks.find_own_clocks(better))


class _Clocks(Struct, frozen=True):
    """The numbers that commands printed at the `base` and print `now`, by check."""

    bench: "ProofBench"
    tree: str
    base_tree: str
    base: Mapping[str, Measured]
    now: Mapping[str, Measured]

    def is_better(self, name: str) -> bool:
        """Return whether a number changed much. It is better then, since it is what the criterion wants."""
        return name in self.base and _changed_by(self.base[name][0], self.now[name][0]) >= BETTER

    def find_own_clocks(self, better: Sequence[Check]) -> Iterator[Concern]:
        """Yield a review for each number that does not follow the time any more, as it did at the base."""
        base, now = self.base, self.now
        doubtful = (check for check in better if now[check.name][1] >= max(SHORTEST, AS_LONG * base[check.name][1]))
        slowed = [replace(check, slowed=now[check.name][1]) for check in doubtful]
        at_base = _run(self.bench, self.base_tree, slowed, "clock-base-slowed")
        slowed = [c for c in slowed if c.name in at_base and _has_followed(base[c.name], at_base[c.name])]
        here = _run(self.bench, self.tree, slowed, "clock-slowed")
        for check in (check for check in slowed if check.name in here):
            plain, slow = now[check.name], here[check.name]
            if slow[1] >= FOLLOWS * plain[1] and not _has_followed(plain, slow):
                yield self._make_concern(
                    check,
                    f"but takes as long as there ({plain[1]:.2f} s and {base[check.name][1]:.2f} s), and its number no "
                    "longer follows when aigon slows it down: what measures is not the clock. A `seconds` criterion is "
                    "measured by aigon",
                )

    def find_recognised(self, better: Sequence[Check]) -> Iterator[Concern]:
        """Yield a review for each number that is good only if the program that prints it has its own name and lines."""
        copies, overlay = dict[str, Check](), dict[str, bytes | None]()
        for check in better:
            *shell, command = check.argv
            for path, data in self.bench.read_files(self.tree, find_scripts(command)).items():
                if command.count(path) == 1 and check.name not in copies:
                    stem, dot, ending = path.rpartition(".")
                    name = f"{stem}_{secrets.token_hex(3)}{dot}{ending}"
                    copies[check.name] = replace(check, argv=(*shell, command.replace(path, name)))
                    overlay[name] = b"\n" * (3 + secrets.randbelow(90)) + data

        def find_worse(names: Iterable[str], plain: Mapping[str, Measured], folder: str) -> set[str]:
            ran = _run(self.bench, self.tree, [copies[name] for name in names], folder, overlay)
            numbers = {name: (self.base[name][0], plain[name][0], ran[name][0]) for name in ran if name in plain}
            return {name for name, three in numbers.items() if _is_worse(*three)}

        if worse := find_worse(copies, self.now, "clock-copy"):
            # Another program may have slowed down the copy: both once more.
            doubted = [check for check in better if check.name in worse]
            worse = find_worse(worse, _run(self.bench, self.tree, doubted, "clock-again"), "clock-copy-again")
        how = "but not from a copy of its program with another name and other lines: what is measured recognises it"
        yield from (self._make_concern(check, how) for check in better if check.name in worse)

    def _make_concern(self, check: Check, how: str) -> Concern:
        number, now, base = check.name.rpartition("-")[2], self.now[check.name][0], self.base[check.name][0]
        what = f"criterion {number} printed {now:g}, at the base {base:g}, {how}"
        return Concern(RULE, "review", what, (), hash_change([check.argv[-1], self.tree]))


def _run(
    bench: "ProofBench",
    tree: str,
    checks: Sequence[Check],
    name: str,
    overlay: Mapping[str, bytes | None] | None = None,
) -> dict[str, Measured]:
    results = bench.run(tree, checks, name, overlay=overlay)
    return {name: found for name, result in results.items() if (found := _read(result))}


def _read(result: Result) -> Measured | None:
    number = read_printed_number(result.output)
    if result.finding.status != "pass" or isinstance(number, str):
        return None
    return float(number), result.finding.duration


def _is_looked_at(check: Check, seconds: float) -> bool:
    return seconds <= LONGEST and (seconds >= SHORTEST or bool(find_scripts(check.argv[-1])))


def _is_worse(base: float, now: float, copy: float) -> bool:
    """Return whether the copy's number is nearer to the base's, by factors, and far from that of the program itself."""
    far = _changed_by(now, copy)
    return far >= BETTER and far > _changed_by(base, copy)


def _has_followed(plain: Measured, slowed: Measured) -> bool:
    return _changed_by(plain[0], slowed[0]) >= FOLLOWS


def _changed_by(one: float, other: float) -> float:
    """Return the factor between two numbers, whichever is larger; endless if only one of them is 0."""
    small, large = sorted((abs(one), abs(other)))
    return 1.0 if small == large else large / small if small else float("inf")


def _list_metrics(criteria: Sequence[Criterion], checks: Sequence[Check]) -> list[Check]:
    """Return the commands that decide by a number which they print."""
    names = {f"criterion-{each.number}" for each in criteria if each.kind == "metric"}
    return [check for check in checks if check.source == CRITERION and check.name in names]
