"""Programs, scripts and commands with another expected value, so that they have to fail, or the same in other words.

A test file of a language that is not parsed is altered line by line: of several other values one has to show.
"""

import re
import shlex
from collections.abc import Callable, Iterator, Sequence, Set
from itertools import count
from typing import Literal

from aigon.control import javascript, python, rust
from aigon.control.alteration import find_tests
from aigon.control.places import UNSURE, AlterableTest, Draw, Place, words
from aigon.syntax import Edit, Source, apply_edits, language_of, parse
from aigon.text.patterns import compile_re
from aigon.text.shell import ListedCommand, list_commands

Way = Literal["any", "last", "same"]
"""What becomes of a program: one expected value is another, or the last, since a program that ends well before it comes
there has not failed; or all assertions are the same in other words."""
_INTERPRETERS: Sequence[tuple[re.Pattern[str], str, str, Callable[[Source, str], AlterableTest]]] = (
    (compile_re(r"(?:.*/)?(?:python|pypy)[\d.]*"), "-c", "command.py", python.find_in_script),
    (compile_re(r"(?:.*/)?(?:node|bun)"), "-e", "command.js", javascript.find_in_script),
)
_SCRIPT_FINDERS = {
    "python": python.find_in_script,
    **dict.fromkeys(("javascript", "typescript", "tsx"), javascript.find_in_script),
    "rust": rust.find_in_program,
}
_EQUAL = words("= == -eq")
_EXPANDED = compile_re(r"[$`\\]")
_PLAIN = compile_re(r"[\w.,:;@%+/ ^$*'-]*")


def alter_command(script: str, seed: str, way: Way = "any") -> str:
    """Return the script with one expected value changed, so that it has to fail; "" if none is found.

    Of the code in its words one of the most telling values, or the last one. What is the same has to pass.
    """
    commands, draw = list_commands(script), Draw(seed, script)
    for number, command in enumerate(commands):
        decides = all(later.after in ("", "&&") for later in commands[number:])
        if decides and "||" not in command.before and command.words[0] != "!":
            found = [*_alter_code(script, command, seed, way)]
            found += _alter_words(script, command, draw) if way != "same" else ()
            for altered in found:
                if altered != script:
                    return altered
    return ""


def find_scripts(command: str) -> tuple[str, ...]:
    """Return the paths among the first three words of one plain command: the programs that it starts."""
    commands = list_commands(command)
    if len(commands) != 1 or commands[0].words[0] == "!":
        return ()
    return tuple(word.removeprefix("./") for word in commands[0].words[:3] if language_of(word))


def alter_script(path: str, data: bytes, seed: str, way: Way = "any", used: Set[bytes] | None = None) -> bytes:
    """Return a program or a test file that fails as a whole with other values; b"" without such a value.

    Of what surely runs one of the most telling values changes, or the last. Without one, each of its tests changes;
    without tests, or in a language that is not parsed, all lines that assert, or that call a function in `used`. What
    is the same has to pass.
    """
    source, tests = find_tests(path, data, seed)
    if source and not source.errors:
        find = _SCRIPT_FINDERS.get(source.language)
        found = find(source, seed).places if find else ()
        places = [place for place in found if way == "same" or not place.rank & UNSURE]
        asked = (test for test in tests if not used or calls_any(data[test.node.start : test.node.end], used))
        drawn = (_choose(Draw(seed, path, test.name), test.places, way) for test in asked)
        if edits := _choose(Draw(seed, path), places, way) or {edit for some in drawn for edit in some}:
            return apply_edits(source.data, edits)
    if (source and source.language in ("rust", "go")) or (path.endswith(C_PROGRAMS) and not has_main(data)):
        return b""  # a part of a program
    return alter_assertions(data, seed, used) if way != "same" else b""


def _choose(draw: Draw, places: Sequence[Place], way: Way) -> set[Edit]:
    if way == "same":
        return {edit for place in places for edit in place.same}
    order = ((not place.rank & UNSURE, place.breaking[0], -place.rank) for place in places)
    last = max(zip(order, places, strict=True), key=lambda found: found[0], default=(None, None))[1]
    place = last if way == "last" else draw.choose(places)
    return set(place.edits) if place else set()


