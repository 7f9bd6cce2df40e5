"""Tests, programs and commands with another expected value, and which test ids have to fail because of it."""

import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count
from typing import TypeVar

from msgspec import Struct, field

from aigon.control import go, javascript, python, rust
from aigon.control.endings import C_PROGRAMS, fail_at_end
from aigon.control.places import UNSURE, AlterableTest, Draw, Place, words
from aigon.syntax import Edit, Source, apply_edits, language_of, parse
from aigon.text.patterns import compile_re
from aigon.text.shell import ListedCommand, list_commands

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
    """One test: its name (classes before it, dotted), its first and last line, and its words without comments."""

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
        words = " ".join(map(source.text, leaves))
        yield SingleTest(".".join([*test.owners, test.name]), test.node.line, source.last_line(test.node), words)


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
        found = ((each, self._find_meant(each)) for each in ids)
        return {each: meant for each, meant in found if meant and all(test in self.chosen for test in meant)}

    def rename(self, results: Mapping[str, Result], known: Collection[str]) -> dict[str, Result]:
        """Return the results under the known ids of their tests.

        The id of a row's test may contain the row, which is altered. Rows keep their order, so the order decides.
        """
        renamed, new = dict(results), dict[tuple[AlterableTest, ...], list[str]]()
        for each in results:
            if each not in known:
                new.setdefault(self._find_meant(each), []).append(each)
        for each in known:
            if each not in results and (others := new.get(self._find_meant(each))):
                renamed[each] = renamed.pop(others.pop(0))
        return renamed

    def _find_meant(self, name: str) -> tuple[AlterableTest, ...]:
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


_INTERPRETERS: Sequence[tuple[re.Pattern[str], str, str, Callable[[Source, str], AlterableTest]]] = (
    (compile_re(r"(?:.*/)?(?:python|pypy)[\d.]*"), "-c", "command.py", python.find_in_script),
    (compile_re(r"(?:.*/)?(?:node|bun)"), "-e", "command.js", javascript.find_in_script),
)
_SCRIPT_FINDERS = {
    "python": python.find_in_script,
    "javascript": javascript.find_in_script,
    "rust": rust.find_in_program,
}
_ASSERTS = compile_re(
    rb"(?i)^(?!\s*(?:#|//|(?:use|require|import|from|include|package|plan)\b))"
    rb".*(?:assert|expect|should|must|equal|verify|[!=]=|\b(?:is|ok|eq|ne|test|diff|cmp|die|unless|grep)\b|\[\s)"
)
_PARTS = compile_re(rb"(&&|\|\||[;|])")
"""Between the parts of a line: `test -f a && chmod 500 b` asserts nothing about 500."""
_NUMBER = compile_re(rb"(?<![\w.$])\d{1,9}(?![\w.])")
_QUOTED = compile_re(rb"([\"'])[\w ,.!:]+(?=\1)")
_EQUAL = words("= == -eq")
_EXPANDED = compile_re(r"[$`\\]")
_PLAIN = compile_re(r"[\w.,:;@%+/ ^$*'-]*")


def alter_command(script: str, seed: str, *, last: bool = False) -> str:
    """Return the script with one expected value changed, so that it has to fail; "" if none is found.

    Of the code in its words one of the most telling values, or the `last` one.
    """
    commands, draw = list_commands(script), Draw(seed, script)
    for number, command in enumerate(commands):
        decides = all(later.after in ("", "&&") for later in commands[number:])
        if decides and "||" not in command.before and command.words[0] != "!":
            for altered in (*_alter_code(script, command, seed, last), *_alter_words(script, command, draw)):
                if altered != script:
                    return altered
    return ""


def find_scripts(command: str) -> tuple[str, ...]:
    """Return the paths among the first three words of one plain command: the programs that it starts."""
    commands = list_commands(command)
    if len(commands) != 1 or commands[0].words[0] == "!":
        return ()
    return tuple(word.removeprefix("./") for word in commands[0].words[:3] if language_of(word))


