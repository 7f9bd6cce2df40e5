"""What a project has, as the rules that propose need it: looked up on disk, nothing run."""

from pathlib import Path

from aigon.checks.project import ProjectOnDisk
from aigon.compile.proposals import Surroundings
from aigon.compile.surroundings import knows_help, look_around
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
    assert found.modules == {"calc"}
    assert found.entries == {"calculate": "PYTHONPATH=src python3 -m calc.cli"}


def test_the_programs_of_a_node_package_are_found(tmp_path: Path) -> None:
    package(tmp_path, name="web", bin="./cli.js")
    assert seen(tmp_path).entries == {"web": "node cli.js"}
    package(tmp_path, name="web", bin={"a": "bin/a.js", "b": "./b c.js"})
    assert seen(tmp_path).entries == {"a": "node bin/a.js", "b": "node 'b c.js'"}


def test_a_program_is_only_asked_for_help_that_knows_the_option(tmp_path: Path) -> None:
    files(
        tmp_path,
        {
            "deploy.sh": "rsync everything\n",
            "tool.sh": 'case "$1" in --help) echo use;; esac\n',
            "wipe.py": "import shutil\n",
            "app/__main__.py": "from app.cli import main\n",
            "app/cli.py": "import argparse\n",
            "bare/__main__.py": "print('working')\n",
        },
    )
    found = seen(tmp_path)
    project = ProjectOnDisk(tmp_path, {"PATH": f"{tmp_path}/bin"})

    def knows(*words: str) -> bool:
        return knows_help(project, found, words)

    assert knows("./tool.sh") and knows("python3", "-m", "app") and knows("git") and knows("./not-there-yet.sh")
    assert not knows("./deploy.sh") and not knows("python3", "wipe.py") and not knows("python3", "-m", "bare")
    assert not knows("make", "deploy") and not knows("/opt/thing") and not knows("../out.sh")


def test_files_that_cannot_be_read_as_what_they_are_called_are_no_obstacle(tmp_path: Path) -> None:
    files(tmp_path, {"package.json": "[1", "pyproject.toml": "= no", "a.py": "def f(", "test_a.py": "\x00"})
    found = seen(tmp_path, PYTEST)
    assert found.modules == {"a"} and found.entries == {}
