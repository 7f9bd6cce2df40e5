"""The tools as they are installed here, on a small project: what they write today is what the parsers read."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from aigon.model.checks import ParsedOutput, TestCounts
from tests.checks.parsers.captured import read

PASSES = "def test_a() -> None:\n    assert 1 + 1 == 2\n\n\ndef test_b() -> None:\n    pass\n"
FAILS = PASSES + "\n\ndef test_c() -> None:\n    assert 1 + 1 == 3\n"


def ran(folder: Path, *command: str) -> bytes:
    """stdout and stderr of `python -m COMMAND` in `folder`, untouched by the settings of the run around it."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "MYPY", "RUFF_", "FORCE_COLOR"))}
    done = subprocess.run([sys.executable, "-m", *command], cwd=folder, env=env, stdout=-1, stderr=-2, timeout=100)
    return done.stdout


def read_both_ways(folder: Path, source: str) -> tuple[ParsedOutput, ParsedOutput]:
    """The reading of a pytest run with its report, and of the output alone."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_it.py").write_text(source)
    output = ran(folder, "pytest", "-p", "no:cacheprovider", "--junit-xml=report.xml")
    return read("pytest", output, (folder / "report.xml").read_bytes()), read("pytest", output)


@pytest.mark.slow
def test_pytest_passes(tmp_path: Path) -> None:
    for found in read_both_ways(tmp_path, PASSES):
        assert (found.summary, found.counts) == ("2/2 passed", TestCounts(total=2, passed=2))
        assert found.problems == ()


def test_pytest_fails(tmp_path: Path) -> None:
    for found in read_both_ways(tmp_path, FAILS):
        assert found.summary == "2/3 passed"
        assert [(p.test, p.message, p.file) for p in found.problems] == [
            ("test_it.py::test_c", "assert (1 + 1) == 3", "test_it.py")
        ]


@pytest.mark.slow
def test_pytest_cannot_collect(tmp_path: Path) -> None:
    for found in read_both_ways(tmp_path, "import there_is_no_such_module\n"):
        assert found.counts == TestCounts(total=1, errors=1)
        assert [(p.test, p.message) for p in found.problems] == [
            ("test_it.py", "ModuleNotFoundError: No module named 'there_is_no_such_module'")
        ]


def test_pytest_meets_a_syntax_error(tmp_path: Path) -> None:
    for found in read_both_ways(tmp_path, "def broken(:\n"):
        assert found.counts == TestCounts(total=1, errors=1)
        assert found.problems[0].message.startswith("SyntaxError: ")


def test_pytest_finds_no_tests(tmp_path: Path) -> None:
    for found in read_both_ways(tmp_path, ""):
        assert (found.summary, found.counts) == ("no tests collected", TestCounts())


@pytest.mark.parametrize("form", ["json", "json-lines", "concise", "full"])
def test_ruff_finds_problems_and_none(tmp_path: Path, form: str) -> None:
    (tmp_path / "a.py").write_text("import os\nx = y\n")
    command = ("ruff", "check", "--isolated", "--no-cache", "--select=F", "--output-format", form, "a.py")
    assert [(p.rule, p.line) for p in read("ruff", ran(tmp_path, *command)).problems] == [("F401", 1), ("F821", 2)]
    (tmp_path / "a.py").write_text("x = 1\n")
    assert read("ruff", ran(tmp_path, *command)).summary == "clean"


def test_ruff_would_format(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x=1\n")
    command = ("ruff", "format", "--isolated", "--no-cache", "--check", "a.py")
    assert [p.file for p in read("ruff", ran(tmp_path, *command)).problems] == ["a.py"]
    (tmp_path / "a.py").write_text("x = 1\n")
    assert read("ruff", ran(tmp_path, *command)).summary == "clean"


@pytest.mark.slow
@pytest.mark.parametrize("form", [(), ("--output=json",), ("--pretty",)], ids=["text", "json", "pretty"])
def test_mypy_finds_errors_and_none(tmp_path: Path, form: tuple[str, ...]) -> None:
    (tmp_path / "a.py").write_text('x: int = ""\n')
    command = ("mypy", "--config-file=", f"--cache-dir={os.devnull}", *form, "a.py")
    found = read("mypy", ran(tmp_path, *command))
    assert found.summary == "1 error"
    assert [(p.file, p.line, p.rule) for p in found.problems] == [("a.py", 1, "assignment")]
    (tmp_path / "a.py").write_text("x: int = 1\n")
    assert read("mypy", ran(tmp_path, *command)).summary == "clean"
