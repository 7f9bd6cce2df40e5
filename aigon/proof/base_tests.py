"""Tests of the base: laid over the tree with their configuration, lost, and kept by the tree elsewhere.

The base's version of a test decides in a run of its own. A test whose assertions all are in tests that ran and passed
has not been taken away, whatever it is called now: moved, renamed, split, joined or parametrised. Assertions are read
in Python; in JavaScript, TypeScript, Rust and Go a test is the same if it is word for word, without comments and name.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct

from aigon.checks.parsers.readings import list_beginnings
from aigon.git import objects
from aigon.git.trusted import TrustedGit
from aigon.languages import is_python
from aigon.model.checks import Problem, TestResult
from aigon.profiles.protection import Protection, Rule
from aigon.proof.analysis import protected_keys
from aigon.proof.findings import Changed, read_versions
from aigon.proof.proposed_allow import follow_renames
from aigon.syntax import language_of
from aigon.text.amounts import format_count

if TYPE_CHECKING:
    from aigon.proof.analysis.assertions import AssertingTest

MOST = 50
"""Problems listed; the rest is counted."""
FEW = 3
"""Tests of one file or class that are gone and are named one by one; more are named together."""
INLINE = Rule((), "review", "tests", source="tests inside the file")
_REASONS: Mapping[TestResult, str] = {
    "skipped": "it ran in the base and is skipped now",
    "failed": "it was in the base and fails",
    "error": "it was in the base and could not run to its end",
}


class TestFiles(Struct, frozen=True):
    """The text of test files by path, before the change and after it."""

    __test__ = False  # no class of tests, whatever its name says to pytest

    before: dict[str, str]
    after: dict[str, str]

    def add(self, path: str, before: str | None, after: str | None) -> None:
        """Add a file; None for a version without it."""
        if before is not None:
            self.before[path] = before
        if after is not None:
            self.after[path] = after

    def is_only_added_to(self, path: str) -> bool:
        """Return whether the file still holds every line that it held before."""
        before, after = (Counter(texts.get(path, "").splitlines()) for texts in (self.before, self.after))
        return before <= after


def find_kept_tests(lost: Collection[str], now: Mapping[str, TestResult], files: TestFiles) -> frozenset[str]:
    """Return those of the `lost` tests, by id, that tests which passed `now` hold word for word or assertion by
    assertion.
    """
    return _find_kept_python(lost, now, files) | _find_kept_words(lost, now, files)


def find_same_functions(lost: Collection[str], now: Mapping[str, TestResult], files: TestFiles) -> frozenset[str]:
    """Return those of the `lost` tests whose function has other parameters, subtests or rows `now`, with which it ran
    and passed.

    That says nothing of what it asserts, as little as the id of a test without parameters does.
    """
    results: dict[str, set[TestResult]] = {}
    for test, result in now.items():
        results.setdefault(_find_function(test), set()).add(result)
    same = {test for test in lost if results.get(_find_function(test)) == {"passed"}}
    return frozenset(same | _find_same_titles([test for test in lost if test not in same], now, files))


def _find_function(test: str) -> str:
    """Return what an id says before the row of a parametrised test or the subtest of Go's."""
    function = test.partition("[")[0]
    owner, _, name = function.partition("::")
    is_go = name.startswith("Test") and not language_of(owner)  # a package, where others have a file
    return f"{owner}::{name.partition('/')[0]}" if is_go else function


def _find_same_titles(lost: Collection[str], now: Mapping[str, TestResult], files: TestFiles) -> set[str]:
    """Return the lost rows of `test.each` and its like whose test, by its title, has other rows that all passed."""
    from aigon.control.alteration import alter  # parsers of other languages

    before, after = (
        alter({path: text.encode("utf-8", "replace") for path, text in texts.items() if not is_python(path)}, "")
        for texts in ((files.before, files.after) if lost else ({}, {}))
    )
    results: dict[str, set[TestResult]] = {}
    for test, result in now.items() if before.tests else ():
        for each in after.find_meant(test):
            results.setdefault(each.name, set()).add(result)

    def is_same(test: str) -> bool:
        meant = before.find_meant(test)
        return bool(meant) and all(each.is_open and results.get(each.name) == {"passed"} for each in meant)

    return {test for test in lost if is_same(test)}


def _find_kept_python(lost: Collection[str], now: Mapping[str, TestResult], files: TestFiles) -> frozenset[str]:
    gone = _find_tests(lost, files.before)
    if not gone:
        return frozenset()
    passed = [test for test, ids in _group(now, files.after) if _has_passed(test, [now[each] for each in ids])]
    bodies = {test.body for test in passed}
    asserted = frozenset(each for test in passed for each in test.asserts or ())
    return frozenset(
        each for each, test in gone.items() if test.body in bodies or (test.asserts and test.asserts <= asserted)
    )


