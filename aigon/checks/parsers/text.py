"""Any other output: nothing is understood, a few lines that look like errors are kept for the digest."""

from aigon.checks.parsers import _text
from aigon.checks.parsers._readings import foreign
from aigon.model.checks import ParsedOutput


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """No counts, no summary; up to five lines that look like errors."""
    return foreign(_text.text(output or report or b""))
