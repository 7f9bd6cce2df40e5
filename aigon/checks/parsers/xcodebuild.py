"""xcodebuild, `swift build` and swift-format: the compilers' errors in what they print. From their documentation."""

import re
from dataclasses import replace

from aigon.checks.parsers import _swiftc
from aigon.checks.parsers._problems import capped
from aigon.checks.parsers._readings import foreign, types
from aigon.checks.parsers._text import silent, text
from aigon.model.checks import ParsedOutput

_OWN = re.compile(
    r"^(?:\*\* [A-Z ]+ (?:SUCCEEDED|FAILED) \*\*|Build complete!|Command line invocation:|Building for "
    r"|\[\d+/\d+\] (?:Compiling|Linking|Emitting|Write|Planning|Build|Copying|Merging|Wrapping|Applying)\b)",
    re.M,
)

_TESTS = re.compile(r"^Test [Ss]uite '|^[^\s\w]\S? {1,2}Test run ", re.M)
"""Tests ran: that nothing was wrong is not for this one to say."""


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Errors and warnings by file and line; no counts of tests."""
    lines = text(output or report or b"")
    return printed(lines) or foreign(lines)


def printed(lines: str) -> ParsedOutput | None:
    """What the text says; None when no compiler and no build wrote it."""
    found = types(capped(_swiftc.problems(lines)))
    if found.problems:
        return found
    own = _OWN.search(lines) and not _TESTS.search(lines)
    return replace(found, summary="") if own or silent(lines) else None
