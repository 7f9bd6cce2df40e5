"""`go build`: the compiler's errors, below the package they are of."""

from aigon.checks.parsers import _gocompile
from aigon.checks.parsers._problems import capped
from aigon.checks.parsers._readings import foreign, types
from aigon.checks.parsers._text import silent, text
from aigon.model.checks import ParsedOutput


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Errors by file and line. The compiler prints nothing when it is content."""
    lines = text(output or report or b"")
    found = capped(_gocompile.problems(lines)) or capped(_gocompile.unplaced(lines))
    return types(found) if found or silent(lines) else foreign(lines)
