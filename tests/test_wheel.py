"""The wheel, installed into a fresh environment, holds all that aigon needs: the demo runs from it.

The dependencies come from the environment of the tests, so that nothing is downloaded; aigon itself does not.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from aigon.cli import VERBS
from tests import transcript
from tests.lab import scrubbed

ROOT = Path(__file__).parents[1]
DATA = ("profiles", "templates", ".aigon.example")
LEFT_OUT = ("aigon", "_editable_impl_aigon", "__editable__", "__pycache__")
pytestmark = pytest.mark.long


def both(*command: str, cwd: Path, env: dict[str, str]) -> tuple[str, str]:
    """Standard output and standard error of a command that succeeds."""
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout, done.stderr


def run(*command: str, cwd: Path, env: dict[str, str]) -> str:
    """Standard output of a command that succeeds."""
    return both(*command, cwd=cwd, env=env)[0]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of a copy of the sources, so that building leaves nothing behind."""
    folder = tmp_path_factory.mktemp("wheel")
    junk = shutil.ignore_patterns(".git", ".venv", ".*_cache", ".hypothesis", "__pycache__", "dist", "build")
    sources = shutil.copytree(ROOT, folder / "sources", ignore=junk)
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--wheel-dir", str(folder))
    run(sys.executable, "-m", "pip", "wheel", *options, str(sources), cwd=folder, env=scrubbed(folder))
    (built,) = folder.glob("aigon-*.whl")
    return built


def test_the_wheel_has_a_man_page_for_every_command(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        pages = {name.partition(".data/data/")[2] for name in archive.namelist()} - {""}
    assert pages == {f"share/man/man1/{name}.1" for name in ("aigon", *(f"aigon-{verb}" for verb in VERBS))}


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel in it."""
    folder = tmp_path_factory.mktemp("installed")
    environment = folder / "env"
    venv.create(environment, symlinks=True)
    _link_dependencies(environment)
    pip = (sys.executable, "-m", "pip", "--python", str(environment / "bin" / "python"), "install", "--quiet")
    run(*pip, "--no-index", "--no-deps", str(wheel), cwd=folder, env=scrubbed(folder))
    return environment


def _link_dependencies(environment: Path) -> None:
    """Every package of this interpreter but aigon itself, and the one dependency that is a program.

    A symbolic link would lead out of the environment, and into a folder that a sandbox hides if this one is in /tmp.
    """
    (target,) = environment.glob("lib/python3*/site-packages")
    for source in {Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")}:
        for entry in source.iterdir():
            if not entry.name.startswith(LEFT_OUT) and entry.suffix != ".pth":
                if entry.is_dir():
                    shutil.copytree(entry, target / entry.name, copy_function=_link)
                else:
                    _link(entry, target / entry.name)
    ruff = shutil.which("ruff", path=os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]]))
    assert ruff, "ruff is a dependency of aigon"
    _link(ruff, environment / "bin" / "ruff")


def _link(source: str | Path, target: str | Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


def test_the_wheel_holds_every_file_of_the_data_folders(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    files = [path for folder in DATA for path in sorted((ROOT / folder).rglob("*")) if path.is_file()]
    wanted = [f"aigon/_data/{path.relative_to(ROOT)}" for path in files if "__pycache__" not in path.parts]
    assert len(wanted) > 20
    assert [name for name in wanted if name not in inside] == []


@pytest.mark.slow  # by default: the files of the wheel, above
def test_aigon_and_its_data_come_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    code = (
        "import json, aigon; from aigon.files.resources import find_resource, read_profiles; "
        f"places = [str(find_resource(name)) for name in {DATA}]; "
        "print(json.dumps([aigon.__file__, *places])); assert 'library' in read_profiles()"
    )
    places = json.loads(run(str(installed / "bin" / "python"), "-c", code, cwd=tmp_path, env=scrubbed(tmp_path)))
    assert [place for place in places if not Path(place).is_relative_to(installed)] == []


@pytest.mark.slow
def test_the_demo_of_an_installed_wheel_ends_proven_and_says_what_the_readme_shows(
    installed: Path, tmp_path: Path
) -> None:
    folder, home = tmp_path / "demo", tmp_path / "home"
    home.mkdir()
    env = scrubbed(home, PATH=os.defpath)
    aigon = str(installed / "bin" / "aigon")
    out, said = both(aigon, "demo", "--json", "--dir", str(folder), cwd=tmp_path, env=env)
    document = json.loads(out)
    assert (document["outcome"], document["exit_code"]) == ("met", 0)
    _shown_in_order(said + document["summary"])
    subjects = run("git", "log", "--format=%s", "main..", cwd=folder, env=env).splitlines()
    assert len([subject for subject in subjects if "iteration" in subject]) >= 3
    boxes = _boxes(folder, env)
    assert len(boxes) >= 5
    assert set(boxes) == {"x"}
    assert run("git", "status", "--porcelain", cwd=folder, env=env) == ""
    assert run("git", "fsck", "--full", "--strict", "--no-dangling", cwd=folder, env=env) == ""


def _shown_in_order(said: str) -> None:
    """Every line of the excerpt in README.md occurs, one after the other; `...` stands for lines left out."""
    section = transcript.section((ROOT / "README.md").read_text(encoding="utf-8"), "See it work")
    (excerpt,) = re.findall(r"(?ms)^```text\n(.*?)^```$", section)
    assert transcript.missing_lines(excerpt, said) == []


def _boxes(folder: Path, env: dict[str, str]) -> str:
    (spec,) = folder.glob("docs/specs/features/03-in-progress/feature-*.md")
    text = run("git", "show", f"HEAD:{spec.relative_to(folder)}", cwd=folder, env=env)
    return "".join(line[3] for line in text.splitlines() if line.startswith("- ["))
