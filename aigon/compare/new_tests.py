"""The tests that a candidate added, and whether the base fails them: only such a test shows that something is new."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from aigon.compare.new_tests_bench import Bench as Bench
from aigon.compare.new_tests_seen import Seen
from aigon.compare.rules.evidence import NewTests
from aigon.errors import AigonError
from aigon.git import objects
from aigon.git.objects import TreeEntry
from aigon.model.checks import TestResult

LINK = "160000"


@dataclass(slots=True)
class _Found:
    """What is known so far; `why` has a reason for each kind of test of which nothing is."""

    added: dict[str, None] = field(default_factory=dict)
    red: dict[str, None] = field(default_factory=dict)
    green: dict[str, None] = field(default_factory=dict)
    why: dict[str, None] = field(default_factory=dict)


def new_tests(bench: Bench, label: str, base: str, tip: str) -> NewTests:
    """The tests that the commit `tip` of a candidate has beyond `base`, and how they end on `base`; never raises.

    A test counts as red where it fails, or cannot even be loaded, on the base with the candidate's test files in it.
    """
    try:
        return _new_tests(bench, label, base, tip)
    except AigonError as error:
        return NewTests(why=error.what)


def files_of_tests(bench: Bench, base: str, tip: str) -> dict[str, TreeEntry]:
    """The test files in which `tip` has something that `base` has not: added and changed ones, by path."""
    before, after = objects.list_entries(bench.git, base), objects.list_entries(bench.git, tip)
    changed = {path: entry for path, entry in after.items() if entry != before.get(path) and entry.mode != LINK}
    return {path: entry for path, entry in changed.items() if bench.protection.part(path) == "tests"}


def laid_over(bench: Bench, tree: str, files: Mapping[str, TreeEntry]) -> str:
    """`tree` with these files in it."""
    return objects.write_tree_with(bench.git, tree, {path: (entry.mode, entry.sha) for path, entry in files.items()})


def _new_tests(bench: Bench, label: str, base: str, tip: str) -> NewTests:
    files = files_of_tests(bench, base, tip)
    if not files:
        return NewTests()
    stand = bench.stand(label)
    if not stand.job.checks:
        return NewTests(why="no check of this project runs tests")
    wanted = [(label, tip), (label, laid_over(bench, base, files))]
    if not all(_recorded(bench, label, check.name) for check in stand.job.checks):
        wanted.append((label, base))
    ran = bench.together(wanted)
    for one in ran:
        if isinstance(one, AigonError):
            raise one
    sights = [one for one in ran if not isinstance(one, AigonError)]
    return _compared(bench, label, base, frozenset(files), sights)


def _recorded(bench: Bench, label: str, check: str) -> bool:
    """Whether the look at the base said which tests there are."""
    tested = bench.stand(label).record.tested.get(check)
    return tested is not None and tested.reported


def _compared(bench: Bench, label: str, base: str, files: frozenset[str], sights: list[tuple[Seen, ...]]) -> NewTests:
    found = _Found()
    for number, (on_tip, on_base) in enumerate(zip(*sights[:2], strict=True)):
        if not on_tip.reported or not on_tip.tests:
            found.why[f"{on_tip.check} names no tests ({on_tip.summary})"] = None
            continue
        alone = sights[2][number] if len(sights) > 2 else None
        before = _before(bench, label, base, on_tip.check, alone)
        if before is None:
            found.why[f"it is not known which tests {on_tip.check} has on the base"] = None
            continue
        _add(found, on_tip, on_base, before, files)
    unknown = tuple(test for test in found.added if test not in found.red and test not in found.green)
    return NewTests(tuple(found.added), tuple(found.red), tuple(found.green), unknown, "; ".join(found.why))


def _before(bench: Bench, label: str, base: str, check: str, alone: Seen | None) -> Mapping[str, TestResult] | None:
    """The tests of the base; none where it has no test file, None where nobody knows."""
    if _recorded(bench, label, check):
        return bench.stand(label).record.tested[check].tests
    if alone and alone.reported:
        return alone.tests
    has_some = any(bench.protection.part(path) == "tests" for path in objects.list_entries(bench.git, base))
    return None if has_some else {}


def _add(found: _Found, on_tip: Seen, on_base: Seen, before: Mapping[str, TestResult], files: frozenset[str]) -> None:
    """Sort the tests of one check that are new and ran."""
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
            found.why[_unknown(test, on_base)] = None


def _is_red(test: str, on_base: Seen, files: frozenset[str]) -> bool:
    """Whether it fails there, is in a file that cannot be loaded, or in a test build that these very files break."""
    if (result := on_base.tests.get(test)) is not None:
        return result in ("failed", "error")
    broken = not on_base.reported and on_base.status == "fail" and any(p.file in files for p in on_base.problems)
    return broken or on_base.unloaded(test)


def _unknown(test: str, on_base: Seen) -> str:
    if not on_base.reported:
        return f"{on_base.check} named no tests on the base ({on_base.summary})"
    return "some are skipped on the base" if test in on_base.tests else "some were not run on the base"
