"""A build: `python -m build`, `npm run build` and the like. What they share is that the cause stands near the end."""

import re

from aigon.checks.parsers import tsc
from aigon.checks.parsers._problems import errorlike
from aigon.checks.parsers._text import clean, text
from aigon.model.checks import ParsedOutput

_BUILT = re.compile(r"^Successfully built (?P<what>[^\n]+)$", re.M)
_LINES = 20


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """The compiler's errors, or the last lines that look like errors; the summary is what was built, or the first."""
    lines = text(output or report or b"")
    typed = tsc.printed(lines)
    if typed and typed.problems:
        return typed
    problems = errorlike(lines, _LINES)
    built = _BUILT.search(lines)
    summary = f"built {_names(built['what'])}" if built else problems[0].message if problems else ""
    return ParsedOutput(clean(summary, 100), None, problems, understood=bool(built or problems))


def _names(what: str) -> str:
    """uv says where each file lies, in a folder that has another name in each run."""
    return " ".join(word.rpartition("/")[2] for word in what.split(" "))
