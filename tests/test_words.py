"""Comments and docstrings use the words of ARCHITECTURE.md; contracts (keys, options, events) keep their names."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

AIGON = Path(__file__).parents[1] / "aigon"
DESIGN = AIGON.parent / "docs" / "design"
OLD = {
    "rung": "escalation step",
    "ladder": "escalation steps",
    "rehearse": "clean-room dry run",
    "rehearsal": "clean-room dry run",
    "parked": "saved aside",
    "checkpoint": "iteration commit",
    "unmet": "failed",
    "mend": "fix",
    "mended": "fixed",
}
"""Words that were replaced, and what to write."""
_WORD = re.compile(rf"\b({'|'.join(OLD)})s?\b", re.IGNORECASE)
_NAMED = re.compile(r"`[^`]*`|\"[^\"]*\"|(?<!\w)'[^']*'(?!\w)")
"""What a text quotes is a name of something."""


def _prose(path: Path) -> Iterator[tuple[int, str]]:
    """Docstrings and comments of a file, with their lines."""
    source = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def _definitions(path: Path) -> Iterator[tuple[int, str]]:
    """Names of modules, functions and classes. Fields and enum members may be keys of a contract."""
    if path.parent.name != "commands":  # a verb is a contract
        yield 1, path.stem
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.lineno, node.name


@pytest.mark.parametrize("package", sorted(path.name for path in AIGON.iterdir() if path.is_dir()))
def test_prose_and_names_use_the_words_of_the_architecture(package: str) -> None:
    old = []
    for path in sorted((AIGON / package).rglob("*.py")):
        text = path.read_text(encoding="utf-8").lower()
        if not any(word in text for word in OLD):
            continue  # most files, and parsing takes its time
        where = path.relative_to(AIGON.parent)
        old += [f"{where}:{line}: {m[0]}" for line, text in _prose(path) for m in _WORD.finditer(_NAMED.sub("", text))]
        for line, name in _definitions(path):
            words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().split("_")
            old += [f"{where}:{line}: {name}" for word in words if word.removesuffix("s") in OLD]
    assert old == [], "\n".join(old)


@pytest.mark.parametrize("page", sorted(path.name for path in DESIGN.glob("*.md")))
def test_pages_on_design_use_these_words_and_names_of_the_code(page: str) -> None:
    text = (DESIGN / page).read_text(encoding="utf-8")
    assert [m[0] for m in _WORD.finditer(_NAMED.sub("", text))] == []
    code = "".join(path.read_text(encoding="utf-8") for path in AIGON.rglob("*.py"))
    classes = set(re.findall(r"`((?:[A-Z][a-z]+){2,})", text))
    assert sorted(name for name in classes if not re.search(rf"\b{name}\b", code)) == []


def test_names_of_tests_are_at_most_80_characters() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (AIGON.parent / "tests").rglob("test_*.py")]
    names = [name for text in texts for name in re.findall(r"(?m)^ *(?:async )?def (test_\w+)", text)]
    assert len(names) > 3_000
    assert [name for name in names if len(name) > 80] == []
