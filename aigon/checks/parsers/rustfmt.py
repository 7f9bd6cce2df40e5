"""`cargo fmt --check`: `Diff in FILE:LINE:`, in older versions `Diff in FILE at line LINE:`."""

import re

from aigon.checks.parsers import _rustc
from aigon.checks.parsers._problems import capped, number, problem
from aigon.checks.parsers._readings import foreign, lint
from aigon.checks.parsers._text import silent, text
from aigon.model.checks import ParsedOutput

_DIFF = re.compile(r"^Diff in (?P<file>[^\n]+?)(?: at line |:)(?P<line>\d+):$", re.M)


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """One problem for each place that would be changed, once though several targets share the file."""
    lines = text(output or report or b"")
    diffs = (
        problem("Would be formatted otherwise", match["file"], number(match["line"]), "unformatted")
        for match in _DIFF.finditer(lines)
    )
    found = (*capped(diffs), *capped(_rustc.placed(lines)))
    return lint(found) if found or silent(lines) else foreign(lines)
