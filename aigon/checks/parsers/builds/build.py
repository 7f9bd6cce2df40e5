"""A build: `python -m build`, `npm run build` and the like. What they share is that the cause stands near the end."""

import re

from aigon.checks.parsers.matchers import load_matcher
from aigon.checks.parsers.output import clean, read_text
from aigon.checks.parsers.readings import find_error_lines
from aigon.model.checks import ParsedOutput
from aigon.text.patterns import compile_re

_BUILT = compile_re(r"^Successfully built (?P<names>[^\n]+)$", re.M)
_LINES = 20


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return tsc's errors, or the last lines that look like errors; the summary is what was built, or the first."""
    lines = read_text(output or report or b"")
    typed = load_matcher("tsc").read_lines(lines)
    if typed and typed.problems:
        return typed
    problems = find_error_lines(lines, _LINES)
    built = _BUILT.search(lines)
    # uv says where each file is, in a folder that has another name in each run.
    names = [name.rpartition("/")[2] for name in built["names"].split(" ")] if built else []
    summary = f"built {' '.join(names)}" if built else problems[0].message if problems else ""
    return ParsedOutput(clean(summary, 100), None, problems, understood=bool(built or problems))
