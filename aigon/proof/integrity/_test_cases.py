"""The tests in a file, by name, in many languages: what each one says, and where."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from aigon.proof.integrity._languages import extension, is_javascript, is_python
from aigon.proof.integrity._python import read
from aigon.proof.integrity._scan import line_at, without_comments

_NAMES: dict[str, re.Pattern[str]] = {
    "js": re.compile(
        r"(?<![\w.$])(?:[xf]?(?:it|test|specify|describe|context|suite)|Deno\.test)"
        r"(?:\.(?:only|skip|todo|fails|failing|concurrent|sequential|each|skipIf|runIf)\b(?:\([^()\n]{0,400}\))?)*"
        r"\s*\(\s*(?:(['\"`])((?:\\.|(?!\1)[^\\\n]){1,300})\1)?"
    ),
    "go": re.compile(r"^func\s+(?P<name>(?:Test|Benchmark|Fuzz|Example)\w*)\s*\(", re.MULTILINE),
    "rs": re.compile(r"#\[(?:\w+::)*test\b[^\n]*\](?:\s*#\[[^\n]*\])*\s*(?:pub\s+)?(?:async\s+)?fn\s+(?P<name>\w+)"),
    "rb": re.compile(
        r"^[ \t]*(?:def\s+(?P<name>test_\w+)"
        r"|x?(?:it|specify|describe|context|test)\s*\(?\s*['\"](?P<title>[^'\"\n]{1,300}))",
        re.MULTILINE,
    ),
    "php": re.compile(r"\bfunction\s+(?P<name>test\w+)\s*\("),
    "java": re.compile(
        r"@(?:\w*Test|Fact|Theory|TestMethod|TestCase)\b"
        r"[^;{]{0,300}?\b(?:void|fun|Task)\s+`?(?P<name>[\w ]+?)`?\s*\("
    ),
}
_LIKE = {"kt": "java", "scala": "java", "groovy": "java", "cs": "java"}


@dataclass(frozen=True, slots=True)
class Case:
    """One test: its name (classes before it, dotted, in Python), first and last line, and its text without comments."""

    name: str
    start: int
    end: int
    text: str


@lru_cache(maxsize=256)
def cases(path: str, text: str) -> tuple[Case, ...]:
    """All tests of a file, in order."""
    if is_python(path):
        module = read(text)
        return tuple(_in_python(module.tree, "", text)) if module else ()
    end = "js" if is_javascript(path) else extension(path)
    pattern = _NAMES.get(_LIKE.get(end, end))
    return tuple(_elsewhere(pattern, path, text)) if pattern else ()


def _in_python(tree: ast.AST, before: str, text: str) -> Iterator[Case]:
    lines = text.split("\n")
    todo = [(tree, before)]
    while todo:
        node, prefix = todo.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)) and child.name.startswith("test"):
                start = min([child.lineno, *(mark.lineno for mark in child.decorator_list)])
                end = child.end_lineno or child.lineno
                yield Case(prefix + child.name, start, end, "\n".join(lines[start - 1 : end]))
            elif isinstance(child, ast.ClassDef):
                todo.append((child, f"{prefix}{child.name}."))
            elif isinstance(child, (ast.If, ast.Try, ast.With)):
                todo.append((child, prefix))


def _elsewhere(pattern: re.Pattern[str], path: str, text: str) -> Iterator[Case]:
    plain = without_comments(text, path)
    found = list(pattern.finditer(plain))
    for match, following in zip(found, [*found[1:], None], strict=False):
        groups = match.groupdict()
        name = groups.get("name") or groups.get("title") or (match[2] if "name" not in groups else "") or ""
        end = following.start() if following else len(plain)
        if name:
            yield Case(name, line_at(plain, match.start()), line_at(plain, end), plain[match.start() : end])
