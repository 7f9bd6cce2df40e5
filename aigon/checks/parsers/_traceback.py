"""A Python traceback: what was raised, and where in the project's own code."""

import re

from aigon.checks.parsers._problems import number

_CHAINED = re.compile(
    r"^(?:The above exception was the direct cause of the following exception:"
    r"|During handling of the above exception, another exception occurred:)$",
    re.M,
)
_BEGIN = re.compile(r"^(?P<group> *\+ )?(?:Exception Group )?Traceback \(most recent call last\):$", re.M)
_FRAME = re.compile(r'^[ |+]*File "(?P<file>[^"\n]+)", line (?P<line>\d+)', re.M)
_MARGIN = re.compile(r"^ *[|+] ?")
"""What stands before each line of an exception group."""
_FOREIGN = ("site-packages/", "dist-packages/", "/lib/python", "/lib64/python", "/lib/pypy", "lib/python3", "<")
"""Parts of paths to code that is not the project's: of packages, of the standard library, of no file."""


def raised(traceback: str) -> str:
    """The line that names the exception which was raised last; where there is no traceback, the first line."""
    last = _last(traceback)
    begin = _BEGIN.search(last)
    lines = last[begin.end() if begin else 0 :].split("\n")
    if begin and begin["group"]:
        lines = [_MARGIN.sub("", line, count=1) for line in lines]
    # Frames and their sources are indented; what was raised is not.
    outside = (line.strip() for line in lines if line.strip() and not (begin and line.startswith(" ")))
    return next(outside, "")


def place(traceback: str) -> tuple[str, int]:
    """File and line of the innermost frame in the project, of the last exception if it has one; ("", 0) for none."""
    for part in (_last(traceback), traceback):
        own = [m for m in _FRAME.finditer(part) if not any(each in m["file"] for each in _FOREIGN)]
        # Paths below the project are relative by now, so that an absolute one is somebody else's.
        inside = [m for m in own if not m["file"].startswith("/")] or own
        if inside:
            return inside[-1]["file"], number(inside[-1]["line"])
    return "", 0


def _last(traceback: str) -> str:
    """What stands behind the last sentence that chains two exceptions."""
    begin = 0
    for match in _CHAINED.finditer(traceback):
        begin = match.end()
    return traceback[begin:]
