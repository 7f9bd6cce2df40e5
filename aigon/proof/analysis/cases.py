"""The single tests of a test file, in many languages."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from aigon.proof.analysis.languages import dialect
from aigon.proof.analysis.python import read_module
from aigon.proof.analysis.text import line_at, without_comments

_NAMES = {
    "js": re.compile(
        r"(?<![\w.$])(?:[xf]?(?:it|test|specify|describe|context|suite)|Deno\.test)"
        r"(?:\.(?:only|skip|todo|fails|failing|concurrent|sequential|each|skipIf|runIf)\b(?:\([^()\n]{0,400}\))?)*"
        r"\s*\(\s*(?:(['\"`])(?P<name>(?:\\.|(?!\1)[^\\\n]){1,300})\1)?"
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


@dataclass(frozen=True, slots=True)
class SingleTest:
    """One test: its name (classes before it, dotted, in Python), first and last line, and its text."""

    name: str
    start: int
    end: int
    text: str


@lru_cache(maxsize=256)
def list_cases(path: str, text: str) -> tuple[SingleTest, ...]:
    """Return all tests of a file, in order; their text has no comments except in Python."""
    language = dialect(path)
    if language == "py":
        module = read_module(text)
        return tuple(_list_in_python(module.tree, text)) if module else ()
    if language not in _NAMES:
        return ()
    plain = without_comments(text, path)
    matches = list(_NAMES[language].finditer(plain))
    ends = [*(match.start() for match in matches[1:]), len(plain)]
    return tuple(
        SingleTest(name, line_at(plain, match.start()), line_at(plain, end), plain[match.start() : end])
        for match, end in zip(matches, ends, strict=False)
        if (name := match["name"] or match.groupdict().get("title"))
    )


def _list_in_python(tree: ast.AST, text: str) -> Iterator[SingleTest]:
    lines = text.split("\n")
    todo = [(tree, "")]
    while todo:
        node, prefix = todo.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)) and child.name.startswith("test"):
                start = min([child.lineno, *(mark.lineno for mark in child.decorator_list)])
                end = child.end_lineno or child.lineno
                yield SingleTest(prefix + child.name, start, end, "\n".join(lines[start - 1 : end]))
            elif isinstance(child, ast.ClassDef):
                todo.append((child, f"{prefix}{child.name}."))
            elif isinstance(child, (ast.If, ast.Try, ast.With)):
                todo.append((child, prefix))
