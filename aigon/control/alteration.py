"""Tests with another expected value, and which test ids have to fail because of it."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

from msgspec import Struct, field

from aigon.control import go, javascript, python, rust
from aigon.control.places import AlterableTest, Draw, Place
from aigon.syntax import Edit, Source, apply_edits, language_of, parse
from aigon.text.patterns import compile_re

_FINDERS = {
    "python": python.find_tests,
    "javascript": javascript.find_tests,
    "typescript": javascript.find_tests,
    "tsx": javascript.find_tests,
    "rust": rust.find_tests,
    "go": go.find_tests,
}
_WORD = compile_re(r"\w+")
Result = TypeVar("Result")


def find_tests(path: str, data: bytes, seed: str) -> tuple[Source | None, tuple[AlterableTest, ...]]:
    """Return a parsed file and its tests; no source, if it is in no language that is read."""
    source = parse(path, data)
    return source, tuple(_FINDERS[source.language](source, seed)) if source and not source.errors else ()


class SingleTest(Struct, frozen=True):
    """One test: its name (classes before it, dotted), its first and last line, and its words.

    The words leave out comments and the name, so that a renamed test has the same.
    """

    name: str
    start: int
    end: int
    words: str


@lru_cache(maxsize=256)
def list_cases(path: str, text: str) -> tuple[SingleTest, ...]:
    """Return all tests of a file, in order; none of a language whose grammar is not here."""
    return tuple(sorted(_list_cases(path, text), key=lambda case: case.start))


def _list_cases(path: str, text: str) -> Iterator[SingleTest]:
    source, tests = find_tests(path, text.encode("utf-8", "surrogateescape"), "")
    for test in tests:
        assert source is not None, "only a source has tests"
        leaves = (leaf for leaf in test.node.walk() if not leaf.children and "comment" not in leaf.kind)
        texts = list(map(source.text, leaves))
        named = next((n for n, text in enumerate(texts) if _is_name(text, test)), len(texts))
        words = " ".join((*texts[:named], *texts[named + 1 :]))
        yield SingleTest(".".join([*test.owners, test.name]), test.node.line, source.last_line(test.node), words)


def _is_name(text: str, test: AlterableTest) -> bool:
    return text.startswith(test.name) if test.is_open else text == test.name


class Alteration(Struct, frozen=True):
    """The tests of a project's files by their ids. `chosen` are the places that were drawn, by test."""

    sources: Mapping[str, Source]
    tests: Sequence[AlterableTest]
    chosen: Mapping[AlterableTest, Place]
    _named: dict[str, list[AlterableTest]] = field(default_factory=dict)
    _titled: list[AlterableTest] = field(default_factory=list)

    def __post_init__(self) -> None:
        for test in self.tests:
            if test.is_title:
                self._titled.append(test)
            else:
                self._named.setdefault(test.name, []).append(test)

    def find_altered(self, ids: Iterable[str]) -> dict[str, tuple[AlterableTest, ...]]:
        """Return the ids that have to fail, with the tests that each can mean: all of them are altered."""
        found = ((each, self.find_meant(each)) for each in ids)
        return {each: meant for each, meant in found if meant and all(test in self.chosen for test in meant)}

    def rename(self, results: Mapping[str, Result], known: Collection[str]) -> dict[str, Result]:
        """Return the results under the known ids of their tests.

        The id of a row's test may contain the row, which is altered. Rows keep their order, so the order decides.
        """
        renamed, new = dict(results), dict[tuple[AlterableTest, ...], list[str]]()
        for each in results:
            if each not in known:
                new.setdefault(self.find_meant(each), []).append(each)
        for each in known:
            if each not in results and (others := new.get(self.find_meant(each))):
                renamed[each] = renamed.pop(others.pop(0))
        return renamed

    def find_meant(self, name: str) -> tuple[AlterableTest, ...]:
        """Return the tests that an id can mean, by its own words: those that fit best. They can be several: an id need
        not begin at the root of the project."""
        plain = name.partition("[")[0]
        words = _WORD.findall(plain)
        titled = [test for test in self._titled if _can_mean(name, test)]
        longest = max((len(test.name) for test in titled), default=0)
        named = [test for word in dict.fromkeys(words) for test in self._named.get(word, ())]
        meant = [*named, *(test for test in titled if len(test.name) == longest)]

        def fit(test: AlterableTest) -> int:
            parts = _WORD.findall(test.path)
            return 10 * sum(owner in words for owner in test.owners) + sum(part in words for part in parts)

        best = max(map(fit, meant), default=0)
        return tuple(test for test in meant if fit(test) == best)


def _can_mean(name: str, test: AlterableTest) -> bool:
    """Return whether an id can mean a test with a title, of its file if the id begins with one.

    Words come before the title, and after one that is open. A title that begins with a value tells nothing.
    """
    file, gap, _ = name.partition("::")
    if not test.name or (gap and language_of(file) and not f"/{test.path}".endswith(f"/{file}")):
        return False
    title = re.escape(test.name) + ("" if test.is_open else "$")
    return re.search(rf"(?:^|[\s:>]){title}", name) is not None


def alter(files: Mapping[str, bytes], seed: str, only: frozenset[str] | None = None) -> Alteration:
    """Draw one place of every test in these files, or of those in `only`, by path."""
    sources, tests, chosen = {}, list[AlterableTest](), dict[AlterableTest, Place]()
    for path, data in files.items():
        source, found = find_tests(path, data, seed)
        if source and found:
            sources[path] = source
            tests += found
            for test in found if only is None or path in only else ():
                if place := Draw(seed, path, *test.owners, test.name, "place").choose(test.places):
                    chosen[test] = place
    return Alteration(sources, tests, chosen)


def write_files(
    sources: Mapping[str, Source], edits: Iterable[tuple[str, Sequence[Edit]]]
) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of each file that is edited."""
    by_path: dict[str, list[Edit]] = {}
    for path, some in edits:
        by_path.setdefault(path, []).extend(some)
    for path, some in by_path.items():
        yield path, apply_edits(sources[path].data, some)
