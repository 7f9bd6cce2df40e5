"""The tests that a candidate added: whether the base fails them, and what they do on the work of others."""

import re
from collections.abc import Mapping, Sequence
from itertools import permutations

from msgspec import Struct, field

from aigon.checks.parsers.readings import list_prefixes
from aigon.compare.bench import Bench
from aigon.compare.facts import CrossCheck, NewTests
from aigon.compare.stand import CheckRun
from aigon.errors import AigonError
from aigon.git import objects
from aigon.git.objects import TreeEntry
from aigon.model.checks import TestResult
from aigon.text.patterns import compile_re

_PYTHON = compile_re(r"(?P<folder>(?:.*/)?)(?:(?P<first>test_[^/]*|test[^/]*)|(?P<last>[^/]*_test))\.py")
"""Files in which pytest (and unittest) looks for tests, whatever the rest of their names."""


class PlacedTests(Struct, frozen=True):
    """Test files by the path that they get. `moved` has those whose path changes, `clash` those without a free path."""

    files: Mapping[str, TreeEntry]
    moved: Mapping[str, str] = field(default_factory=dict)
    clash: tuple[str, ...] = ()

    def rename(self, test: str) -> str:
        """Return the id that a test has if its file was moved."""
        for old, new in self.moved.items():
            for before, after in zip(list_prefixes(old), list_prefixes(new), strict=True):
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
        other = there.get(path)
        if other in (None, base.get(path)) or (other and (other.mode, other.sha) == (entry.mode, entry.sha)):
            placed[path] = entry
        elif free := _find_free_name(path, {*there, *files, *placed}, label):
            placed[free], moved[path] = entry, free
        else:
            clash.append(path)
    return PlacedTests(placed, moved, tuple(clash))


def _find_free_name(path: str, taken: set[str], label: str) -> str:
    """Return a free path in the folder of `path` where pytest looks for tests; "" without one."""
    match = _PYTHON.fullmatch(path)
    if not match:
        return ""
    own = re.sub(r"\W", "_", label) or "other"
    for more in ("", *(f"_{number}" for number in range(2, 100))):
        name = f"{match['first']}__{own}{more}" if match["first"] else f"{match['last'][:-5]}__{own}{more}_test"
        if (free := f"{match['folder']}{name}.py") not in taken:
            return free
    return ""


LINK = "160000"


class _TestTally(Struct):
    """New tests so far; `why` has the reasons for which some are unknown. Dictionaries keep them in order."""

    added: dict[str, None] = field(default_factory=dict)
    red: dict[str, None] = field(default_factory=dict)
    green: dict[str, None] = field(default_factory=dict)
    why: dict[str, None] = field(default_factory=dict)

    def add_check(
        self, on_tip: CheckRun, on_base: CheckRun, before: Mapping[str, TestResult], files: frozenset[str]
    ) -> None:
        """Add the tests of one check that are new and ran; `before` are those of the base."""
        for test, result in on_tip.tests.items():
            if test in before or result == "skipped":
                continue
            self.added[test] = None
            if result != "passed":
                self.why["some do not pass on the candidate's own work"] = None
            elif _is_red(test, on_base, files):
                self.red[test] = None
            elif on_base.tests.get(test) == "passed":
                self.green[test] = None
            elif not on_base.reported:
                self.why[f"{on_base.check} named no tests on the base ({on_base.summary})"] = None
            else:
                skipped = "skipped on" if test in on_base.tests else "not run on"
                self.why[f"some {'are' if test in on_base.tests else 'were'} {skipped} the base"] = None


def find_new_tests(bench: Bench, label: str, base: str, tip: str) -> NewTests:
    """Return the tests that `tip` has beyond `base`, and how they end on `base`; never raise.

    A test counts as failed if it fails, or cannot even be loaded, on the base with the candidate's test files in it.
    """
    try:
        files = list_test_files(bench, base, tip)
        if not files:
            return NewTests()
        stand = bench.open_stand(label)
        if not stand.job.checks:
            return NewTests(why="no check of this project runs tests")
        tested = stand.record.tested
        recorded: dict[str, Mapping[str, TestResult]] = {
            name: run.tests for name, run in tested.items() if run.reported
        }
        trees = [tip, _overlay(bench, base, files)]
        if not all(check.name in recorded for check in stand.job.checks):
            trees.append(base)
        runs = bench.run_all([(label, tree) for tree in trees])
        if error := next((run for run in runs if isinstance(run, AigonError)), None):
            raise error
        on_tip, on_base, *alone = [run for run in runs if not isinstance(run, AigonError)]
        recorded = {run.check: run.tests for each in alone for run in each if run.reported} | recorded
        if not any(bench.protection.part(path) == "tests" for path in objects.list_entries(bench.git, base)):
            recorded = {check.name: {} for check in stand.job.checks} | recorded
        return _tally_runs(on_tip, on_base, recorded, frozenset(files))
    except AigonError as error:
        return NewTests(why=error.what)


