"""`go vet`: `file.go:12:5: message`, below the package it is of."""

from aigon.checks.parsers import _gocompile
from aigon.checks.parsers._problems import capped
from aigon.checks.parsers._readings import foreign, lint
from aigon.checks.parsers._text import silent, text
from aigon.model.checks import ParsedOutput


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Problems by file and line. vet prints nothing when it is content."""
    lines = text(output or report or b"")
    found = capped(_gocompile.problems(lines)) or capped(_gocompile.unplaced(lines))
    return lint(found) if found or silent(lines) else foreign(lines)
