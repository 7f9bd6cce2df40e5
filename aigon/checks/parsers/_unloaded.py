"""Why a JavaScript test file could not be loaded: what the compiler behind the runner said, and where."""

import re

from aigon.checks.parsers._expected import said
from aigon.checks.parsers._places import place
from aigon.checks.parsers._problems import number
from aigon.checks.parsers._text import shortened
from aigon.text.fingerprints import strip_escapes

_SPAN = 20_000
_BABEL = re.compile(
    r"^ *SyntaxError: (?:(?P<file>[^\n:]{1,500}): )?(?P<said>[^\n]*?) ?\((?P<line>\d{1,9}):\d+\)$", re.M
)
_TYPES = re.compile(
    r"^ *(?P<file>[^\s:(][^\n:(]{0,500})[:(](?P<line>\d{1,9})[:,]\d+\)?(?: -|:) (?P<said>error TS\d+: [^\n]*)", re.M
)
_ESBUILD = re.compile(r"^ *(?P<file>[^\s:][^\n:]{0,500}):(?P<line>\d{1,9}):\d+: (?P<said>ERROR: [^\n]*)", re.M)
_OXC = re.compile(
    r"^ *(?P<said>\[[A-Z_]{3,40}\] [^\n]*)\n[^\n]*\[ ?(?P<file>[^\n:\[\]]{1,500}):(?P<line>\d{1,9}):\d+ ?\]", re.M
)
_NODE = re.compile(
    r"^ *(?:file://)?(?P<file>[^\s:]{1,500}):(?P<line>\d{1,9})\n(?:[^\n]*\n){1,6}? *(?P<said>SyntaxError: [^\n]*)", re.M
)
_KNOWN = (_BABEL, _TYPES, _ESBUILD, _OXC, _NODE)


def unloaded(message: str, file: str) -> tuple[str, str, int]:
    """What was wrong with a test file, in which file and line; where nothing names one, that is `file` and 0."""
    lines = shortened(strip_escapes(message[:_SPAN]))
    for pattern in _KNOWN:
        if match := pattern.search(lines):
            return match["said"], match["file"] or file, number(match["line"])
    found, line = place(lines)
    return (said(lines), found, line) if found else (said(lines), file, 0)
