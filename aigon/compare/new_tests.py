"""The tests that a candidate added: whether the base fails them, and what they do on the work of others."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations

from aigon.compare.bench import Bench as Bench
from aigon.compare.rules.facts import CrossCheck, NewTests
from aigon.compare.stand import CheckRun
from aigon.errors import AigonError
from aigon.git import objects
from aigon.git.objects import TreeEntry
from aigon.model.checks import TestResult

_PYTHON = re.compile(r"(?P<folder>(?:.*/)?)(?:(?P<first>test_[^/]*|test[^/]*)|(?P<last>[^/]*_test))\.py")
"""Files in which pytest (and unittest) looks for tests, whatever the rest of their names."""


@dataclass(frozen=True, slots=True)
class PlacedTests:
    """Test files by the path that they get. `moved` has those whose path changes, `clash` those without a free path."""

    files: Mapping[str, TreeEntry]
    moved: Mapping[str, str] = field(default_factory=dict)
    clash: tuple[str, ...] = ()

    def renamed(self, test: str) -> str:
        """Return the id that a test has if its file was moved."""
        for old, new in self.moved.items():
            for before, after in zip(_list_prefixes(old), _list_prefixes(new), strict=True):
                for end in ("::", "."):
                    if test.startswith(before + end):
                        return after + test[len(before) :]
        return test


def place_files(
    files: Mapping[str, TreeEntry], base: Mapping[str, TreeEntry], there: Mapping[str, TreeEntry], label: str
) -> PlacedTests:
    """Place `files` of the candidate `label` among the files `there` of another one, which began as `base`.

    A file that the other one changed or added keeps its path: then a test file in Python gets a free name,
    `test_x__cc.py`, and any other file clashes.
    """
    placed: dict[str, TreeEntry] = {}
    moved: dict[str, str] = {}
    clash: list[str] = []
    for path, entry in files.items():
        mine = there.get(path)
        same = mine and (mine.mode, mine.sha) == (entry.mode, entry.sha)
        if mine is None or same or mine == base.get(path):
            placed[path] = entry
        elif free := _find_free_name(path, {*there, *files, *placed}, label):
            placed[free], moved[path] = entry, free
        else:
            clash.append(path)
    return PlacedTests(placed, moved, tuple(clash))


def _find_free_name(path: str, taken: set[str], label: str) -> str:
    """Return a free path beside `path` where pytest looks for tests; "" if there is none."""
    match = _PYTHON.fullmatch(path)
    if not match:
        return ""
    own = re.sub(r"\W", "_", label) or "other"
    for more in ("", *(f"_{number}" for number in range(2, 100))):
        name = f"{match['first']}__{own}{more}" if match["first"] else f"{match['last'][:-5]}__{own}{more}_test"
        if (free := f"{match['folder']}{name}.py") not in taken:
            return free
    return ""


def _list_prefixes(path: str) -> Iterator[str]:
    """Yield how ids of its tests can begin: with the path or the module's name, from any folder above it."""
    parts = path.split("/")
    for start in range(len(parts)):
        below = "/".join(parts[start:])
        yield below
        yield below.removesuffix(".py").replace("/", ".")


LINK = "160000"


@dataclass(slots=True)
class _TestTally:
    """New tests so far; `why` has the reasons for which some are unknown."""

    added: dict[str, None] = field(default_factory=dict)
    red: dict[str, None] = field(default_factory=dict)
    green: dict[str, None] = field(default_factory=dict)
    why: dict[str, None] = field(default_factory=dict)


