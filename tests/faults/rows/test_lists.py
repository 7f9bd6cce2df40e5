"""The list of mechanisms and the page of promises cannot rot: what they name is there."""

import ast
import functools
import re
from pathlib import Path

import pytest

from tests.faults.mechanism_list import MECHANISMS, Mechanism
from tests.faults.mechanisms import ROOT, without

PAGE = ROOT / "docs" / "promises.md"
NAMED = re.compile(r"`(tests/[\w/]+\.py)(?:::(test_\w+))?`")


@functools.cache
def names_of(file: Path) -> frozenset[str]:
    """The names of the tests in a file."""
    functions = (node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.FunctionDef))
    return frozenset(function.name for function in functions if function.name.startswith("test_"))


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: f"{m.row}: {m.name}")
def test_a_mechanism_can_still_be_taken_out_and_its_test_is_there(mechanism: Mechanism) -> None:
    text = (ROOT / mechanism.file).read_text()
    ast.parse(without(text, mechanism))
    file, _, test = mechanism.test.partition("::")
    assert test.partition("[")[0] in names_of(ROOT / file)


def test_every_test_that_the_page_of_promises_names_is_there() -> None:
    named = NAMED.findall(PAGE.read_text())
    assert len(named) > 30
    missing = [f"{file}::{test}" for file, test in named if not (ROOT / file).is_file()
               or (test and test not in names_of(ROOT / file))]  # fmt: skip
    assert missing == []


def test_every_command_that_the_page_names_is_a_session() -> None:
    noxfile = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    sessions = {name.replace("_", "-") for name in re.findall(r"(?m)^def (\w+)\(session", noxfile)}
    named = set(re.findall(r"`nox -s ([\w-]+)", PAGE.read_text(encoding="utf-8")))
    assert len(named) > 4
    assert named <= sessions
