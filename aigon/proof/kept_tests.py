"""Tests of the base that the tree still has elsewhere: moved, renamed, split, joined or parametrised.

The base's version of a test decides in a run of its own. This is about what the tree keeps: a test whose assertions all
are in tests that ran and passed has not been taken away, whatever it is called now. Assertions are read in Python; in
JavaScript, TypeScript, Rust and Go a test is the same if it is word for word, comments aside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from aigon.model.checks import TestResult
from aigon.proof.analysis.languages import is_python

if TYPE_CHECKING:
    from aigon.proof.analysis.assertions import AssertingTest


class TestFiles(Struct, frozen=True):
    """The text of test files by path, before the change and after it."""

    __test__ = False  # no class of tests, whatever its name says to pytest

    before: dict[str, str]
    after: dict[str, str]

    def add(self, path: str, before: str | None, after: str | None) -> None:
        """Add a file; None for a version in which there is none."""
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


def _has_passed(test: AssertingTest, results: Collection[TestResult]) -> bool:
    """Return whether every row of its parameters ran and passed."""
    return len(results) >= test.rows and set(results) == {"passed"}


def _group(ids: Iterable[str], texts: Mapping[str, str]) -> Iterator[tuple[AssertingTest, list[str]]]:
    """Yield each test that some ids name, with these."""
    named: dict[int, tuple[AssertingTest, list[str]]] = {}
    for each, test in _find_tests(ids, texts).items():
        named.setdefault(id(test), (test, []))[1].append(each)
    yield from named.values()


def _find_tests(ids: Iterable[str], texts: Mapping[str, str]) -> dict[str, AssertingTest]:
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
