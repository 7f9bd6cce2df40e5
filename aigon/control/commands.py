"""Commands with an expected value in their own words: code for an interpreter, `test`, and a pattern for grep."""

import re
import shlex
from collections.abc import Callable, Iterator, Sequence

from aigon.control import javascript, python, rust
from aigon.control.places import UNSURE, AlterableTest, Draw, words
from aigon.syntax import Source, apply_edits, language_of, parse
from aigon.text.patterns import compile_re
from aigon.text.shell import ListedCommand, list_commands

_INTERPRETERS: Sequence[tuple[re.Pattern[str], str, str, Callable[[Source, str], AlterableTest]]] = (
    (compile_re(r"(?:.*/)?(?:python|pypy)[\d.]*"), "-c", "command.py", python.find_in_script),
    (compile_re(r"(?:.*/)?(?:node|bun)"), "-e", "command.js", javascript.find_in_script),
)
_FINDERS = {
    "python": python.find_in_script,
    "javascript": javascript.find_in_script,
    "rust": rust.find_in_program,
}
C_PROGRAMS = (".c", ".cc", ".cpp", ".cxx")
_MAIN_OF_C = compile_re(rb"\bmain\s*\([^;{}]*\)[^;{}]*\{")
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


def alter_command(script: str, seed: str) -> str:
    """Return the script with one expected value changed, so that it has to fail; "" if none is found."""
    commands, draw = list_commands(script), Draw(seed, script)
    for number, command in enumerate(commands):
        decides = all(later.after in ("", "&&") for later in commands[number:])
        if decides and "||" not in command.before and command.words[0] != "!":
            for altered in (*_alter_code(script, command, seed), *_alter_words(script, command, draw)):
                if altered != script:
                    return altered
    return ""


def find_scripts(command: str) -> tuple[str, ...]:
    """Return the paths among the first three words of one plain command: the programs that it starts."""
    commands = list_commands(command)
    if len(commands) != 1 or commands[0].words[0] == "!":
        return ()
    return tuple(word.removeprefix("./") for word in commands[0].words[:3] if language_of(word))


def alter_script(path: str, data: bytes, seed: str) -> bytes:
    """Return a program with one expected value changed where it surely runs; b"" without such a value.

    Of C and C++ nothing is parsed: such a program leaves its `main` at once, with a status of failure.
    """
    if path.endswith(C_PROGRAMS):
        return _MAIN_OF_C.sub(lambda main: main[0] + b" return 97;", data, count=1) if _MAIN_OF_C.search(data) else b""
    source = parse(path, data)
    if not source or source.errors or source.language not in _FINDERS:
        return b""
    places = [place for place in _FINDERS[source.language](source, seed).places if not place.rank & UNSURE]
    place = Draw(seed, path).choose(places)
    return apply_edits(source.data, place.edits) if place else b""


def alter_assertions(data: bytes, seed: str) -> bytes:
    """Return a test file with other values wherever it seems to assert, whatever its language; b"" without any.

    One of them is enough to fail: some may be words for people.
    """
    draw = Draw(seed, "assertions")

    def alter_part(part: bytes) -> bytes:
        if not _ASSERTS.search(part):
            return part
        altered = _NUMBER.sub(lambda number: b"%d" % (int(number[0]) + draw.step), part)
        return altered if altered != part else _QUOTED.sub(lambda text: text[0] + draw.word.encode(), part, count=1)

    def alter_line(line: bytes) -> bytes:
        return b"".join(map(alter_part, _PARTS.split(line))) if _ASSERTS.search(line) else line

    altered = b"\n".join(map(alter_line, data.split(b"\n")))
    return altered if altered != data else b""


def _alter_code(script: str, command: ListedCommand, seed: str) -> Iterator[str]:
    for program, option, path, find in _INTERPRETERS:
        if not program.fullmatch(command.words[0]) or option not in command.words[:-1]:
            continue
        code = command.words[command.words.index(option) + 1]
        source = parse(path, code)
        test = find(source, seed) if source and not source.errors else None
        place = Draw(seed, code).choose(test.places) if test else None
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
