"""Packages that are installed editable from the main checkout, by the files that installers leave."""

import json
import os
import sys
from pathlib import Path

import pytest

from aigon.checks.project import find_editable_installs


@pytest.fixture
def main(tmp_path: Path) -> Path:
    """A main checkout."""
    (tmp_path / "main/src").mkdir(parents=True)
    return tmp_path / "main"


def venv(folder: Path, *, program: str = "python") -> Path:
    """A virtual environment as far as files show it; its folder of packages."""
    (folder / "bin").mkdir(parents=True, exist_ok=True)
    (folder / "pyvenv.cfg").write_text("home = /usr/bin\n")
    if not (folder / "bin" / program).exists():
        (folder / "bin" / program).symlink_to(sys.executable)
    site = folder / "lib/python3.11/site-packages"
    site.mkdir(parents=True, exist_ok=True)
    return site


def install(site: Path, name: str, place: Path, *, editable: bool = True) -> None:
    """What pip and uv leave."""
    info = site / f"{name}-1.0.dist-info"
    info.mkdir()
    said = {"url": place.as_uri(), "dir_info": {"editable": True} if editable else {}}
    (info / "direct_url.json").write_text(json.dumps(said))


def env(*folders: Path) -> dict[str, str]:
    """An environment in which programs are found in these folders alone."""
    return {"PATH": os.pathsep.join(str(folder / "bin") for folder in folders), "HOME": "/nowhere"}


def test_a_package_that_is_installed_editable_from_the_checkout_is_named(main: Path, tmp_path: Path) -> None:
    site = venv(tmp_path / "venv")
    install(site, "my_app", main)
    install(site, "plugin", main / "plugins/one")
    install(site, "copied", main, editable=False)
    install(site, "other", tmp_path / "other")
    (site / "broken-1.dist-info").mkdir()
    (site / "broken-1.dist-info/direct_url.json").write_text("[1]")
    (site / "__editable__.my_app-1.0.pth").write_text(f"{main}/src\n")
    assert find_editable_installs(main, env(tmp_path / "venv")) == ("my-app", "plugin")


@pytest.mark.parametrize("name", ["old-app.egg-link", "__editable__.old_app-1.0.pth", "old_app.pth"])
def test_older_ways_are_seen_too(main: Path, tmp_path: Path, name: str) -> None:
    (venv(tmp_path / "venv") / name).write_text(f"{main}/src\n.\n")
    assert find_editable_installs(main, env(tmp_path / "venv")) == ("old-app",)


def test_only_what_the_path_leads_to_counts(main: Path, tmp_path: Path) -> None:
    install(venv(tmp_path / "first"), "fine", tmp_path / "other")
    install(venv(tmp_path / "second"), "shadowed", main)
    assert find_editable_installs(main, env(tmp_path / "first", tmp_path / "second")) == ()
    assert find_editable_installs(main, env(tmp_path / "second", tmp_path / "first")) == ("shadowed",)


def test_pytest_is_the_interpreter_that_its_first_line_names(main: Path, tmp_path: Path) -> None:
    install(venv(tmp_path / "tools"), "mine", main)
    script = tmp_path / "scripts/bin/pytest"
    script.parent.mkdir(parents=True)
    script.write_text(f"#!{tmp_path}/tools/bin/python\nimport pytest\n")
    script.chmod(0o755)
    assert find_editable_installs(main, env(tmp_path / "scripts")) == ("mine",)


def test_a_link_to_the_main_checkouts_environment_is_followed(main: Path, tmp_path: Path) -> None:
    install(venv(main / ".venv"), "mine", main)
    (tmp_path / "worktree").mkdir()
    (tmp_path / "worktree/.venv").symlink_to(main / ".venv")
    assert find_editable_installs(main, env(tmp_path / "worktree/.venv")) == ("mine",)


def test_a_worktree_inside_of_the_checkout_is_not_the_checkout(main: Path) -> None:
    inside = main / ".trees/one"
    inside.mkdir(parents=True)
    (inside / ".git").write_text(f"gitdir: {main}/.git/worktrees/one\n")
    install(venv(inside / ".venv"), "mine", inside)
    assert find_editable_installs(main, env(inside / ".venv")) == ()


def test_without_python_nothing_is_found(main: Path) -> None:
    assert find_editable_installs(main, {"PATH": str(main)}) == ()
