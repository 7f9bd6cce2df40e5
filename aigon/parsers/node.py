"""An opaque `npm test`: whichever known test runner wrote the output."""

from aigon.core.model import Reading
from aigon.parsers import jest, mocha, nodetest, vitest
from aigon.parsers._jestjson import reported
from aigon.parsers._readings import foreign
from aigon.parsers._text import text

_RUNNERS = (vitest, jest, nodetest, mocha)


def read(output: bytes, report: bytes | None) -> Reading:
    """The first runner that understands it; otherwise not understood, and the exit code says what there is to say."""
    reading = reported(output, report)
    lines = text(output)
    readings = (runner.printed(lines) for runner in _RUNNERS)
    return reading or next(filter(None, readings), None) or foreign(lines)