def _has_passed(test: "AssertingTest", results: Collection[TestResult]) -> bool:
    """Return whether every row of its parameters ran and passed."""
    return len(results) >= test.rows and set(results) == {"passed"}


def _group(ids: Iterable[str], texts: Mapping[str, str]) -> Iterator[tuple["AssertingTest", list[str]]]:
    """Yield each test that some ids name, with these."""
    named: dict[int, tuple[AssertingTest, list[str]]] = {}
    for each, test in _find_tests(ids, texts).items():
        named.setdefault(id(test), (test, []))[1].append(each)
    yield from named.values()


def _find_tests(ids: Iterable[str], texts: Mapping[str, str]) -> dict[str, "AssertingTest"]:
    """Return the test in these files that each id names; ids of anything else are left out."""
    from aigon.proof.analysis.assertions import read_tests

    known: dict[str, AssertingTest | None] = {}
    for path, text in texts.items():
        for test in read_tests(text) if is_python(path) else ():
            for owner in _list_owners(path, test.classes):
                name = f"{owner}::{test.name}"
                known[name] = test if name not in known else None  # two of one name: nobody knows which
    found = ((each, known.get(each.partition("[")[0])) for each in ids)
    return {each: test for each, test in found if test}


def _list_owners(path: str, classes: tuple[str, ...]) -> Iterator[str]:
    """Yield how ids name the owner of a test: its module and classes, from any folder above it."""
    parts = path.removesuffix(".py").split("/")
    yield from (".".join([*parts[start:], *classes]) for start in range(len(parts)))


def _find_kept_words(lost: Collection[str], now: Mapping[str, TestResult], files: TestFiles) -> frozenset[str]:
    """Return the lost tests of other languages whose words all are those of tests that passed."""
    before, after = (_read_words(texts) for texts in (files.before, files.after))
    if not before:
        return frozenset()
    others = {_name_of(test) for test, result in now.items() if result != "passed"}
    names = {_name_of(test) for test in now} - others  # of one name, all have to pass
    passed = {words for name in names for words in after.get(name, ())}
    return frozenset(test for test in lost if (words := before.get(_name_of(test))) and words <= passed)


def _name_of(test: str) -> str:
    """Return the last part of an id: `adds` of `web/sum.test.js::sums > adds` and of `demo src/lib.rs::tests::adds`."""
    return test.rpartition("::")[2].rpartition(" > ")[2]


def _read_words(texts: Mapping[str, str]) -> dict[str, set[str]]:
    """Return by name the words of each test in files that are not Python: more than one where files share a name."""
    from aigon.control.alteration import list_cases  # parsers of other languages

    found: dict[str, set[str]] = {}
    for path, text in texts.items():
        for case in () if is_python(path) else list_cases(path, text):
            found.setdefault(case.name, set()).add(case.words)
    return found


class BaseVersions(Struct, frozen=True):
    """`paths` are the tests and checker configuration that the agent touched, `configuration` those that are no tests,
    `inputs` the other files of the base that decide, and `inline` those of the product that hold tests.

    `name` names the very change. `tree` has the base's versions only, without new tests and new configuration: the
    checks have to pass on it, too. In `with_new_tests` the agent's new tests stay: what commands of criteria may be
    about, with the fixtures of a new conftest.py; `has_new_fixtures` says that there is one, which the base's tests
    have to pass without. `files` are the touched test files as text. The base's versions follow the `renames`.
    """

    paths: tuple[str, ...]
    configuration: tuple[str, ...]
    inputs: tuple[str, ...]
    inline: tuple[str, ...]
    name: tuple[str, ...]
    tree: str
    with_new_tests: str
    files: TestFiles
    has_new_fixtures: bool
    renames: Mapping[str, str]


