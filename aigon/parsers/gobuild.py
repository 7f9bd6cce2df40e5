"""`go build`: the compiler's errors, below the package they are of."""

from aigon.core.model import Reading
from aigon.parsers import _gocompile
from aigon.parsers._problems import capped
from aigon.parsers._readings import foreign, types
from aigon.parsers._text import silent, text


def read(output: bytes, report: bytes | None) -> Reading:
    """Errors by file and line. The compiler prints nothing when it is content."""
    lines = text(output or report or b"")
    found = capped(_gocompile.problems(lines)) or capped(_gocompile.unplaced(lines))
    return types(found) if found or silent(lines) else foreign(lines)
