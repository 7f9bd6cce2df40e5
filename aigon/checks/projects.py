"""The projects of a repository, each with the profile and the checks that it has: mostly one, at the root."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from aigon.checks.project import ProjectOnDisk
from aigon.config.models import Config
from aigon.errors import AigonError, usage
from aigon.files.resources import profiles
from aigon.model.checks import Check, Project
from aigon.profiles import places, profile
from aigon.profiles.ecosystem import Ecosystem
from aigon.profiles.profile import Profile
from aigon.profiles.resolution import Absent, Resolution

ROOT = "."


@dataclass(frozen=True, slots=True)
class Found:
    """A project in `folder`, relative to the repository, under a profile. `resolution` speaks of the whole repository:
    the names of the checks and their folders are those that they have there."""

    folder: str
    profile: str
    resolution: Resolution


@dataclass(frozen=True, slots=True)
class Repository:
    """Where projects are looked for, and what is known about profiles."""

    root: Path
    env: Mapping[str, str]
    project: Project
    known: Mapping[str, Profile]


def repository(root: Path, env: Mapping[str, str]) -> Repository:
    """The repository at `root`. Raises AigonError (exit 2) for a malformed profile of its own."""
    known = profile.available(profiles(), profiles(root / ".aigon" / "profiles"))
    return Repository(root, env, ProjectOnDisk(root, env), known)


def found(here: Repository, config: Config, wanted: str | None) -> tuple[Found, ...]:
    """The projects that the configuration names, else those that are found. `wanted` is the root's profile.

    Raises AigonError (exit 2) where detection is a tie, and for a folder that does not exist.
    """
    if config.paths:
        here = _without(here, tuple(map(plain, config.paths)))
        root = [_at_root(here, wanted)] if wanted and ROOT not in map(plain, config.paths) else []
        return (*root, *(_named(here, folder, each.profile) for folder, each in config.paths.items()))
    return (_at_root(here, wanted),) if wanted else _detected(here)


def _detected(here: Repository) -> tuple[Found, ...]:
    """The project at the root, unless it has no tests of its own and there are projects below: then those, and what
    the root has beside them."""
    folders = below(here, ())
    if not folders:
        return (_at_root(here, None),)
    root = _at_root(_without(here, folders), None)
    if _tested(root) and places.at_root(here.project, _ecosystems(here)):
        return (_at_root(here, None),)
    parts = tuple(part for folder in folders if (part := _named(here, folder, None)).resolution.checks)
    own = (root,) if root.resolution.checks else ()
    return (*own, *parts) or (_at_root(here, None),)


def _without(here: Repository, folders: Sequence[str]) -> Repository:
    """The same, where files in these folders are not the root's."""
    return replace(here, project=ProjectOnDisk(here.root, here.env, without=[f for f in folders if f != ROOT]))


def below(here: Repository, taken: Sequence[str]) -> tuple[str, ...]:
    """Folders with a project of their own that are not among those `taken`."""
    return tuple(folder for folder in places.folders(here.project, _ecosystems(here)) if folder not in taken)


def _ecosystems(here: Repository) -> tuple[Ecosystem, ...]:
    return tuple(profile.shared_parts(profiles(), profiles(here.root / ".aigon" / "profiles")).values())


def _tested(project: Found) -> bool:
    return any(check.role == "tests" for check in project.resolution.checks)


def _at_root(here: Repository, wanted: str | None) -> Found:
    chosen = profile.named(here.known, wanted) if wanted else profile.detect(here.known.values(), here.project)
    return Found(ROOT, chosen.name, profile.resolve(chosen, here.project))


def _named(here: Repository, folder: str, wanted: str | None) -> Found:
    folder = plain(folder)
    if folder == ROOT:
        return _at_root(here, wanted)
    project = project_in(here, folder)
    try:
        chosen = profile.named(here.known, wanted) if wanted else profile.detect(here.known.values(), project)
        resolution = profile.resolve(chosen, project)
    except AigonError as error:
        every = f"and name the other projects there as well: {', '.join(below(here, (folder,)))}"
        said = f'Say it there: "paths": {{"{folder}": "PROFILE"}} in {profile.CONFIG}'
        hint = error.hint if wanted else f"{said}{f', {every}' if below(here, (folder,)) else ''}"
        raise usage(f"{folder}: {error.what}", where=error.where or folder, hint=hint) from None
    return Found(folder, chosen.name, _moved(resolution, folder))


def project_in(here: Repository, folder: str) -> Project:
    """The project in a folder. Raises AigonError (exit 2) where there is no such folder."""
    if folder == ROOT:
        return here.project
    if not (here.root / folder).is_dir() or ".." in folder.split("/") or folder.startswith("/"):
        what, where = f"There is no folder {folder!r} in this repository", f"paths.{folder} in {profile.CONFIG}"
        raise usage(what, where=where, hint="Fix the path, or remove it")
    return ProjectOnDisk(here.root / folder, here.env, above=here.root)


def plain(folder: str) -> str:
    """A folder as the configuration names it, without dots and a last slash."""
    if folder.startswith("/"):
        return folder
    return "/".join(part for part in folder.split("/") if part not in ("", ".")) or ROOT


def _moved(resolution: Resolution, folder: str) -> Resolution:
    """The same checks as the repository sees them: in the folder, and named after it."""
    checks = tuple(_in_folder(check, folder) for check in resolution.checks)
    absent = tuple(replace(each, ecosystem=folder) for each in resolution.absent)
    return replace(resolution, checks=checks, absent=absent)


def _in_folder(check: Check, folder: str) -> Check:
    cwd = folder if check.cwd == ROOT else f"{folder}/{check.cwd}"
    paths = tuple(f"{folder}/{path}" for path in check.paths)
    return replace(check, name=named_after(check.name, folder), cwd=cwd, paths=paths)


def named_after(name: str, folder: str) -> str:
    """What a check of the project in `folder` is called."""
    suffix = re.sub(r"[^A-Za-z0-9._-]+", "-", folder).strip("-.")
    return f"{name}-{suffix}"


def together(parts: tuple[Found, ...]) -> Resolution:
    """The checks of all projects of a repository as one resolution, under the name of the first profile."""
    checks = tuple(check for part in parts for check in part.resolution.checks)
    absent: tuple[Absent, ...] = tuple(each for part in parts for each in part.resolution.absent)
    outputs = tuple(line for part in parts for line in part.resolution.outputs)
    return Resolution(parts[0].profile, checks, absent, outputs)