def _tally_runs(
    on_tip: tuple[CheckRun, ...],
    on_base: tuple[CheckRun, ...],
    recorded: Mapping[str, Mapping[str, TestResult]],
    files: frozenset[str],
) -> NewTests:
    """Compare the runs of each check; `recorded` are the tests of the base by check."""
    tally = _TestTally()
    for tip_run, base_run in zip(on_tip, on_base, strict=True):
        if not tip_run.reported or not tip_run.tests:
            tally.why[f"{tip_run.check} names no tests ({tip_run.summary})"] = None
        elif (before := recorded.get(tip_run.check)) is None:
            tally.why[f"it is not known which tests {tip_run.check} has on the base"] = None
        else:
            tally.add_check(tip_run, base_run, before, files)
    unknown = tuple(test for test in tally.added if test not in tally.red and test not in tally.green)
    return NewTests(tuple(tally.added), tuple(tally.red), tuple(tally.green), unknown, "; ".join(tally.why))


def list_test_files(bench: Bench, base: str, tip: str) -> dict[str, TreeEntry]:
    """Return the test files that `tip` adds to `base` or changes, by path."""
    before, after = objects.list_entries(bench.git, base), objects.list_entries(bench.git, tip)
    changed = {path: entry for path, entry in after.items() if entry != before.get(path) and entry.mode != LINK}
    return {path: entry for path, entry in changed.items() if bench.protection.part(path) == "tests"}


def _overlay(bench: Bench, tree: str, files: Mapping[str, TreeEntry]) -> str:
    """Return the name of a tree with these files in it, by path."""
    return objects.write_tree_with(bench.git, tree, {path: (entry.mode, entry.sha) for path, entry in files.items()})


def _is_red(test: str, on_base: CheckRun, files: frozenset[str]) -> bool:
    """Return whether it fails, or is in a file that cannot be loaded, or in a test build that these files break."""
    if (result := on_base.tests.get(test)) is not None:
        return result in ("failed", "error")
    broken = not on_base.reported and on_base.status == "fail" and any(p.file in files for p in on_base.problems)
    return broken or on_base.fails_to_load(test)


MOST_CROSSED = 4
"""Candidates that are crossed, the first ones: with n of them it takes n * (n - 1) runs."""
CrossedCandidate = tuple[str, str, NewTests]
"""A label, the tip of the branch, and its new tests."""


def run_cross_checks(bench: Bench, entries: Sequence[CrossedCandidate]) -> tuple[CrossCheck, ...]:
    """Run the new tests of each of the `entries` on the tip of every other one; never raise.

    The results are in the order of the pairs. Files of the other are never replaced: see `place_files`.
    """
    checks: dict[tuple[str, str], CrossCheck] = {}
    runs: dict[tuple[str, str], tuple[NewTests, PlacedTests, str]] = {}
    for (label, tip, new), (other, there, _) in permutations(entries, 2):
        pair = (label, other)
        try:
            if not {label, other} <= {each[0] for each in entries[:MOST_CROSSED]}:
                checks[pair] = CrossCheck(*pair, why=f"only the first {MOST_CROSSED} candidates are crossed")
            elif not new.added:
                checks[pair] = CrossCheck(*pair, why=new.why or f"{label} added no tests")
            else:
                placed = _place_tests(bench, label, tip, there)
                if placed.clash:
                    names = ", ".join(placed.clash[:5])
                    checks[pair] = CrossCheck(*pair, why=f"{other} has files of its own with the same names: {names}")
                else:
                    runs[pair] = (new, placed, _overlay(bench, there, placed.files))
        except AigonError as error:
            checks[pair] = CrossCheck(*pair, why=error.what)
    results = bench.run_all([(other, tree) for (_, other), (_, _, tree) in runs.items()])
    for (pair, (new, placed, _)), run in zip(runs.items(), results, strict=True):
        checks[pair] = _judge_run(pair, new, placed, run)
    return tuple(checks[one[0], other[0]] for one, other in permutations(entries, 2))


def _place_tests(bench: Bench, label: str, tip: str, there: str) -> PlacedTests:
    base = bench.open_stand(label).record.base
    before, now = objects.list_entries(bench.git, base), objects.list_entries(bench.git, there)
    return place_files(list_test_files(bench, base, tip), before, now, label)


def _judge_run(
    pair: tuple[str, str], new: NewTests, placed: PlacedTests, run: tuple[CheckRun, ...] | AigonError
) -> CrossCheck:
    if isinstance(run, AigonError):
        return CrossCheck(*pair, why=run.what)
    if not any(check.reported for check in run):
        summary = "; ".join(f"{check.check}: {check.summary}" for check in run)
        return CrossCheck(*pair, why=f"no test was named there ({summary})" if summary else "no check there runs tests")
    results = {test: _find_result(placed.rename(test), run) for test in new.added}
    failed = tuple(test for test, result in results.items() if result == "failed")
    errors = tuple(test for test, result in results.items() if result == "error")
    return CrossCheck(*pair, sum(result == "passed" for result in results.values()), failed, errors)


def _find_result(test: str, run: Sequence[CheckRun]) -> TestResult:
    """Return how a test ended there; an error if it was not loaded, was skipped, or lacks what it imports."""
    for check in run:
        if (result := check.tests.get(test)) is not None:
            ran = result in ("passed", "failed")
            return result if ran and not (result == "failed" and check.lacks_import(test)) else "error"
    return "error"
