"""Tell from its path what a file is written in, and which edits are about code."""

import posixpath
from typing import Literal

from aigon.model.changes import Edit, Edits

Family = Literal["python", "c", "hash", "dash", "markup", "text"]
"""How comments and strings are written: `#` and triple quotes, `//` and `/* */`, `#`, `--`, `<!-- -->`, not at all."""

LONGEST = 300_000
"""Characters of a text that are read. A longer source file is a concern of its own (executables)."""


def words(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


_JAVASCRIPT = words("js jsx ts tsx mjs cjs mts cts vue svelte")
_BRACES = words("go rs java kt kts c h cc cpp cxx hpp m mm cs swift scala php dart groovy gradle zig v")
_SCRIPTED = words("rb sh bash zsh fish r pl pm ps1 ex exs jl")
_DASH = words("sql lua hs elm")
_PYTHON = words("py pyi pyw pyx")
_CODE = _PYTHON | _JAVASCRIPT | _BRACES | _SCRIPTED | _DASH
_FAMILIES: dict[Family, frozenset[str]] = {
    "python": _PYTHON,
    "c": _JAVASCRIPT | _BRACES | words("proto css scss less"),
    "dash": _DASH,
    "markup": words("html htm xml md svg xhtml"),
    "hash": _SCRIPTED | words("yaml yml toml ini cfg conf mk nix tf cmake gemspec"),
}


def extension(path: str) -> str:
    """Return what follows the last dot of a file's name, in lower case."""
    return posixpath.splitext(path)[1][1:].lower()


def family(path: str) -> Family:
    """Return how the file's comments and strings are written."""
    end = extension(path)
    plain: Family = "hash" if posixpath.basename(path) in ("Makefile", "Dockerfile", "Rakefile") else "text"
    return next((family for family, ends in _FAMILIES.items() if end in ends), plain)


def is_python(path: str) -> bool:
    """Return whether Python would import or run it."""
    return extension(path) in ("py", "pyw", "pyi")


def is_javascript(path: str) -> bool:
    """Return whether it is JavaScript or TypeScript, alone or in a component file."""
    return extension(path) in _JAVASCRIPT


def is_code(path: str) -> bool:
    """Return whether the file is written in a programming language."""
    return extension(path) in _CODE


def list_product(edits: Edits) -> list[Edit]:
    """Return the edits of what is delivered. Code among prose and data counts, since it can be imported."""
    return [e for e in edits.files if e.part == "product" or (e.part == "other" and is_code(e.path))]


def list_parts(edits: Edits, *parts: str) -> list[Edit]:
    """Return the edits of files that are one of `parts`."""
    return [edit for edit in edits.files if edit.part in parts]
