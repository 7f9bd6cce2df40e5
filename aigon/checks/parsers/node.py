"""An opaque `npm test`: whichever known test runners wrote the output, of one package or of those of a workspace."""

import re
from collections.abc import Iterable
from dataclasses import replace

from aigon.checks.parsers import _playwright_text, ava, bun, jest, mocha, nodetest, tap, vitest
from aigon.checks.parsers._crashes import crashed
from aigon.checks.parsers._jestjson import reported
from aigon.checks.parsers._packages import by_header, by_prefix
from aigon.checks.parsers._readings import foreign, tests, together
from aigon.checks.parsers._text import text
from aigon.model.checks import ParsedOutput, TestCounts

_RUNNERS = (
    *(vitest.printed, jest.printed, _playwright_text.printed, nodetest.printed, mocha.printed, bun.printed),
    *(ava.printed, tap.printed),
)
_NOTHING = re.compile(
    r"^(?:Scope: [^\n]*|None of the selected packages has a [^\n]*|Done in \d{1,9}[\d.]{0,9}m?s[^\n]*|)$", re.M
)
"""What package managers print where no package of a workspace has the script, which some of them exit 0 for."""


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """What each part's first runner that understands it says; where none does, not understood: the exit code says
    what there is to say."""
    lines = text(output)
    found = reported(output, report) or _together(by_header(lines)) or _together(by_prefix(lines))
    if not found and not _NOTHING.sub("", lines).strip():
        return replace(tests(TestCounts()), understood=False)
    return found or mocha.not_run(lines) or crashed(lines) or foreign(lines)


def _together(parts: Iterable[str]) -> ParsedOutput | None:
    readings = [reading for part in parts if (reading := _first(part))]
    return together(readings) if len(readings) > 1 else next(iter(readings), None)


def _first(lines: str) -> ParsedOutput | None:
    return next((reading for printed in _RUNNERS if (reading := printed(lines))), None)
