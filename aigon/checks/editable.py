"""Python packages that are installed editable from a checkout: whoever imports them tests that checkout's files."""

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from aigon.git.worktrees import record_of

PROGRAMS = ("python", "python3", "pytest")


def installed_from(main_root: Path, env: Mapping[str, str]) -> tuple[str, ...]:
    """Distributions that the `python`, `python3` and `pytest` on the PATH of `env` import from within `main_root`.

    Files alone are read, nothing is started. What lies in a linked worktree inside of `main_root` is not its own.
    """
    sites = dict.fromkeys(site for name in PROGRAMS for site in _sites(name, env))
    found = [(name, path) for site in sites for name, path in _editable(site)]
    return tuple(dict.fromkeys(name for name, path in found if _is_of(path, main_root)))


def _sites(program: str, env: Mapping[str, str]) -> Iterator[Path]:
    """The folders of packages of the interpreter that a program is, or that it is a script of."""
    if found := shutil.which(program, path=env.get("PATH", os.defpath)):
        interpreter = _interpreter(Path(found))
        yield from _of_interpreter(interpreter, env)


def _interpreter(program: Path) -> Path:
    """The first line of a script names its interpreter; anything else is one itself."""
    try:
        with program.open("rb") as file:
            line = file.readline(512)
    except OSError:
        return program
    named = re.match(rb"#!\s*(/\S*python[\d.]*)\s*$", line)
    return Path(os.fsdecode(named[1])) if named else program


def _of_interpreter(python: Path, env: Mapping[str, str]) -> Iterator[Path]:
    prefix = python.parent.parent
    settings = prefix / "pyvenv.cfg"
    if settings.is_file():
        yield from prefix.glob("lib/python3*/site-packages")
        if not re.search(r"(?im)^\s*include-system-site-packages\s*=\s*true", settings.read_text(errors="replace")):
            return
    real = Path(os.path.realpath(python))
    version = re.search(r"python(3\.\d+)", real.name)
    number = version[1] if version else "3*"
    for each in dict.fromkeys((real.parent.parent, *([] if settings.is_file() else [prefix]))):
        for lib in (f"lib/python{number}", f"local/lib/python{number}", "lib/python3"):
            yield from (*each.glob(f"{lib}/site-packages"), *each.glob(f"{lib}/dist-packages"))
    home = env.get("PYTHONUSERBASE") or f"{env.get('HOME', '')}/.local"
    yield from Path(home).glob(f"lib/python{number}/site-packages")


def _editable(site: Path) -> Iterator[tuple[str, Path]]:
    """Name and place of what is installed editable; of what only a line of a `.pth` file tells, the file's name."""
    places: list[Path] = []
    for file in sorted(site.glob("*.dist-info/direct_url.json")):
        if place := _direct(file):
            places.append(place)
            yield file.parent.name.split("-")[0].replace("_", "-"), place
    for file in (*sorted(site.glob("*.egg-link")), *sorted(site.glob("*.pth"))):
        for line in _lines(file):
            if not any(line.is_relative_to(place) for place in places):
                places.append(line)
                yield re.sub(r"^__editable__\.|-\d[^-]*$", "", file.stem).replace("_", "-"), line


def _direct(file: Path) -> Path | None:
    """The folder that an editable package was installed from, by what its installer wrote down."""
    try:
        said = json.loads(file.read_bytes())
        url = urlsplit(said["url"])
        editable = said.get("dir_info", {}).get("editable") is True
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return Path(unquote(url.path)) if editable and url.scheme == "file" else None


def _lines(file: Path) -> list[Path]:
    try:
        lines = file.read_text(errors="replace").splitlines()
    except OSError:
        return []
    return [Path(line.strip()) for line in lines if line.startswith("/")]


def _is_of(path: Path, root: Path) -> bool:
    real = Path(os.path.realpath(path))
    if not real.is_relative_to(root.resolve()):
        return False
    between = [real, *real.parents][: len(real.relative_to(root.resolve()).parts)]
    return not any(record_of(folder) for folder in between)
