"""Changes for the integrity rules: what an agent edited, in as few words as a test needs."""

from collections.abc import Mapping

from aigon.model.changes import Concern, Edit, Edits, FilePart
from aigon.proof import integrity

TESTS = """import pytest
import calc


def test_multiply_ints():
    assert calc.multiply(2, 3) == 6
    assert calc.multiply(4, 5) == 20


@pytest.mark.parametrize("a, b, product", [(-2, 3, -6), (0.5, 4, 2.0)])
def test_multiply_others(a, b, product):
    assert calc.multiply(a, b) == product


def test_multiply_is_exported():
    assert "multiply" in calc.__all__
"""
BASE = {"tests/test_multiply.py": TESTS}


def new(path: str, text: str, part: FilePart = "product", mode: str = "100644") -> Edit:
    """A file that the base does not have."""
    return Edit(path, None, text, part, mode)


def changed(path: str, before: str, after: str | None, part: FilePart = "product") -> Edit:
    """A file that the base has."""
    return Edit(path, before, after, part, "100644" if after is not None else "")


def change(*files: Edit, tests: Mapping[str, str] = BASE, messages: tuple[str, ...] = ()) -> Edits:
    """All of it, over a base that tests `multiply`."""
    return Edits(files, tests, messages)


def seen(rule: str, *files: Edit, tests: Mapping[str, str] = BASE, messages: tuple[str, ...] = ()) -> list[Concern]:
    """What one rule says about a change. Only that one is asked, if it is a module of its own."""
    edits, module = change(*files, tests=tests, messages=messages), rule.replace("-", "_")
    asked = integrity._apply(module, edits) if module in integrity.RULES.names() else integrity.concerns(edits)
    return [each for each in asked if each.rule == rule]


def levels(rule: str, *files: Edit, tests: Mapping[str, str] = BASE) -> set[str]:
    """The levels of what one rule says about a change."""
    return {each.level for each in seen(rule, *files, tests=tests)}
