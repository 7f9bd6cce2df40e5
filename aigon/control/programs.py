"""Programs, scripts and commands with another expected value, or with an end that fails, so that they have to fail."""

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from itertools import count

from aigon.control import javascript, python, rust
from aigon.control.places import UNSURE, AlterableTest, Draw, Place, words
from aigon.syntax import Source, apply_edits, language_of, parse
from aigon.text.patterns import compile_re
from aigon.text.shell import ListedCommand, list_commands

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


C_PROGRAMS = (".c", ".cc", ".cpp", ".cxx")
_MAIN = compile_re(rb"\bmain\s*\([^;{}]*\)[^;{}]*\{")
_BRACES = compile_re(rb"(?s)\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|//[^\n]*|/\*.*?\*/|[{}]")
_ENDS: Sequence[tuple[tuple[str, ...], bytes, re.Pattern[bytes]]] = (
    (C_PROGRAMS, b"return 97;", compile_re(rb"\breturn\b[^;]*;")),
    ((".java",), b"System.exit(97);", compile_re(rb"\breturn\s*;")),
)
"""How `main` ends in languages with braces: the statement that fails, and the one that it is put in place of."""
_LEAVES = compile_re(rb"\b(_?exit\s*\()[^;{}]*(\)\s*;)")
_LEAVES_SHELL = compile_re(rb"(?m)((?:^|[;&|{(]|\b(?:then|do|else))[ \t]*exit\b)[^\n;&|})]*")


def fail_at_end(path: str, data: bytes) -> bytes:
    """Return a test program that fails once it has run to its end; b"" of a language where that cannot be written."""
    if path.endswith((".sh", ".bash")):
        lines = data.rstrip().rsplit(b"\n", 1)
        return b"" if lines[-1].startswith(b"exec ") else _LEAVES_SHELL.sub(rb"\1 97", data) + b"\nexit 97\n"
    if path.endswith((".pl", ".t")):
        code, mark, rest = data.partition(b"\n__END__")
        return _LEAVES.sub(rb"\g<1>97\2", code) + b"\nexit(97);\n" + mark + rest
    for ends, failing, returns in _ENDS:
        if path.endswith(ends) and (main := _MAIN.search(data)) and (end := _find_end(data, main.end())):
            body = returns.sub(failing, data[main.end() : end])
            return _LEAVES.sub(rb"\g<1>97\2", b"".join((data[: main.end()], body, b" ", failing, b" ", data[end:])))
    return b""


def _find_end(data: bytes, start: int) -> int:
    """Return where the brace that was opened before `start` is closed; 0 if it is not."""
    depth = 1
    for token in _BRACES.finditer(data, start):
        depth += (token[0] == b"{") - (token[0] == b"}")
        if not depth:
            return token.start()
    return 0
