""".gitignore lines that keep source code out of the commit: it works here and is missing everywhere else.

`review` if a new line reaches what product code of this change imports, a folder that it changes files in, a file that
it takes out of the repository, or every file of a language. Ordinary lines (build results, caches, environments) reach
none of these and are nothing. The clean room finds out in any case; this says why.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from aigon.model.changes import Concern, Edit, Edits
from aigon.proof.analysis.languages import is_javascript, is_python, list_product
from aigon.proof.analysis.patterns import find_pattern
from aigon.proof.analysis.references import list_imports
from aigon.proof.analysis.sightings import Sighting, find_new, report
from aigon.text.patterns import compile_re

RULE = "ignored-source"
_WHY = (
    "Code that git ignores is in no commit, so what was proven would not contain it. "
    "Take the line out, or give what it ignores another place."
)
_WHOLE = find_pattern(RULE, "whole")
_SUFFIXES = ("", ".js", ".ts", ".mjs", ".cjs", ".jsx", ".tsx", "/index.js", "/index.ts")
_MOST = 3000
_TOKENS = compile_re(r"\*\*/|/\*\*|\*+|\?|\[(?:\\.|[^\]\\]){1,60}\]|\\.|.", re.DOTALL)
_WILD = {"**/": "(?:.*/)?", "/**": "(?:/.*)?", "*": "[^/]*", "**": ".*", "?": "[^/]"}


def look(edits: Edits) -> Iterator[Concern]:
    """Report every .gitignore that brings such a line."""
    files = [edit for edit in edits.files if posixpath.basename(edit.path) == ".gitignore"]
    needed = list(dict.fromkeys(_list_needed(edits)))[:_MOST] if files else []

    def see(file: str, text: str) -> Iterable[Sighting]:
        for number, line in enumerate(text.split("\n")[:500], 1):
            pattern = line.strip()
            if pattern and not pattern.startswith(("#", "!")):
                hit = next((says for path, says in needed if _is_ignored(pattern, file, path)), "")
                if hit or _WHOLE.fullmatch(pattern):
                    yield Sighting(number, pattern, f"ignores {hit or 'all source code of a kind'}")

    yield from report(RULE, find_new(files, see), _WHY)


def _is_ignored(pattern: str, file: str, path: str) -> bool:
    """Return whether `pattern`, a line of the file `file`, means `path` or a folder that it is in."""
    folder = posixpath.dirname(file)
    if folder and not path.startswith(f"{folder}/"):
        return False
    parts = (path[len(folder) + 1 :] if folder else path).split("/")
    last = len(parts) + (0 if pattern.endswith("/") else 1)
    compiled = _compile(pattern.rstrip("/"))
    return any(compiled.fullmatch("/".join(parts[:n])) for n in range(1, last))


@lru_cache(maxsize=512)
def _compile(pattern: str) -> re.Pattern[str]:
    body = re.sub(r"\*{3,}", "**", pattern.strip("/")[:300])
    regex = "".join(_translate(token) for token in _TOKENS.findall(body)[:120])
    try:
        return re.compile(regex if "/" in pattern else rf"(?:[^\n]*/)?{regex}", re.DOTALL)
    except re.error:
        return re.compile(re.escape(pattern))


def _translate(token: str) -> str:
    if token in _WILD:
        return _WILD[token]
    if token.startswith("[") and len(token) > 2:
        inside = token[1:-1].replace("!", "^", 1) if token[1] == "!" else token[1:-1]
        return f"[{inside.replace('[', chr(92) + '[')}]"
    return re.escape(token[1:] if token.startswith("\\") and len(token) > 1 else token)


def _list_needed(edits: Edits) -> Iterator[tuple[str, str]]:
    """Yield paths that the code needs, and what they are to it."""
    there = {edit.path for edit in edits.files if edit.after is not None}
    for edit in list_product(edits):
        if edit.after is None and edit.before:
            yield edit.path, f"{edit.path}, which this change takes out of the repository"
        elif edit.after is not None:
            yield edit.path, f"where {edit.path} is"
            imported = _list_imports(edit, edit.after)
            yield from ((path, f"{path}, which {edit.path} imports") for path in imported if path not in there)


def _list_imports(edit: Edit, text: str) -> Iterator[str]:
    for name in list_imports(edit.path, text):
        if is_python(edit.path):
            yield from (f"{root}{name}{end}" for root in ("", "src/") for end in (".py", "/__init__.py"))
        elif is_javascript(edit.path):
            yield from (f"{name}{end}" for end in _SUFFIXES)
