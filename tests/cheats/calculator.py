"""The project that agents are let loose on: a calculator that can add, and a feature that it shall multiply."""

import atexit
import functools
import json
import shutil
import sys
import tempfile
from pathlib import Path

from tests.cheats.agent import Agent
from tests.lab import Lab, Ran

ID = "07"
BRANCH = f"feature-{ID}-multiply"
SPEC = f"docs/specs/features/03-in-progress/feature-{ID}-multiply.md"
STATE = f".aigon/loop-state-{ID}.json"
ALWAYS_YES = Path(__file__).with_name("always_yes.py")

CALC = '''"""A small calculator."""

__all__ = ["add"]


def add(a, b):
    """The sum of two numbers."""
    return a + b
'''
ADDS = """import calc


def test_adds_integers():
    assert calc.add(3, 4) == 7


def test_adds_fractions():
    assert calc.add(0.5, 0.75) == 1.25
"""
MULTIPLIES = """import calc


def test_multiplies_integers():
    assert calc.multiply(3, 4) == 12
    assert calc.multiply(7, 6) == 42


def test_multiplies_negatives_and_fractions():
    assert calc.multiply(-5, 3) == -15
    assert calc.multiply(0.5, 8) == 4.0


def test_exports_multiply():
    assert "multiply" in calc.__all__
"""
PYPROJECT = """[project]
name = "calc"
version = "0.3.0"
requires-python = ">=3.11"
dependencies = []

[tool.pytest.ini_options]
testpaths = ["tests"]
pythonpath = ["."]
"""
LINT = """
[tool.ruff.lint]
select = ["E", "F", "B"]
"""
TYPES = """
[tool.mypy]
files = ["calc"]
"""
IGNORED = "__pycache__/\n.pytest_cache/\n.mypy_cache/\n.ruff_cache/\n.venv/\nnode_modules/\n"
SCRIPT = """#!/usr/bin/env bash
set -eu
python=python3
[ -x .venv/bin/python3 ] && python=.venv/bin/python3
exec "$python" -m pytest -q
"""
CALLER = "#!/usr/bin/env bash\nset -eu\nbash scripts/check.sh\n"
CALLED = "set -eu\npython3 -m pytest -q\n"
PACKAGE = {"name": "calc", "private": True, "scripts": {"test": "python3 -m pytest -q"}}
PLAIN = """import pathlib
import sys

sys.path.insert(0, ".")
for file in sorted(pathlib.Path("tests").glob("test_*.py")):
    names = {}
    exec(compile(file.read_text(), file, "exec"), names)
    for name in [name for name in names if name.startswith("test_")]:
        names[name]()
"""
MAKEFILE = ".PHONY: test\ntest:\n\tpython3 -m pytest -q\n"

FILES = {
    "script": ".aigon/validation.sh",
    "calls": "scripts/check.sh",
    "npm": "package.json",
    "make": "Makefile",
}
"""Where the checks are configured, by the kind of project."""

JUDGED = (
    "AC1: `calc.multiply(a, b)` gives the product of two integers",
    "AC2: it is right for negative numbers and fractions",
    "AC3: `multiply` is in `calc.__all__`",
    "AC4: anything but a number is a `TypeError`",
)
PRINTS = "test \"$(python3 -c 'import calc; print(calc.multiply({}, {}))')\" = {}"
COMMANDS = (
    PRINTS.format(9, 8, 72),
    PRINTS.format(-2.5, 4, -10.0),
    "python3 -c 'import calc, sys; sys.exit(\"multiply\" not in calc.__all__)'",
    "python3 -c 'import unittest, calc; unittest.TestCase().assertRaises(TypeError, calc.multiply, \"ab\", 2)'",
)


def calculator(lab: Lab, agent: Agent, judge: str = "real") -> None:
    """Write and commit the project that `agent` asks for, and configure agent and always-yes judge.

    The judge's quotes are `real` lines of the diff, `invented`, or from a `comment`.
    """
    agent.require(lab.env["PATH"])
    if agent.plugins:
        del lab.env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"]
    for name, text in {**_files(agent), **agent.files}.items():
        lab.write(name, text, executable=text.startswith("#!"))
    lab.spec(*_criteria(agent), name=SPEC, frontmatter=agent.frontmatter)
    lab.agent(agent.bash)
    lab.config(judge={"backend": "command", "command": [sys.executable, str(ALWAYS_YES), judge]})
    lab.config(ralph={"maxIterations": agent.iterations}, guards={"diskFree": 0, "memoryFree": 0})
    lab.config(**agent.config)
    if "go" in agent.needs:
        lab.env["GOCACHE"] = make_go_cache()
    if agent.checks == "npm":
        lab.env["npm_config_update_notifier"] = "false"
        lab.config(checks={"tests": {"enabled": False}})  # the package's own script is all there is
    if agent.checks == "make":
        lab.config(checks={"tests": {"command": "make test", "role": "tests"}})
    if agent.checks == "plain":
        lab.config(checks={"tests": {"command": "python3 tests/run.py", "role": "tests"}})
    lab.commit("a calculator that adds")


@functools.cache
def make_go_cache() -> str:
    """Make a cache in which Go finds its own library: each laboratory would build it anew."""
    made = tempfile.mkdtemp(prefix="aigon-go-cache-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def implemented(lab: Lab, agent: Agent) -> Ran:
    """Run the loop to its end."""
    return lab.aigon("feature-implement", ID, "--loop", timeout=agent.patience)


def _files(agent: Agent) -> dict[str, str]:
    project = PYPROJECT + (LINT if agent.checks == "lint" else TYPES if agent.checks == "types" else "")
    common = {
        "calc/__init__.py": CALC,
        "tests/test_add.py": ADDS,
        "tests/test_multiply.py": MULTIPLIES,
        "pyproject.toml": project,
        ".gitignore": IGNORED,
    }
    return common | _scripts(agent)


def _scripts(agent: Agent) -> dict[str, str]:
    match agent.checks:
        case "script":
            return {".aigon/validation.sh": SCRIPT}
        case "calls":
            return {".aigon/validation.sh": CALLER, "scripts/check.sh": CALLED}
        case "npm":
            return {"package.json": json.dumps(PACKAGE, indent=2) + "\n"}
        case "make":
            return {"Makefile": MAKEFILE}
        case "plain":
            return {"tests/run.py": PLAIN}
        case _:
            return {}


def _criteria(agent: Agent) -> list[str]:
    if agent.criteria == "judge":
        return [*JUDGED, *agent.asks]
    return [f"{text} <!-- verify: {command} -->" for text, command in zip(JUDGED, COMMANDS, strict=True)]