def restore_base_versions(
    git: TrustedGit,
    tree: str,
    rows: Sequence[Changed],
    protection: Protection,
    inputs: Mapping[str, Rule],
    renames: Mapping[str, str] = MappingProxyType({}),
) -> BaseVersions | None:
    """Return the trees to check as well; None if the agent touched neither tests nor what configures the checks.

    `inputs` are other files that decide. The base's code has the new names of `renames`.
    """
    rules = ((row, inputs.get(row.path) or protection.relaid(row.path, new=row.base is None)) for row in rows)
    free = {row.path for row in rows if protection.is_allowed(row.path)}
    ruled = [(row, rule) for row, rule in rules if rule or (row.base and row.tree and row.path not in free)]
    versions = read_versions(git, [row for row, _ in ruled])
    touched: list[tuple[Changed, Rule]] = []
    files = TestFiles({}, {})
    restored: dict[str, tuple[str, str] | None] = {}  # mode and object's name that a path gets; None: it goes
    new_tests = set()
    for row, rule in ruled:
        of_base, after = versions[row.path]
        before = of_base and follow_renames(renames, row.path, of_base)
        if rule and rule.keys and protected_keys.have_equal_keys(before, after, row.path, rule.keys):
            continue  # a file may hold more than what the rule protects
        text = _restore_part(row.path, rule, before, after)
        if rule is None and text is None:
            continue
        touched.append((row, rule or INLINE))
        restored[row.path] = (row.base.mode, row.base.sha) if row.base else None
        if row.base and before is not None and before != of_base:
            restored[row.path] = (row.base.mode, _write_text(git, before))
        if row.tree and (rule is None or rule.keys):
            restored[row.path] = (row.tree.mode, _write_text(git, text)) if text is not None else None
        if rule and rule.part == "tests":
            files.add(row.path, before, after)
        if rule and row.base is None and (rule.part == "tests" or _is_conftest(row.path)):
            new_tests.add(row.path)
    if not touched:
        return None
    kept = {path: version for path, version in restored.items() if version or path not in new_tests}
    without = objects.write_tree_with(git, tree, restored)
    return BaseVersions(
        tuple(restored),
        tuple(row.path for row, rule in touched if rule.part != "tests"),
        tuple(row.path for row, _ in touched if row.base and row.path in inputs),
        tuple(row.path for row, rule in touched if rule is INLINE),
        tuple(f"{row.path} {row.tree.sha if row.tree else 'gone'}" for row, _ in touched),
        without,
        objects.write_tree_with(git, tree, kept) if kept != restored else without,
        files,
        any(map(_is_conftest, new_tests)),
        renames,
    )


def _restore_part(path: str, rule: Rule | None, before: str | None, after: str | None) -> str | None:
    """Return the text of the tree with the base's inline tests, or with what it says under the keys of the rule."""
    if rule is None:
        from aigon.proof.inline_tests import restore_inline_tests

        return restore_inline_tests(path, before, after)
    return protected_keys.copy_keys(before, after, path, rule.keys) if rule.keys else None


def _write_text(git: TrustedGit, text: str) -> str:
    return objects.write_blob(git, text.encode("utf-8", "replace"))


def _is_conftest(path: str) -> bool:
    return path.rpartition("/")[2] == "conftest.py"


def find_lost_tests(
    base: Mapping[str, TestResult], now: Mapping[str, TestResult], reported_on_base: bool, reported_now: bool
) -> tuple[Problem, ...]:
    """Return the tests that ran on the base (passed or not) and are not `passed` now; not those that it skipped.

    At most MOST problems and one with the number of the others: what is gone first, then what is skipped, then what
    fails. No report now, if the base left one, is one problem.
    """
    wanted = {test: result for test, result in base.items() if result != "skipped"}
    if not reported_on_base or not wanted:
        return ()
    if not reported_now:
        report = f"a report with {format_count(len(wanted), 'test')}"
        return (Problem(f"on the base it left {report}, and now it leaves none: nothing shows they ran"),)
    problems = list(_list_gone(wanted, now))
    for result, reason in _REASONS.items():
        problems += [Problem(reason, test=test) for test in sorted(wanted) if now.get(test) == result]
    if (more := len(problems) - MOST) > 0:
        rest = Problem(f"{format_count(more, 'test')} of the base more, missing, skipped or failing")
        return (*problems[:MOST], rest)
    return tuple(problems)


def leave_out_files(base: Mapping[str, TestResult], files: Iterable[str]) -> dict[str, TestResult]:
    """Return `base` without the tests of these files, which someone may change (the `allow` of a spec)."""
    prefixes = list_beginnings(files)
    return {test: result for test, result in base.items() if not test.startswith(prefixes)}


def _list_gone(wanted: Mapping[str, TestResult], now: Mapping[str, TestResult]) -> Iterator[Problem]:
    missing = sorted(test for test in wanted if test not in now)
    if any("::" not in test for test in missing):
        # What broke in place of its tests (a file, a module, a class) is whole again if it has tests now.
        owners = {_find_owner(test) for test in now} - {""}
        holders = {".".join(owner.split(".")[:n]) for owner in owners for n in range(1, owner.count(".") + 2)}
        missing = [test for test in missing if wanted[test] == "passed" or test not in holders]
    gone, known = Counter(map(_find_owner, missing)), Counter(map(_find_owner, wanted))
    together = {owner: number for owner, number in gone.items() if owner and FEW < number == known[owner]}
    for owner, number in together.items():
        yield Problem(f"its {number} tests were in the base and are gone", test=owner)
    for test in missing:
        if _find_owner(test) not in together:
            yield Problem("it was in the base and is gone", test=test)


def _find_owner(test: str) -> str:
    return test.partition("::")[0] if "::" in test else ""
