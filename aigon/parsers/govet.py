"""`go vet`: `file.go:12:5: message`, below the package it is of."""

from aigon.core.model import Reading
from aigon.parsers import _gocompile
from aigon.parsers._problems import capped
from aigon.parsers._readings import foreign, lint
from aigon.parsers._text import silent, text


def read(output: bytes, report: bytes | None) -> Reading:
    """Problems by file and line. vet prints nothing when it is content."""
    lines = text(output or report or b"")
    found = capped(_gocompile.problems(lines)) or capped(_gocompile.unplaced(lines))
    return lint(found) if found or silent(lines) else foreign(lines)