def find_new_tests(bench: Bench, label: str, base: str, tip: str) -> NewTests:
    """Return the tests that `tip` has beyond `base`, and how they end on `base`; never raise.

    A test counts as failed if it fails, or cannot even be loaded, on the base with the candidate's test files in it.
    """
    try:
        files = list_test_files(bench, base, tip)
        if not files:
            return NewTests()
        stand = bench.stand(label)
        if not stand.job.checks:
            return NewTests(why="no check of this project runs tests")
        wanted = [(label, tip), (label, overlay_files(bench, base, files))]
        if not all(_is_recorded(bench, label, check.name) for check in stand.job.checks):
            wanted.append((label, base))
        runs: list[tuple[CheckRun, ...]] = []
        for run in bench.together(wanted):
            if isinstance(run, AigonError):
                raise run
            runs.append(run)
        return _compare_runs(bench, label, base, frozenset(files), runs)
    except AigonError as error:
        return NewTests(why=error.what)


def list_test_files(bench: Bench, base: str, tip: str) -> dict[str, TreeEntry]:
    """Return the test files that `tip` adds to `base` or changes, by path."""
    before, after = objects.list_entries(bench.git, base), objects.list_entries(bench.git, tip)
    changed = {path: entry for path, entry in after.items() if entry != before.get(path) and entry.mode != LINK}
    return {path: entry for path, entry in changed.items() if bench.protection.part(path) == "tests"}


def overlay_files(bench: Bench, tree: str, files: Mapping[str, TreeEntry]) -> str:
    return objects.write_tree_with(bench.git, tree, {path: (entry.mode, entry.sha) for path, entry in files.items()})


def _is_recorded(bench: Bench, label: str, check: str) -> bool:
    """Return whether the baseline has the names of the tests."""
    tested = bench.stand(label).record.tested.get(check)
    return tested is not None and tested.reported


def _compare_runs(
    bench: Bench, label: str, base: str, files: frozenset[str], sights: list[tuple[CheckRun, ...]]
) -> NewTests:
    found = _TestTally()
    for number, (on_tip, on_base) in enumerate(zip(*sights[:2], strict=True)):
        if not on_tip.reported or not on_tip.tests:
            found.why[f"{on_tip.check} names no tests ({on_tip.summary})"] = None
            continue
        alone = sights[2][number] if len(sights) > 2 else None
        before = _find_base_tests(bench, label, base, on_tip.check, alone)
        if before is None:
            found.why[f"it is not known which tests {on_tip.check} has on the base"] = None
            continue
        _sort_tests(found, on_tip, on_base, before, files)
    unknown = tuple(test for test in found.added if test not in found.red and test not in found.green)
    return NewTests(tuple(found.added), tuple(found.red), tuple(found.green), unknown, "; ".join(found.why))


def _find_base_tests(
    bench: Bench, label: str, base: str, check: str, alone: CheckRun | None
) -> Mapping[str, TestResult] | None:
    """Return the tests of the base; None if they are not known."""
    if _is_recorded(bench, label, check):
        return bench.stand(label).record.tested[check].tests
    if alone and alone.reported:
        return alone.tests
    has_some = any(bench.protection.part(path) == "tests" for path in objects.list_entries(bench.git, base))
    return None if has_some else {}


def _sort_tests(
    found: _TestTally, on_tip: CheckRun, on_base: CheckRun, before: Mapping[str, TestResult], files: frozenset[str]
) -> None:
    """Add the tests of one check that are new and ran."""
    for test, result in on_tip.tests.items():
        if test in before or result == "skipped":
            continue
        found.added[test] = None
        if result != "passed":
            found.why["some do not pass on the candidate's own work"] = None
        elif _is_red(test, on_base, files):
            found.red[test] = None
        elif on_base.tests.get(test) == "passed":
            found.green[test] = None
        else:
            found.why[_explain_unknown(test, on_base)] = None


def _is_red(test: str, on_base: CheckRun, files: frozenset[str]) -> bool:
    """Return whether it fails, or is in a file that cannot be loaded, or in a test build that these files break."""
    if (result := on_base.tests.get(test)) is not None:
        return result in ("failed", "error")
    broken = not on_base.reported and on_base.status == "fail" and any(p.file in files for p in on_base.problems)
    return broken or on_base.unloaded(test)


