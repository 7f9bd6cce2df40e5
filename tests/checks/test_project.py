"""What a project on disk says about itself: real folders, and nothing in them is run."""

import os
import sys
from pathlib import Path

import pytest

from aigon.checks.project import ProjectOnDisk
from tests.projects import files, program


def test_a_path_is_a_file_a_folder_or_nothing(tmp_path: Path) -> None:
    files(tmp_path, {"src/a.py": ""})
    project = ProjectOnDisk(tmp_path, {})
    assert [project.kind(path) for path in ("src/a.py", "src", "b.py", "a\0b")] == ["file", "folder", "", ""]


def test_a_pipe_named_like_a_configuration_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "package.json")
    project = ProjectOnDisk(tmp_path, {})
    assert project.kind("package.json") == ""
    assert project.read("package.json") is None


def test_reading_gives_the_bytes_or_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.cfg").write_bytes(b"\xff\r\n")
    project = ProjectOnDisk(tmp_path, {})
    assert project.read("a.cfg") == b"\xff\r\n"
    assert project.read("b.cfg") is None
    assert project.read(".") is None


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("**/test_*.py", ["pkg/deep/test_b.py", "test_a.py"]),
        ("test_*.py", ["test_a.py"]),
        ("pkg/**", ["pkg/deep/test_b.py", "pkg/view.test.tsx"]),
        ("**/*.{test,spec}.{ts,tsx}", ["pkg/view.test.tsx"]),
        ("tes?_a.py", ["test_a.py"]),
        (".eslintrc{,.json}", [".eslintrc"]),
        ("{a", []),
    ],
)
def test_a_glob_finds_sorted_paths(tmp_path: Path, pattern: str, found: list[str]) -> None:
    files(tmp_path, dict.fromkeys(("test_a.py", "pkg/deep/test_b.py", "pkg/view.test.tsx", ".eslintrc", "a.b"), ""))
    assert list(ProjectOnDisk(tmp_path, {}).glob(pattern)) == found


def test_a_glob_leaves_out_what_is_not_the_projects_own(tmp_path: Path) -> None:
    foreign = (
        "node_modules/a",
        ".git",
        ".venv/lib",
        "my_env",
        "__pycache__",
        "a.egg-info",
        "dist",
        ".tox",
        "target",
        "vendor/x",
    )
    files(tmp_path, {f"{folder}/test_a.py": "" for folder in foreign} | {"my_env/pyvenv.cfg": "", "own/test_a.py": ""})
    assert list(ProjectOnDisk(tmp_path, {}).glob("**/test_a.py")) == ["own/test_a.py"]


def test_a_glob_ends_where_links_go_in_circles(tmp_path: Path) -> None:
    files(tmp_path, {"a/test_a.py": ""})
    (tmp_path / "a" / "again").symlink_to(tmp_path, target_is_directory=True)
    assert list(ProjectOnDisk(tmp_path, {}).glob("**/*.py")) == ["a/test_a.py"]


def test_the_projects_own_tools_come_before_the_ones_on_path(tmp_path: Path) -> None:
    root, bin_ = tmp_path / "project", tmp_path / "bin"
    expected = [root / ".venv/bin/ruff", root / "node_modules/.bin/eslint", bin_ / "npm"]
    for path in (*expected, bin_ / "ruff", bin_ / "eslint"):
        program(path)
    project = ProjectOnDisk(root, {"PATH": str(bin_)})
    assert [project.tool(name) for name in ("ruff", "eslint", "npm")] == [str(path) for path in expected]
    assert project.tool("yarn") is None


def test_a_relative_entry_of_path_finds_nothing_in_the_work_tree(tmp_path: Path) -> None:
    program(tmp_path / "tools/pytest")
    assert ProjectOnDisk(tmp_path, {"PATH": f"tools:.::{tmp_path}/none"}).tool("pytest") is None


def test_a_file_without_its_run_bit_is_no_tool(tmp_path: Path) -> None:
    files(tmp_path, {"bin/ruff": "#!/bin/sh\n"})
    assert ProjectOnDisk(tmp_path, {"PATH": f"{tmp_path}/bin"}).tool("ruff") is None


def test_the_interpreter_is_the_projects_then_the_activated_then_the_one_on_path(tmp_path: Path) -> None:
    root, active, bin_ = tmp_path / "project", tmp_path / "active", tmp_path / "bin"
    root.mkdir()
    env = {"VIRTUAL_ENV": str(active), "PATH": str(bin_)}
    assert ProjectOnDisk(root, env).python() == ""
    for path in (bin_ / "python3", active / "bin/python", root / "venv/bin/python", root / ".venv/bin/python"):
        program(path)
        assert ProjectOnDisk(root, env).python() == str(path)


def test_a_module_in_the_environment_is_seen_without_starting_its_interpreter(tmp_path: Path) -> None:
    program(tmp_path / ".venv/bin/python", f"touch {tmp_path}/started; exit 1")
    packages = ".venv/lib/python3.11/site-packages"
    files(tmp_path, {".venv/pyvenv.cfg": "", f"{packages}/pytest/__init__.py": "", f"{packages}/six.py": ""})
    project = ProjectOnDisk(tmp_path, {})
    assert project.module("pytest")
    assert project.module("six")
    assert not (tmp_path / "started").exists()
    assert not project.module("mypy")
    assert (tmp_path / "started").exists()


def test_the_interpreter_is_asked_once_per_module_and_not_about_the_work_tree(tmp_path: Path) -> None:
    files(tmp_path, {"pytest.py": "open('ran', 'w')", "only_here.py": "open('ran', 'w')"})
    asked = tmp_path / "asked"
    program(tmp_path / "bin/python3", f'echo >> {asked}; exec {sys.executable} "$@"')
    project = ProjectOnDisk(tmp_path, {"PATH": f"{tmp_path}/bin:{os.defpath}"})
    assert [project.module("pytest"), project.module("pytest"), project.module("only_here")] == [True, True, False]
    assert asked.read_text() == "\n\n"
    assert not (tmp_path / "ran").exists()


def test_without_an_interpreter_there_are_no_modules(tmp_path: Path) -> None:
    assert not ProjectOnDisk(tmp_path, {"PATH": str(tmp_path)}).module("sys")
