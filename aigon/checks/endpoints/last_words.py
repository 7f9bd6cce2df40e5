"""What a server that ended said last: the line that a person would look for."""

import re

from aigon.text.fingerprints import plain

_NAMED = re.compile(
    r"^\s*(?:[\w.]+\.)?\w*(?:Error|Exception)\b(?: \[\w+\])?:|\b(?:error|panic|fatal|FATAL|ERROR)\b[: ]"
)
_LOOKED = 60
"""Lines at the end in which an error is looked for; what stands before it is an older one."""


def last_words(output: bytes) -> str:
    """The last line that names an error, else the last line; empty where there is none."""
    lines = [line.strip() for line in plain(output.decode("utf-8", "replace")).splitlines() if line.strip()]
    named = [line for line in lines[-_LOOKED:] if _NAMED.search(line)]
    return next(iter((named or lines)[::-1]), "")[:200]