def _explain_unknown(test: str, on_base: CheckRun) -> str:
    if not on_base.reported:
        return f"{on_base.check} named no tests on the base ({on_base.summary})"
    return "some are skipped on the base" if test in on_base.tests else "some were not run on the base"


MOST_CROSSED = 4
"""Candidates that are crossed, the first ones: with n of them it takes n * (n - 1) runs."""
CrossedCandidate = tuple[str, str, NewTests]


@dataclass(frozen=True, slots=True)
class _CrossRun:
    """One pair that can be run: the new tests, their files, and the tree with these in it."""

    new: NewTests
    laid: PlacedTests
    tree: str


def run_cross_checks(bench: Bench, entries: Sequence[CrossedCandidate]) -> tuple[CrossCheck, ...]:
    """What the new tests of each of the `entries` (label, tip, its new tests) do on the tip of every other one.

    In the order of the pairs; never raises. Files of the other are never replaced: see `cross_checks_laid`.
    """
    found: dict[tuple[str, str], CrossCheck] = {}
    runs: dict[tuple[str, str], _CrossRun] = {}
    for of, against in permutations(entries, 2):
        pair = (of[0], against[0])
        planned = _plan_run(
            bench, of, against, crossed=of in entries[:MOST_CROSSED] and against in entries[:MOST_CROSSED]
        )
        if isinstance(planned, _CrossRun):
            runs[pair] = planned
        else:
            found[pair] = CrossCheck(*pair, why=planned)
    ran = bench.together([(pair[1], run.tree) for pair, run in runs.items()])
    for (pair, run), seen in zip(runs.items(), ran, strict=True):
        found[pair] = _judge_run(pair, run, seen)
    return tuple(found[of[0], against[0]] for of, against in permutations(entries, 2))


def _plan_run(bench: Bench, of: CrossedCandidate, against: CrossedCandidate, *, crossed: bool) -> _CrossRun | str:
    """Return what is to be run, or why nothing is."""
    (label, tip, new), (other, there, _) = of, against
    if not crossed:
        return f"only the first {MOST_CROSSED} candidates are crossed"
    if not new.added:
        return new.why or f"{label} added no tests"
    try:
        base = bench.stand(label).record.base
        before, now = objects.list_entries(bench.git, base), objects.list_entries(bench.git, there)
        where = place_files(list_test_files(bench, base, tip), before, now, label)
        if where.clash:
            return f"{other} has files of its own with the same names: {', '.join(where.clash[:5])}"
        changes = {path: (entry.mode, entry.sha) for path, entry in where.files.items()}
        return _CrossRun(new, where, objects.write_tree_with(bench.git, there, changes))
    except AigonError as error:
        return error.what


def _judge_run(pair: tuple[str, str], run: _CrossRun, seen: tuple[CheckRun, ...] | AigonError) -> CrossCheck:
    if isinstance(seen, AigonError):
        return CrossCheck(*pair, why=seen.what)
    if not any(check.reported for check in seen):
        said = "; ".join(f"{check.check}: {check.summary}" for check in seen)
        return CrossCheck(*pair, why=f"no test was named there ({said})" if said else "no check there runs tests")
    results = {test: _find_result(run.laid.renamed(test), seen) for test in run.new.added}
    failed = tuple(test for test, result in results.items() if result == "failed")
    errors = tuple(test for test, result in results.items() if result == "error")
    return CrossCheck(*pair, sum(result == "passed" for result in results.values()), failed, errors)


def _find_result(test: str, seen: Sequence[CheckRun]) -> TestResult:
    """Return how a test ended there; an error if it was not loaded, was skipped, or lacks what it imports."""
    for check in seen:
        if (result := check.tests.get(test)) is not None:
            ran = result in ("passed", "failed")
            return result if ran and not (result == "failed" and check.lacks_import(test)) else "error"
    return "error"
