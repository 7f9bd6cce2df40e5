"""Find the interpreter that starts a program, and what is installed editable for it. Nothing is started."""

import contextlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from aigon.git.worktrees import find_record

_HEAD = 512


def find_node(path: str) -> str | None:
    """Return the `node` that starts the program at `path`: a name to look up on PATH, or an absolute path.

    None for a native program, which brings its own. A script of any other kind is taken for one that starts `node`.
    """
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a plain read
            head = file.read(_HEAD)
    except OSError:
        return "node"  # executable but unreadable: nothing is known of it
    if not head.startswith(b"#!"):
        return None if b"\0" in head else "node"
    words = head.split(b"\n", 1)[0][2:].decode("utf-8", "replace").split()
    nodes = (word for word in words if word.rpartition("/")[2] in ("node", "nodejs"))
    interpreter = next(nodes, "node")
    return interpreter if interpreter.startswith("/") else interpreter.rpartition("/")[2]


PROGRAMS = ("python", "python3", "pytest")


def find_editable_installs(main_root: Path, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the distributions that `python`, `python3` and `pytest` on the PATH of `env` import from `main_root`.

    Files alone are read, nothing is started. What lies in a linked worktree inside of `main_root` is not its own.
    """
    programs = filter(None, (shutil.which(name, path=env.get("PATH", os.defpath)) for name in PROGRAMS))
    sites = dict.fromkeys(
        site for found in programs for site in _list_site_folders(_read_interpreter(Path(found)), env)
    )
    installs = (each for site in sites for each in _list_editable(site))
    return tuple(dict.fromkeys(name for name, path in installs if _belongs_to(path, main_root)))


def _read_interpreter(program: Path) -> Path:
    """Return the interpreter that the first line of a script names; any other program is one itself."""
    try:
        with program.open("rb") as file:
            line = file.readline(512)
    except OSError:
        return program
    named = re.match(rb"#!\s*(/\S*python[\d.]*)\s*$", line)
    return Path(os.fsdecode(named[1])) if named else program


def _list_site_folders(python: Path, env: Mapping[str, str]) -> Iterator[Path]:
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


def _list_editable(site: Path) -> Iterator[tuple[str, Path]]:
    """Yield name and place of what is installed editable. A line of a `.pth` file goes by the name of the file."""
    places: list[Path] = []
    for file in sorted(site.glob("*.dist-info/direct_url.json")):
        if place := _read_direct_url(file):
            places.append(place)
            yield file.parent.name.split("-")[0].replace("_", "-"), place
    for file in (*sorted(site.glob("*.egg-link")), *sorted(site.glob("*.pth"))):
        with contextlib.suppress(OSError):
            lines = file.read_text(errors="replace").splitlines()
            for path in (Path(line.strip()) for line in lines if line.startswith("/")):
                if not any(path.is_relative_to(place) for place in places):
                    places.append(path)
                    yield re.sub(r"^__editable__\.|-\d[^-]*$", "", file.stem).replace("_", "-"), path


def _read_direct_url(file: Path) -> Path | None:
    """Return the folder that an editable package was installed from, by what its installer wrote down."""
    try:
        said = json.loads(file.read_bytes())
        url = urlsplit(said["url"])
        editable = said.get("dir_info", {}).get("editable") is True
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return Path(unquote(url.path)) if editable and url.scheme == "file" else None


def _belongs_to(path: Path, root: Path) -> bool:
    real = Path(os.path.realpath(path))
    if not real.is_relative_to(root.resolve()):
        return False
    between = [real, *real.parents][: len(real.relative_to(root.resolve()).parts)]
    return not any(find_record(folder) for folder in between)
