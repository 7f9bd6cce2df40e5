"""A shell command line, read far enough to see which programs it starts, with which words, and where it writes.

It is no shell: what it cannot read with certainty (substitutions, variables as programs) it says so about, and whoever
asks takes that for the worse.
"""

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""(?P<gap>[ \t]+|\\\n)
    |(?P<operator>\d*(?:&>>|&>|>>|>\||>&|<<<|<<|<>|<&|>|<)|\|\||&&|;;|[|&;()\n])
    |(?P<word>(?:[^\s'"\\|&;<>()]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+)""",
    re.DOTALL | re.VERBOSE,
)
_PIECE = re.compile(r"""\\(.)|'([^']*)'|"((?:[^"\\]|\\.)*)"|([^\\'"]+)""", re.DOTALL)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_BEFORE = ("!", "{", "if", "then", "elif", "else", "while", "until", "do", "time", "command", "exec", "nohup")
"""Words that a command follows."""


@dataclass(frozen=True, slots=True)
class Simple:
    """One simple command: its assignments, its words (the program first) and the files that it writes.

    `piped` says that it reads what another command prints; `inner` that a part of it is computed by another command.
    """

    words: tuple[str, ...]
    assigned: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    piped: bool = False
    inner: bool = False

    @property
    def program(self) -> str:
        """The name of the program, without its folder."""
        return self.words[0].rpartition("/")[2] if self.words else ""


def simple_commands(line: str) -> tuple[Simple, ...]:
    """The simple commands of `line` in order. Raises ValueError where a quote or an operator is left open."""
    found: list[Simple] = []
    words: list[str] = []
    writes: list[str] = []
    redirect, inner, piped = "", False, False
    for kind, text in _tokens(line):
        if kind == "word":
            inner = inner or _computed(text)
            if redirect:
                writes += [unquoted(text)] if ">" in redirect and not _copies(redirect, text) else []
                redirect = ""
            else:
                words.append(unquoted(text))
        elif "<" in text or ">" in text:
            redirect = text
        else:
            if words or writes:
                found.append(_simple(words, writes, piped=piped, inner=inner))
            words, writes, inner, piped = [], [], False, text == "|"
    if redirect:
        raise ValueError("a redirection without a file")
    return (*found, _simple(words, writes, piped=piped, inner=inner)) if words or writes else tuple(found)


def unquoted(word: str) -> str:
    """`word` as the program gets it, with variables and patterns left as they are written."""
    return "".join(_plain(piece) for piece in _PIECE.finditer(word))


def _plain(piece: re.Match[str]) -> str:
    escaped, single, double, bare = piece.groups()
    if double is not None:
        return re.sub(r'\\(["\\$`])', r"\1", double)
    return escaped if escaped is not None else single if single is not None else bare


def _tokens(line: str) -> list[tuple[str, str]]:
    tokens, at = [], 0
    while at < len(line):
        found = _TOKEN.match(line, at)
        if found is None:
            raise ValueError(f"cannot be read from {line[at : at + 20]!r}")
        at = found.end()
        if found.lastgroup and found.lastgroup != "gap":
            tokens.append((found.lastgroup, found[0]))
    return tokens


def _simple(words: list[str], writes: list[str], *, piped: bool, inner: bool) -> Simple:
    assigned: list[str] = []
    while words and (words[0] in _BEFORE or _ASSIGNMENT.match(words[0])):
        assigned += [words[0]] if _ASSIGNMENT.match(words[0]) else []
        words = words[1:]
    return Simple(tuple(words), tuple(assigned), tuple(writes), piped, inner or words[:1] == ["$"])


def _computed(word: str) -> bool:
    """Whether a command inside the word is run: `$(...)` or backticks, but not within single quotes."""
    bare = re.sub(r"'[^']*'", "", word) if '"' not in word else word
    return "$(" in bare or "`" in bare or bare.endswith("$")


def _copies(operator: str, target: str) -> bool:
    """`2>&1` writes to no file."""
    return operator.endswith("&") and (target.isdigit() or target == "-")