def _alter_code(script: str, command: ListedCommand, seed: str, way: Way) -> Iterator[str]:
    for program, option, path, find in _INTERPRETERS:
        if not program.fullmatch(command.words[0]) or option not in command.words[:-1]:
            continue
        code = command.words[command.words.index(option) + 1]
        source = parse(path, code)
        test = find(source, seed) if source and not source.errors else None
        edits = _choose(Draw(seed, code), test.places, way) if test else None
        if not source or not edits:
            continue
        for quote in ('"', "'"):
            written = f"{quote}{code if quote == chr(39) else code.replace(quote, chr(92) + quote)}{quote}"
            if script.count(written) == 1 and (quote == "'" or not _EXPANDED.search(code)):
                altered = apply_edits(source.data, edits).decode()
                yield script.replace(written, shlex.quote(altered))


def _alter_words(script: str, command: ListedCommand, draw: Draw) -> Iterator[str]:
    listed = command.words
    tested = listed[0] in ("test", "[", "[[") or listed[-1] in ("]", "]]")
    for number, word in enumerate(listed[:-1]):
        value = listed[number + 1]
        if tested and word in _EQUAL and not _EXPANDED.search(value):
            other = draw.alter_number(value) if word == "-eq" else draw.alter_text(value)
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


C_PROGRAMS = (".c", ".cc", ".cpp", ".cxx")
_ASSERTS = compile_re(
    rb"(?i)^(?!\s*(?:#|//|(?:use|from|include|package|plan)\b)|.*\b(?:require|import)\b)"
    rb".*(?:assert|expect|should|must|equal|verify|[!=]=|\b(?:is|ok|eq|ne|test|diff|cmp|die|unless|grep)\b|\[\s"
    rb"|\w\(\s*[\w.]+\([^()]*\)\s*,)"
)
"""Lines that seem to assert; the last form hands what a call returned to another: `check(add(2, 3), 5)`."""
_SAYS = compile_re(rb"\s*(?:#|//|(?:echo|print\w*|puts|say|note|diag|console|System)\b)")
"""Lines for people."""
_PARTS = compile_re(rb"(&&|\|\||[;|])")
"""Between the parts of a line: `test -f a && chmod 500 b` asserts nothing about 500."""
_NUMBER = compile_re(rb"(?<![\w.$])\d{1,9}(?![\w.])")
_QUOTED = compile_re(rb"([\"'])[\w ,.!:]+(?=\1)")
_DEFINES = compile_re(
    rb"\b(?:def|function|fn|func|fun|sub|proc)\s+(\w+)"
    rb"|\b(?!(?:if|for|while|switch|catch)\b)(\w+)\s*\([^;(){}]*\)\s*\{"
    rb"|\b(\w+)\s*[:=]\s*(?:async\s+)?(?:function\b|(?:\w+|\([^;(){}]*\))\s*=>)"
)


def has_main(data: bytes) -> bool:
    """Return whether a source in C is a program."""
    return re.search(rb"\bmain\s*\(", data) is not None


def list_changed_functions(base: bytes, now: bytes) -> Iterator[bytes]:
    """Yield the names of functions whose text the base does not have."""
    yield from (name for name, text in _list_functions(now) if text not in base)


def _list_functions(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    found = list(_DEFINES.finditer(data))
    ends = [*(data.rfind(b"\n", 0, later.start()) for later in found[1:]), len(data)]
    for each, end in zip(found, ends, strict=False):
        yield each[1] or each[2] or each[3], data[each.start() : max(end, each.end())].rstrip()


def calls_any(text: bytes, used: Set[bytes]) -> bool:
    """Return whether a test names one of these functions."""
    return not used.isdisjoint(re.findall(rb"\w+", text))


def alter_assertions(data: bytes, seed: str, used: Set[bytes] | None = None) -> bytes:
    """Return a test file with other values wherever it seems to assert, or on the lines that call a function in `used`;
    b"" without any.

    One of them is enough to fail: some may be words for people.
    """
    draw = Draw(seed, "assertions")
    calls = re.compile(rb"\b(?:%s)\b.*?[\d\"']" % b"|".join(map(re.escape, sorted(used or ()))))

    def is_meant(text: bytes) -> bool:
        if used is None:
            return _ASSERTS.search(text) is not None
        return bool(used) and calls.search(text) is not None and not _SAYS.match(text)

    def alter_part(part: bytes) -> bytes:
        if not is_meant(part):
            return part
        steps = count(draw.step)  # what gives its argument back would give the same other number
        altered = _NUMBER.sub(lambda number: b"%d" % (int(number[0]) + next(steps)), part)
        return altered if altered != part else _QUOTED.sub(lambda text: text[0] + draw.word.encode(), part, count=1)

    def alter_line(line: bytes) -> bytes:
        return b"".join(map(alter_part, _PARTS.split(line))) if is_meant(line) else line

    altered = b"\n".join(map(alter_line, data.split(b"\n")))
    return altered if altered != data else b""
