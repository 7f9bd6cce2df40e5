"""`gofmt -l`: the files that it would change, one on a line; and what it cannot parse."""

import re

from aigon.checks.parsers import _gocompile
from aigon.checks.parsers._problems import capped, problem
from aigon.checks.parsers._readings import foreign, lint
from aigon.checks.parsers._text import silent, text
from aigon.model.checks import ParsedOutput

_FILE = re.compile(r"^(?P<file>[^\s:][^:\n]*\.go)$", re.M)


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """One problem for each file."""
    lines = text(output or report or b"")
    files = (problem("File would be reformatted", match["file"], rule="unformatted") for match in _FILE.finditer(lines))
    found = (*capped(files), *capped(_gocompile.problems(lines)))
    return lint(found) if found or silent(lines) else foreign(lines)
