"""Small projects on disk for tests: files with text, and programs that can be found."""

import json
from collections.abc import Mapping
from pathlib import Path

from aigon.checks.project import ProjectOnDisk
from aigon.files.resources import read_profiles
from aigon.model.checks import Check
from aigon.profiles.profile import CONFIG, Profile, detect_profile, load_profiles, resolve_profile
from aigon.profiles.resolution import Resolution, apply_overrides


def files(root: Path, contents: Mapping[str, str]) -> None:
    """Write each file, with the folders it needs."""
    for name, text in contents.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def program(path: Path, script: str = "exit 0") -> str:
    """An executable shell script at `path`."""
    files(path.parent, {path.name: f"#!/bin/sh\n{script}\n"})
    path.chmod(0o755)
    return str(path)


def environment(folder: Path, *modules: str) -> None:
    """What a virtual environment with these modules looks like. Its interpreter finds no others."""
    program(folder / "bin/python", "exit 1")
    files(folder, {"pyvenv.cfg": ""} | {f"lib/python3.11/site-packages/{m}/__init__.py": "" for m in modules})


def package(root: Path, **content: object) -> None:
    """A `package.json` with this content."""
    files(root, {"package.json": json.dumps(content)})


def managers(root: Path) -> None:
    """Every package manager and node, in the folder that `resolved` takes for PATH."""
    for name in ("npm", "pnpm", "yarn", "bun", "node"):
        program(root / "bin" / name)


def shipped() -> dict[str, Profile]:
    """The profiles that ship with aigon."""
    return load_profiles(read_profiles(), {})


def resolved(root: Path, overrides: Mapping[str, object] | None = None, path: str = "") -> Resolution:
    """The checks of the project at `root` under the shipped profile that is detected, with `path` as PATH."""
    project = ProjectOnDisk(root, {"PATH": path or f"{root}/bin"})
    resolution = resolve_profile(detect_profile(shipped().values(), project), project)
    return apply_overrides(resolution, overrides, project, CONFIG) if overrides else resolution


def check(resolution: Resolution, name: str) -> Check:
    """The check called `name`."""
    return next(check for check in resolution.checks if check.name == name)


def names(resolution: Resolution) -> list[str]:
    """The names of the checks."""
    return [check.name for check in resolution.checks]
