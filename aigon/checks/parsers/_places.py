"""Where in a stack or a traceback the project's own code stands, and what its first meaningful line says."""

import re

from aigon.checks.parsers._problems import number
from aigon.checks.parsers._text import shortened

_PYTHON = re.compile(r"^(?P<file>[^\s:][^:\n]*\.py):(?P<line>\d+): ", re.M)
_TRACEBACK = re.compile(r'^ *(?:E +)?File "(?P<file>[^"\n]+)", line (?P<line>\d+)', re.M)
_FRAME = re.compile(r"^ *(?:at |❯ )(?P<frame>[^\n]*)$", re.M)
_SCRIPT = re.compile(r"(?:^|[\s(])(?:file://)?(?P<file>[^\s():]+\.[a-z]{1,5}):(?P<line>\d{1,9}):\d", re.M)
_FOREIGN = ("node_modules/", "node:", "site-packages/", "../", "<")
_PYTEST_LINE = re.compile(r"^E +(?P<said>\S[^\n]*)$", re.M)
_EXCEPTION = re.compile(r"\w+(?:Error|Exception|Warning|Exit|Interrupt|Failed)\b")


def place(stack: str) -> tuple[str, int]:
    """File and line of the innermost frame that is the project's own; ("", 0) where none is named."""
    stack = shortened(stack)
    frames = "\n".join(match["frame"] for match in _FRAME.finditer(stack))
    for pattern, text, innermost in ((_PYTHON, stack, -1), (_TRACEBACK, stack, -1), (_SCRIPT, frames, 0)):
        own = [m for m in pattern.finditer(text) if not any(part in m["file"] for part in _FOREIGN)]
        if own:
            return own[innermost]["file"], number(own[innermost]["line"])
    return "", 0


def headline(message: str, detail: str = "") -> str:
    """The first meaningful line. pytest's own words on where it failed say less than the exception in the detail."""
    said = _first_line(message)
    if said and said != "collection failure" and not said.startswith("failed on "):
        return said
    lines = [m["said"] for m in _PYTEST_LINE.finditer(detail)]
    named = [each for each in lines if _EXCEPTION.match(each)]
    return next(iter(named or lines), "") or said or _first_line(detail)


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.split("\n") if line.strip()), "")
