""".gitignore lines that keep source code out of the commit: it works here and is missing everywhere else.

`review` where a new line reaches what product code of this change imports, a folder that it changes files in, a file
that it takes out of the repository, or every file of a language. Ordinary lines (build results, caches, environments)
reach none of these and are nothing. The clean room finds out in any case; this says why.
"""

import ast
import posixpath
import re
from collections.abc import Iterable, Iterator

from aigon.model.changes import Concern, Edit, Edits
from aigon.proof.analysis.languages import is_javascript, is_python, product, reaches
from aigon.proof.analysis.python import read
from aigon.proof.analysis.sightings import Sighting, fresh, reported
from aigon.proof.analysis.text import without_comments

RULE = "ignored-source"
_WHY = (
    "Code that git ignores is in no commit, so what was proven would not contain it. "
    "Take the line out, or give what it ignores another place."
)
_WHOLE = re.compile(r"\*+|(\*\*/)?\*\.(py|js|jsx|ts|tsx|go|rs|rb|java|kt|c|cc|cpp|h|cs|swift|php|scala)")
_IMPORT = re.compile(r"(?:\bfrom|\brequire\(|\bimport\(?)\s*['\"](\.{1,2}/[^'\"\n]{1,300})['\"]")
_SUFFIXES = ("", ".js", ".ts", ".mjs", ".cjs", ".jsx", ".tsx", "/index.js", "/index.ts")
_MOST = 3000


def look(edits: Edits) -> Iterator[Concern]:
    """Every .gitignore that brings such a line."""
    files = [edit for edit in edits.files if posixpath.basename(edit.path) == ".gitignore"]
    if not files:
        return
    needed = list(dict.fromkeys(_needed(edits)))[:_MOST]
    yield from reported(RULE, fresh(files, lambda path, text: _see(path, text, needed)), _WHY)


def _see(file: str, text: str, needed: list[tuple[str, str]]) -> Iterable[Sighting]:
    for number, line in enumerate(text.split("\n")[:500], 1):
        pattern = line.strip()
        if not pattern or pattern.startswith(("#", "!")):
            continue
        hit = next((says for path, says in needed if reaches(pattern, file, path)), "")
        if hit or _WHOLE.fullmatch(pattern):
            yield Sighting(number, pattern, f"ignores {hit or 'all source code of a kind'}")


def _needed(edits: Edits) -> Iterator[tuple[str, str]]:
    """Paths that the code needs, and what they are to it."""
    there = {edit.path for edit in edits.files if edit.after is not None}
    for edit in product(edits):
        if edit.after is None and edit.before:
            yield edit.path, f"{edit.path}, which this change takes out of the repository"
        elif edit.after is not None:
            yield edit.path, f"where {edit.path} is"
            yield from ((path, f"{path}, which {edit.path} imports") for path in _imports(edit) if path not in there)


def _imports(edit: Edit) -> Iterator[str]:
    text = edit.after or ""
    if is_python(edit.path):
        module = read(text)
        for node in module.nodes if module else ():
            yield from _python_imports(node, edit.path)
    elif is_javascript(edit.path):
        for match in _IMPORT.finditer(without_comments(text, edit.path)):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(edit.path), match[1]))
            yield from (target + suffix for suffix in _SUFFIXES)


def _python_imports(node: ast.AST, path: str) -> Iterator[str]:
    modules: list[str] = []
    if isinstance(node, ast.Import):
        modules = [each.name.replace(".", "/") for each in node.names]
    elif isinstance(node, ast.ImportFrom):
        base = (node.module or "").replace(".", "/")
        folder = (
            posixpath.normpath(posixpath.join(posixpath.dirname(path), "../" * (node.level - 1))) if node.level else ""
        )
        start = posixpath.join(folder.removeprefix("."), base).strip("/")
        modules = [start, *(f"{start}/{each.name}".strip("/") for each in node.names)]
    for module in modules:
        if module and not module.startswith(".."):
            yield from (f"{root}{module}{end}" for root in ("", "src/") for end in (".py", "/__init__.py"))
