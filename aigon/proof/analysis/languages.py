"""What a file is written in, and which edits are about code."""

import posixpath
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

from aigon.model.changes import Edit, Edits

Family = Literal["python", "c", "hash", "dash", "markup", "text"]
"""How comments and strings are written: `#` and triple quotes, `//` and `/* */`, `#`, `--`, `<!-- -->`, not at all."""

LONGEST = 300_000
"""Characters of a text that are looked at; more than that in a source file is a concern of its own (executables)."""


def words(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(re.findall(r"\S+", text))


JAVASCRIPT = words("js jsx ts tsx mjs cjs mts cts vue svelte")
_BRACES = words("go rs java kt kts c h cc cpp cxx hpp m mm cs swift scala php dart groovy gradle zig v")
_STYLES = words("proto css scss less")
_C = JAVASCRIPT | _BRACES | _STYLES
_SCRIPTED = words("rb sh bash zsh fish r pl pm ps1 ex exs jl")
_HASH = _SCRIPTED | words("yaml yml toml ini cfg conf mk nix tf cmake gemspec")
_DASH = words("sql lua hs elm")
_PYTHON = words("py pyi pyw pyx")
_RUN = words("__main__.py manage.py setup.py noxfile.py cli.js cli.ts cli.mjs")
_RUN_FROM = words("bin script scripts tool tools example examples benchmark benchmarks docs hack")


def extension(path: str) -> str:
    """What follows the last dot of a file's name, in small letters."""
    return posixpath.splitext(path)[1][1:].lower()


def family(path: str) -> Family:
    """How the file's comments and strings are written, by its name."""
    end = extension(path)
    if end in _PYTHON:
        return "python"
    if end in _C:
        return "c"
    if end in _DASH:
        return "dash"
    if end in ("html", "htm", "xml", "md", "svg", "xhtml"):
        return "markup"
    return "hash" if end in _HASH or posixpath.basename(path) in ("Makefile", "Dockerfile", "Rakefile") else "text"


def is_python(path: str) -> bool:
    """Whether Python would import or run it."""
    return extension(path) in ("py", "pyw", "pyi")


def is_javascript(path: str) -> bool:
    """Whether it is JavaScript or TypeScript, alone or in a component file."""
    return extension(path) in JAVASCRIPT


def is_code(path: str) -> bool:
    """Whether the file is written in a programming language."""
    return extension(path) in _PYTHON | JAVASCRIPT | _BRACES | _SCRIPTED | _DASH


def product(edits: Edits) -> tuple[Edit, ...]:
    """The edits of what the project delivers; code that lies among prose and data counts, since it can be imported."""
    return tuple(e for e in edits.files if e.part == "product" or (e.part == "other" and is_code(e.path)))


def of(edits: Iterable[Edit], *parts: str) -> tuple[Edit, ...]:
    """Those of the edits that are about one of `parts`."""
    return tuple(edit for edit in edits if edit.part in parts)


def is_script(path: str) -> bool:
    """Whether a file is run rather than imported, by where it lies."""
    first, _, rest = path.partition("/")
    return posixpath.basename(path) in _RUN or (bool(rest) and first in _RUN_FROM)


_TOKENS = re.compile(r"\*\*/|/\*\*|\*+|\?|\[(?:\\.|[^\]\\]){1,60}\]|\\.|.", re.DOTALL)


def reaches(pattern: str, file: str, path: str) -> bool:
    """Whether `pattern`, a line of the file `file`, means `path` or a folder that it is in."""
    folder = posixpath.dirname(file)
    if folder and not path.startswith(f"{folder}/"):
        return False
    inner = path[len(folder) + 1 :] if folder else path
    only_folders = pattern.endswith("/")
    parts = inner.split("/")
    candidates = ["/".join(parts[:n]) for n in range(1, len(parts) + (0 if only_folders else 1))]
    compiled = _compiled(pattern.rstrip("/"))
    return any(compiled.fullmatch(candidate) for candidate in candidates)


def means(pattern: str, file: str, path: str) -> bool:
    """Whether `pattern` means just `path`."""
    folder = posixpath.dirname(file)
    inner = path[len(folder) + 1 :] if folder and path.startswith(f"{folder}/") else path
    return _compiled(pattern.rstrip("/")).fullmatch(inner) is not None


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    anchored = "/" in pattern.strip("/") or pattern.startswith("/")
    body = re.sub(r"\*{3,}", "**", pattern.strip("/")[:300])
    regex = "".join(_regex(token) for token in _TOKENS.findall(body)[:120])
    try:
        return re.compile(regex if anchored else rf"(?:[^\n]*/)?{regex}", re.DOTALL)
    except re.error:
        return re.compile(re.escape(pattern))


def _regex(token: str) -> str:
    if token == "**/":
        return "(?:.*/)?"
    if token == "/**":
        return "(?:/.*)?"
    if token.startswith("*"):
        return "[^/]*" if token == "*" else ".*"
    if token == "?":
        return "[^/]"
    if token.startswith("[") and len(token) > 2:
        inside = token[1:-1].replace("!", "^", 1) if token[1] == "!" else token[1:-1]
        return f"[{inside.replace('[', chr(92) + '[')}]"
    return re.escape(token[1:] if token.startswith("\\") and len(token) > 1 else token)
