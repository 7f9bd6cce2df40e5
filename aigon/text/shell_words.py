"""The simple commands of a short shell script, as far as reading alone can tell."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

_OPERATORS = "();<>|&\n"
_COMMENT = re.compile(r"(?m)(?<![^\s;&|()])#[^\n]*")
BRANCHING = frozenset(
    ("if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "function", "select")
) | {"{", "}", "exit", "return", "trap", "eval", "source", "."}
"""First words after which nobody can say by reading which commands run, or whose exit code is the script's."""


@dataclass(frozen=True, slots=True)
class Simple:
    """One command: its words without redirections, and the operators before and after it ("" at either end)."""

    words: tuple[str, ...]
    before: str
    after: str


def simple_commands(script: str) -> tuple[Simple, ...]:
    """The commands in their order; none where the script branches, or cannot be read as a plain list."""
    try:
        commands = parse_commands(script)
    except ValueError:
        return ()
    return () if any(command.words[0] in BRANCHING for command in commands) else commands


def parse_commands(script: str) -> tuple[Simple, ...]:
    """Return the commands in their order, whatever they are.

    Raises ValueError for a quotation without its end, and for a here-document.
    """
    tokens = _tokens(script)
    if any("<<" in token and _is_operator(token) for token in tokens):
        raise ValueError("a here-document")
    return tuple(_commands(tokens))


def _tokens(script: str) -> list[str]:
    lexer = shlex.shlex(_COMMENT.sub("", script.replace("\\\n", " ")), posix=True, punctuation_chars=_OPERATORS)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    return list(lexer)


def _is_operator(token: str) -> bool:
    return bool(token) and not token.strip(_OPERATORS)


def _commands(tokens: list[str]) -> Iterator[Simple]:
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
                yield Simple(tuple(words), before, operator)
            words, before, target = [], operator if words or not before else before, False
    if words:
        yield Simple(tuple(words), before, "")
