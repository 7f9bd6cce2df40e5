"""`cargo build` and `cargo check`: what rustc prints for people. Also clippy without --message-format=json."""

import re

from aigon.checks.parsers import _rustc
from aigon.checks.parsers._problems import capped
from aigon.checks.parsers._readings import foreign, types
from aigon.checks.parsers._text import text
from aigon.model.checks import ParsedOutput

_DONE = re.compile(r"^ +Finished (?:`(?!test`|bench`)[\w-]+` profile|(?!test |bench )[\w-]+ \[)", re.M)
"""Of a build. Tests and benches have profiles of their own, and then the tests' results follow."""


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Errors and warnings by code or lint, file and line, each once though several targets may share a file."""
    return printed(lines := text(output or report or b"")) or foreign(lines)


def printed(lines: str) -> ParsedOutput | None:
    """What the text says; None when it is neither rustc's nor cargo's."""
    placed = capped(_rustc.placed(lines))
    unplaced = () if any(each.severity == "error" for each in placed) else capped(_rustc.unplaced(lines))
    cargos = _DONE.search(lines) or _rustc.uncompiled(lines) or placed
    return types((*placed, *unplaced)) if cargos else None
