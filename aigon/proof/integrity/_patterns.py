"""The patterns of .gitignore and .gitattributes."""

import posixpath
import re
from functools import lru_cache

_TOKENS = re.compile(r"\*\*/|/\*\*|\*+|\?|\[(?:\\.|[^\]\\]){1,60}\]|\\.|.", re.DOTALL)


def reaches(pattern: str, file: str, path: str) -> bool:
    """Whether `pattern`, a line of the file `file`, means `path` or a folder that it is in."""
    folder = posixpath.dirname(file)
    if folder and not path.startswith(f"{folder}/"):
        return False
    inner = path[len(folder) + 1 :] if folder else path
    only_folders = pattern.endswith("/")
    parts = inner.split("/")
    candidates = ["/".join(parts[:n]) for n in range(1, len(parts) + (0 if only_folders else 1))]
    compiled = _compiled(pattern.rstrip("/"))
    return any(compiled.fullmatch(candidate) for candidate in candidates)


def means(pattern: str, file: str, path: str) -> bool:
    """Whether `pattern` means just `path`."""
    folder = posixpath.dirname(file)
    inner = path[len(folder) + 1 :] if folder and path.startswith(f"{folder}/") else path
    return _compiled(pattern.rstrip("/")).fullmatch(inner) is not None


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    anchored = "/" in pattern.strip("/") or pattern.startswith("/")
    body = re.sub(r"\*{3,}", "**", pattern.strip("/")[:300])
    regex = "".join(_regex(token) for token in _TOKENS.findall(body)[:120])
    try:
        return re.compile(regex if anchored else rf"(?:[^\n]*/)?{regex}", re.DOTALL)
    except re.error:
        return re.compile(re.escape(pattern))


def _regex(token: str) -> str:
    if token == "**/":
        return "(?:.*/)?"
    if token == "/**":
        return "(?:/.*)?"
    if token.startswith("*"):
        return "[^/]*" if token == "*" else ".*"
    if token == "?":
        return "[^/]"
    if token.startswith("[") and len(token) > 2:
        inside = token[1:-1].replace("!", "^", 1) if token[1] == "!" else token[1:-1]
        return f"[{inside.replace('[', chr(92) + '[')}]"
    return re.escape(token[1:] if token.startswith("\\") and len(token) > 1 else token)
