"""Stand-in programs on a PATH of their own: git, a shell, and nothing else of the machine that the tests run on."""

import os
import shutil
from pathlib import Path

from aigon.agents.adapters import load_types

TOOLS = ("git", "sh", "cat", "ls", "sleep")


def path_with(folder: Path, **scripts: str) -> str:
    """A PATH with one folder, in which each of `scripts` is an executable that `sh` runs; `_` in a name is `-`."""
    folder.mkdir(parents=True, exist_ok=True)
    for tool in TOOLS:
        place = shutil.which(tool)
        if place and not (folder / tool).exists():
            (folder / tool).symlink_to(place)
    for name, script in scripts.items():
        stand_in(folder / name.replace("_", "-"), script)
    return str(folder)


def stand_in(file: Path, script: str) -> Path:
    """An executable; without a first line of its own it is for `sh`."""
    file.unlink(missing_ok=True)
    file.write_text(script if script.startswith("#!") else f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file


def says(version: str) -> str:
    """A script that prints a version, whatever it is asked."""
    return f"echo '{version}'"


def without_agents(path: str) -> str:
    """`path` without the folders that hold the program of any agent, however this machine is set up."""
    programs = [kind.program for kind in load_types().values() if kind.program]
    folders = [folder for folder in path.split(os.pathsep) if folder]
    return os.pathsep.join(f for f in folders if not any((Path(f) / program).exists() for program in programs))
