"""The new tests of each candidate on the work of every other: advisory, since names and places may rightly differ."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

from aigon.compare.cross_checks_laid import Laid, laid
from aigon.compare.new_tests import files_of_tests
from aigon.compare.new_tests_bench import Bench
from aigon.compare.new_tests_seen import Seen
from aigon.compare.rules.evidence import CrossCheck, NewTests
from aigon.errors import AigonError
from aigon.git import objects
from aigon.model.checks import TestResult

MOST = 4
"""Candidates that are crossed, the first ones: with n of them it takes n * (n - 1) runs."""
Entry = tuple[str, str, NewTests]


@dataclass(frozen=True, slots=True)
class _Run:
    """One pair that can be run: whose tests, on whose work, the files laid there and the tree with them in it."""

    new: NewTests
    laid: Laid
    tree: str


def cross_checks(bench: Bench, entries: Sequence[Entry]) -> tuple[CrossCheck, ...]:
    """What the new tests of each of the `entries` (label, tip, its new tests) do on the tip of every other one.

    In the order of the pairs; never raises. Files of the other are never replaced: see `cross_checks_laid`.
    """
    found: dict[tuple[str, str], CrossCheck] = {}
    runs: dict[tuple[str, str], _Run] = {}
    for of, against in permutations(entries, 2):
        pair = (of[0], against[0])
        planned = _planned(bench, of, against, crossed=of in entries[:MOST] and against in entries[:MOST])
        if isinstance(planned, _Run):
            runs[pair] = planned
        else:
            found[pair] = CrossCheck(*pair, why=planned)
    ran = bench.together([(pair[1], run.tree) for pair, run in runs.items()])
    for (pair, run), seen in zip(runs.items(), ran, strict=True):
        found[pair] = _crossed(pair, run, seen)
    return tuple(found[of[0], against[0]] for of, against in permutations(entries, 2))


def _planned(bench: Bench, of: Entry, against: Entry, *, crossed: bool) -> _Run | str:
    """What is to be run, or why it is not."""
    (label, tip, new), (other, there, _) = of, against
    if not crossed:
        return f"only the first {MOST} candidates are crossed"
    if not new.added:
        return new.why or f"{label} added no tests"
    try:
        base = bench.stand(label).record.base
        before, now = objects.list_entries(bench.git, base), objects.list_entries(bench.git, there)
        where = laid(files_of_tests(bench, base, tip), before, now, label)
        if where.clash:
            return f"{other} has files of its own with the same names: {', '.join(where.clash[:5])}"
        changes = {path: (entry.mode, entry.sha) for path, entry in where.files.items()}
        return _Run(new, where, objects.write_tree_with(bench.git, there, changes))
    except AigonError as error:
        return error.what


def _crossed(pair: tuple[str, str], run: _Run, seen: tuple[Seen, ...] | AigonError) -> CrossCheck:
    if isinstance(seen, AigonError):
        return CrossCheck(*pair, why=seen.what)
    if not any(check.reported for check in seen):
        said = "; ".join(f"{check.check}: {check.summary}" for check in seen)
        return CrossCheck(*pair, why=f"no test was named there ({said})" if said else "no check there runs tests")
    results = {test: _result(run.laid.renamed(test), seen) for test in run.new.added}
    failed = tuple(test for test, result in results.items() if result == "failed")
    errors = tuple(test for test, result in results.items() if result == "error")
    return CrossCheck(*pair, sum(result == "passed" for result in results.values()), failed, errors)


def _result(test: str, seen: Sequence[Seen]) -> TestResult:
    """How a test ended there; an error where it could not run: not loaded, skipped, or lacking what it imports."""
    for check in seen:
        if (result := check.tests.get(test)) is not None:
            ran = result in ("passed", "failed")
            return result if ran and not (result == "failed" and check.lacks_import(test)) else "error"
    return "error"
