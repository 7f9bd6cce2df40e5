"""What aigon captured of a check's output, for a judge to quote from."""

import os
import stat
from contextlib import suppress

from aigon.judge.case import Observed
from aigon.model.checks import Finding

TAIL = 256 * 1024
"""Bytes of the end of an output that can be quoted."""


def observed(finding: Finding) -> Observed:
    """The finding with the end of its output. A remembered pass has none: its log lay where an agent could edit it."""
    return Observed(finding, _tail(finding.log) if finding.log and not finding.cached else "")


def _tail(path: str) -> str:
    """The end of an ordinary file; "" for anything else, and never waiting for it."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            seen = os.fstat(file.fileno())
            if not stat.S_ISREG(seen.st_mode):
                return ""
            file.seek(max(0, seen.st_size - TAIL))
            return file.read(TAIL).decode(errors="replace")
    return ""