def alter_script(path: str, data: bytes, seed: str, *, last: bool = False) -> bytes:
    """Return a program with one expected value changed where it surely runs; b"" without such a value.

    It is one of the most telling, or the `last`: a program that ended well before it came there has not failed. Of C
    and C++ nothing is parsed: all values change, or the program fails at the end of its `main`.
    """
    if path.endswith(C_PROGRAMS):
        ending = fail_at_end(path, data)
        return (ending and not last and alter_assertions(data, seed)) or ending
    source = parse(path, data)
    if not source or source.errors or source.language not in _SCRIPT_FINDERS:
        return b""
    places = [place for place in _SCRIPT_FINDERS[source.language](source, seed).places if not place.rank & UNSURE]
    place = _choose(Draw(seed, path), places, last)
    return apply_edits(source.data, place.edits) if place else b""


def alter_assertions(data: bytes, seed: str) -> bytes:
    """Return a test file with other values wherever it seems to assert, whatever its language; b"" without any.

    One of them is enough to fail: some may be words for people.
    """
    draw = Draw(seed, "assertions")

    def alter_part(part: bytes) -> bytes:
        if not _ASSERTS.search(part):
            return part
        steps = count(draw.step)  # what gives its argument back would give the same other number
        altered = _NUMBER.sub(lambda number: b"%d" % (int(number[0]) + next(steps)), part)
        return altered if altered != part else _QUOTED.sub(lambda text: text[0] + draw.word.encode(), part, count=1)

    def alter_line(line: bytes) -> bytes:
        return b"".join(map(alter_part, _PARTS.split(line))) if _ASSERTS.search(line) else line

    altered = b"\n".join(map(alter_line, data.split(b"\n")))
    return altered if altered != data else b""


def _choose(draw: Draw, places: Sequence[Place], last: bool) -> Place | None:
    if not last:
        return draw.choose(places)
    order = ((not place.rank & UNSURE, place.breaking[0], -place.rank) for place in places)
    return max(zip(order, places, strict=True), key=lambda found: found[0], default=(None, None))[1]


def _alter_code(script: str, command: ListedCommand, seed: str, last: bool) -> Iterator[str]:
    for program, option, path, find in _INTERPRETERS:
        if not program.fullmatch(command.words[0]) or option not in command.words[:-1]:
            continue
        code = command.words[command.words.index(option) + 1]
        source = parse(path, code)
        test = find(source, seed) if source and not source.errors else None
        place = _choose(Draw(seed, code), test.places, last) if test else None
        if not source or not place:
            continue
        for quote in ('"', "'"):
            written = f"{quote}{code if quote == chr(39) else code.replace(quote, chr(92) + quote)}{quote}"
            if script.count(written) == 1 and (quote == "'" or not _EXPANDED.search(code)):
                altered = apply_edits(source.data, place.edits).decode()
                yield script.replace(written, shlex.quote(altered))


def _alter_words(script: str, command: ListedCommand, draw: Draw) -> Iterator[str]:
    listed = command.words
    tested = listed[0] in ("test", "[", "[[") or listed[-1] in ("]", "]]")
    for number, word in enumerate(listed[:-1]):
        value = listed[number + 1]
        if tested and word in _EQUAL and not _EXPANDED.search(value):
            other = draw.alter_number(value) if word == "-eq" else f"{value}{draw.word}"
            yield from _replace_word(script, value, other or "", rf"(?<=\s){re.escape(word)}\s+")
    if listed[0].rpartition("/")[2] in ("grep", "rg") and not any(_is_option(word, "vcL") for word in listed):
        patterns = [word for word in listed[1:] if not word.startswith("-")]
        if patterns and _PLAIN.fullmatch(patterns[0]):
            yield from _replace_word(script, patterns[0], f"{patterns[0]}{draw.word}", r"\s")


def _is_option(word: str, letters: str) -> bool:
    return word.startswith("-") and not word.startswith("--") and any(letter in word for letter in letters)


def _replace_word(script: str, value: str, other: str, before: str) -> Iterator[str]:
    """Yield the script with one word replaced, if that word occurs exactly once after `before`."""
    found = list(re.finditer(rf"{before}(?P<word>(?P<quote>['\"]?){re.escape(value)}(?P=quote))(?=[\s;)\]]|$)", script))
    if len(found) == 1 and other and (value or found[0]["quote"]):
        yield f"{script[: found[0].start('word')]}{shlex.quote(other)}{script[found[0].end('word') :]}"
