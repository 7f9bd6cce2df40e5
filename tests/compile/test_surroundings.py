"""What a project has, as the rules that propose need it: looked up on disk, nothing run."""

from pathlib import Path

from aigon.checks.project import ProjectOnDisk
from aigon.compile.model import look_around
from aigon.compile.proposals import Surroundings
from aigon.model.checks import Check
from tests.projects import files, package, program

PYTEST = Check("tests", "tests", ("python", "-m", "pytest", "-q"), parser="pytest")


def seen(root: Path, *checks: Check, texts: tuple[str, ...] = ()) -> Surroundings:
    program(root / "bin/python3")
    project = ProjectOnDisk(root, {"PATH": f"{root}/bin"})
    return look_around(project, checks, f"{root}/bin", texts)


def test_a_python_project_with_its_sources_in_src(tmp_path: Path) -> None:
    files(
        tmp_path,
        {
            "pyproject.toml": '[project]\nname = "calc"\n[project.scripts]\ncalculate = "calc.cli:main"\n',
            "src/calc/__init__.py": "from calc.ops import add\n",
            "src/calc/ops.py": "def add(a): ...\nasync def later(): ...\nclass Sum: ...\n    def method(self): ...\n",
            "src/calc/cli.py": "import click\n",
            "tests/test_ops.py": "import calc\n",
            "tests/helpers.py": "def helper(): ...\n",
        },
    )
    found = seen(tmp_path, PYTEST, texts=("`python3 x.py` works", "`nonsense --help` shows `--x`"))
    assert found.python == "python3" and found.programs == {"python3"}
    assert found.entries == {"calculate": "PYTHONPATH=src python3 -m calc.cli"}


def test_the_programs_of_a_node_package_are_found(tmp_path: Path) -> None:
    package(tmp_path, name="web", bin="./cli.js")
    assert seen(tmp_path).entries == {"web": "node cli.js"}
    package(tmp_path, name="web", bin={"a": "bin/a.js", "b": "./b c.js"})
    assert seen(tmp_path).entries == {"a": "node bin/a.js", "b": "node 'b c.js'"}


def test_files_that_cannot_be_read_as_what_they_are_called_are_no_obstacle(tmp_path: Path) -> None:
    files(tmp_path, {"package.json": "[1", "pyproject.toml": "= no", "a.py": "def f(", "test_a.py": "\x00"})
    found = seen(tmp_path, PYTEST)
    assert found.entries == {}
