"""A .gitignore that leaves out source of the same change, by what git itself says of the paths."""

import subprocess
from pathlib import Path

import pytest

from aigon.files.resources import read_profiles
from aigon.git import objects
from aigon.git.person import Checkout
from aigon.git.trusted import TrustedGit
from aigon.model.changes import Concern
from aigon.profiles.profile import load_free_files, load_protections
from aigon.profiles.protection import Protection
from aigon.proof.findings import Changed, find_ignored_source
from tests.projects import files

PROTECTION = Protection(load_protections(read_profiles(), {}), free=load_free_files(read_profiles(), {}))
OLD = {".gitignore": "*.pyc\nold/\n", "calc/__init__.py": "x = 1\n", "old/a.py": "x = 1\n"}


def found(root: Path, now: dict[str, str]) -> list[Concern]:
    """What is said of a change from OLD to this; a file that is not named is gone."""
    files(root, OLD)
    git = ("git", "-C", str(root))
    for arguments in (("init", "-q"), ("config", "user.name", "a"), ("config", "user.email", "a@example.com")):
        subprocess.run([*git, *arguments], check=True)
    for number, contents in enumerate((OLD, now)):
        for path in OLD:
            (root / path).unlink(missing_ok=True)
        files(root, contents)
        subprocess.run([*git, "add", "-A", "-f"], check=True)
        subprocess.run([*git, "commit", "-qm", str(number)], check=True)
    with Checkout.open(root) as checkout:
        trusted = TrustedGit(checkout, root.parent / "own")
        before, after = (objects.list_entries(trusted, str(checkout.commit_of(name))) for name in ("HEAD~", "HEAD"))
    paths = sorted(path for path in {**before, **after} if before.get(path) != after.get(path))
    rows = [Changed(path, before.get(path), after.get(path)) for path in paths]
    return list(find_ignored_source(trusted, rows, PROTECTION))


@pytest.mark.parametrize("line", ["_local/", "**/_[a-z].py", "calc/", "*"])
def test_ignoring_source_of_the_change_is_reviewed(tmp_path: Path, line: str) -> None:
    text = f"*.pyc\n{line}\n"
    (concern,) = found(tmp_path / "project", {**OLD, ".gitignore": text, "calc/_local/_a.py": "x = 1\n"})
    assert (concern.rule, concern.level, concern.paths) == ("ignored-source", "review", (".gitignore",))
    assert "calc/_local/_a.py" in concern.what and f"`{line}`" in concern.what


def test_ignoring_what_the_change_takes_out_of_the_repository_is_reviewed(tmp_path: Path) -> None:
    now = {".gitignore": OLD[".gitignore"], "calc/.gitignore": "/__init__.py\n", "old/a.py": "x = 1\n"}
    (concern,) = found(tmp_path / "project", now)
    assert "calc/__init__.py" in concern.what and concern.paths == ("calc/.gitignore",)


@pytest.mark.parametrize("line", ["dist/", "# calc/", "!calc/", "/_a.py"])
def test_ordinary_lines_and_those_of_the_base_are_nothing(tmp_path: Path, line: str) -> None:
    now = {"calc/_a.py": "x = 1\n", "old/a.py": "x = 2\n", ".gitignore": f"{OLD['.gitignore']}{line}\n"}
    assert found(tmp_path / "project", {**OLD, **now}) == []


def test_without_a_changed_gitignore_nothing_is_asked(tmp_path: Path) -> None:
    assert found(tmp_path / "project", {**OLD, "old/a.py": "x = 2\n"}) == []
