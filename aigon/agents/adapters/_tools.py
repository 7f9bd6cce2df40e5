"""What an agent used, in a short line each: `Bash: npm test`, `Write: src/a.py`."""

from collections.abc import Mapping

MOST_TOOLS = 200
"""Uses of tools that are kept of a turn."""
MOST_DENIED = 20
"""Denied permissions that are kept of a turn, each once."""
_LINE = 200
_TOLD_BY = ("command", "cmd", "file_path", "path", "filePath", "absolute_path", "filename", "url", "pattern", "query")


def tool(name: object, given: object = None) -> str:
    """`NAME: what it was used on`, in one line of at most 200 characters; the name alone where that is unknown."""
    named = " ".join(name.split()) if isinstance(name, str) and name.strip() else "a tool"
    used_on = _used_on(given)
    return (f"{named}: {' '.join(used_on.split())}" if used_on else named)[:_LINE]


def _used_on(given: object) -> str:
    if isinstance(given, str):
        return given
    if not isinstance(given, Mapping):
        return ""
    found = next((given[key] for key in _TOLD_BY if given.get(key)), "")
    return " ".join(map(str, found)) if isinstance(found, list | tuple) else str(found)
