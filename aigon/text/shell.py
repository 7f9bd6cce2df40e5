"""Shell command lines, read far enough to see which programs they start. This is no shell: what cannot be read with
certainty is marked or refused.
"""

import re
import shlex
from collections.abc import Iterator
from itertools import dropwhile

from msgspec import Struct

from aigon.text.patterns import compile_re

_TOKEN = compile_re(
    r"""(?P<gap>[ \t]+|\\\n)
    |(?P<operator>\d*(?:&>>|&>|>>|>\||>&|<<<|<<|<>|<&|>|<)|\|\||&&|;;|[|&;()\n])
    |(?P<word>(?:[^\s'"\\|&;<>()]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+)""",
    re.DOTALL | re.VERBOSE,
)
_PIECE = compile_re(r"""\\(.)|'([^']*)'|"((?:[^"\\]|\\.)*)"|([^\\'"]+)""", re.DOTALL)
_ASSIGNMENT = compile_re(r"[A-Za-z_]\w*\+?=")
_BEFORE = ("!", "{", "if", "then", "elif", "else", "while", "until", "do", "time", "command", "exec", "nohup")
"""Words that a command follows."""


class SimpleCommand(Struct, frozen=True):
    """A simple command: its words (the program first, no assignments) and the files that it writes.

    `piped`: it reads what another command prints; `inner`: another command computes a part of it.
    """

    words: tuple[str, ...]
    writes: tuple[str, ...] = ()
    piped: bool = False
    inner: bool = False

    @property
    def program(self) -> str:
        """The name of the program, without its folder."""
        return self.words[0].rpartition("/")[2] if self.words else ""


def split_commands(line: str) -> tuple[SimpleCommand, ...]:
    """Return the simple commands in order. Raises ValueError for an open quote or operator."""
    found: list[SimpleCommand] = []
    words: list[str] = []
    writes: list[str] = []
    redirect, inner, piped = "", False, False
    for kind, text in _tokenize(line):
        if kind == "word":
            inner = inner or _is_computed(text)
            if redirect:
                is_copy = redirect.endswith("&") and (text.isdigit() or text == "-")  # `2>&1` writes to no file
                writes += [unquote(text)] if ">" in redirect and not is_copy else []
                redirect = ""
            else:
                words.append(unquote(text))
        elif "<" in text or ">" in text:
            redirect = text
        else:
            if words or writes:
                found.append(_make_command(words, writes, piped=piped, inner=inner))
            words, writes, inner, piped = [], [], False, text == "|"
    if redirect:
        raise ValueError("a redirection without a file")
    return (*found, _make_command(words, writes, piped=piped, inner=inner)) if words or writes else tuple(found)


def unquote(word: str) -> str:
    """Return `word` as the program gets it, with variables and patterns left as they are."""
    return "".join(_plain(piece) for piece in _PIECE.finditer(word))


def _plain(piece: re.Match[str]) -> str:
    escaped, single, double, bare = piece.groups()
    if double is not None:
        return re.sub(r'\\(["\\$`])', r"\1", double)
    return escaped if escaped is not None else single if single is not None else bare


def _tokenize(line: str) -> list[tuple[str, str]]:
    tokens, at = [], 0
    while at < len(line):
        found = _TOKEN.match(line, at)
        if found is None:
            raise ValueError(f"cannot be read from {line[at : at + 20]!r}")
        at = found.end()
        if found.lastgroup and found.lastgroup != "gap":
            tokens.append((found.lastgroup, found[0]))
    return tokens


def _make_command(words: list[str], writes: list[str], *, piped: bool, inner: bool) -> SimpleCommand:
    own = tuple(dropwhile(lambda word: word in _BEFORE or _ASSIGNMENT.match(word), words))
    return SimpleCommand(own, tuple(writes), piped, inner or own[:1] == ("$",))


def _is_computed(word: str) -> bool:
    """Return whether a command inside the word is run: `$(...)` or backticks outside single quotes."""
    bare = re.sub(r"'[^']*'", "", word) if '"' not in word else word
    return "$(" in bare or "`" in bare or bare.endswith("$")


_OPERATORS = "();<>|&\n"
_COMMENT = compile_re(r"(?m)(?<![^\s;&|()])#[^\n]*")
BRANCHING = frozenset(
    ("if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "function", "select")
) | {"{", "}", "exit", "return", "trap", "eval", "source", "."}
"""First words after which reading does not tell which commands run, or whose exit code is the script's."""


class ListedCommand(Struct, frozen=True):
    """A command: its words without redirections, and the operators before and after it ("" at either end)."""

    words: tuple[str, ...]
    before: str
    after: str


def list_commands(script: str) -> tuple[ListedCommand, ...]:
    """Return the commands in order; none if the script branches or is not a plain list."""
    try:
        commands = parse_script(script)
    except ValueError:
        return ()
    return () if any(command.words[0] in BRANCHING for command in commands) else commands


def parse_script(script: str) -> tuple[ListedCommand, ...]:
    """Return the commands in order, whatever they are.

    Raises ValueError for an unclosed quotation and for a here-document.
    """
    lexer = shlex.shlex(_COMMENT.sub("", script.replace("\\\n", " ")), posix=True, punctuation_chars=_OPERATORS)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    tokens = list(lexer)
    if any("<<" in token and _is_operator(token) for token in tokens):
        raise ValueError("a here-document")
    return tuple(_commands(tokens))


def _is_operator(token: str) -> bool:
    return bool(token) and not token.strip(_OPERATORS)


def _commands(tokens: list[str]) -> Iterator[ListedCommand]:
    words: list[str] = []
    before, target = "", False
    for token in tokens:
        if not _is_operator(token):
            words, target = (words if target else [*words, token]), False
        elif "<" in token or ">" in token:
            target = True
        else:
            operator = token.replace("\n", "") or "\n"
            if words:
                yield ListedCommand(tuple(words), before, operator)
            words, before, target = [], operator if words or not before else before, False
    if words:
        yield ListedCommand(tuple(words), before, "")
