"""The projects of a repository and the checks of each: its profile's, or the validation script in their place."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from aigon.checks import parsers
from aigon.checks.project import ProjectOnDisk
from aigon.config.models import Config
from aigon.errors import AigonError, environment, usage
from aigon.files.resources import read_profiles
from aigon.job.options import Options
from aigon.model.checks import ROLES, Check, Project
from aigon.model.criteria import Spec, find_bound_checks
from aigon.profiles import ecosystem, profile
from aigon.profiles.ecosystem import Ecosystem
from aigon.profiles.profile import CONFIG, Profile
from aigon.profiles.resolution import Absent, Resolution, apply_overrides
from aigon.text.documents import suggest

ROOT = "."


@dataclass(frozen=True, slots=True)
class FoundProject:
    """A project in `folder`, relative to the repository, under a profile. `resolution` speaks of the whole repository:
    the names of the checks and their folders are those that they have there."""

    folder: str
    profile: str
    resolution: Resolution


@dataclass(frozen=True, slots=True)
class ProjectRepository:
    """Where projects are looked for, and what is known about profiles."""

    root: Path
    env: Mapping[str, str]
    project: Project
    known: Mapping[str, Profile]


def open_repository(root: Path, env: Mapping[str, str]) -> ProjectRepository:
    """The repository at `root`. Raises AigonError (exit 2) for a malformed profile of its own."""
    known = profile.load_profiles(read_profiles(), read_profiles(root / ".aigon" / "profiles"))
    return ProjectRepository(root, env, ProjectOnDisk(root, env), known)


def find_projects(here: ProjectRepository, config: Config, wanted: str | None) -> tuple[FoundProject, ...]:
    """The projects that the configuration names, else those that are found. `wanted` is the root's profile.

    Raises AigonError (exit 2) where detection is a tie, and for a folder that does not exist.
    """
    if config.paths:
        here = _without_folders(here, tuple(map(normalize_folder, config.paths)))
        root = [_resolve_root(here, wanted)] if wanted and ROOT not in map(normalize_folder, config.paths) else []
        return (*root, *(_resolve_folder(here, folder, each.profile) for folder, each in config.paths.items()))
    return (_resolve_root(here, wanted),) if wanted else _detect_projects(here)


def _detect_projects(here: ProjectRepository) -> tuple[FoundProject, ...]:
    """The project at the root, unless it has no tests of its own and there are projects below: then those, and what
    the root has beside them."""
    folders = find_nested_projects(here, ())
    if not folders:
        return (_resolve_root(here, None),)
    root = _resolve_root(_without_folders(here, folders), None)
    if _has_tests(root) and ecosystem.has_root_manifest(here.project, _load_ecosystems(here)):
        return (_resolve_root(here, None),)
    parts = tuple(part for folder in folders if (part := _resolve_folder(here, folder, None)).resolution.checks)
    own = (root,) if root.resolution.checks else ()
    return (*own, *parts) or (_resolve_root(here, None),)


def _without_folders(here: ProjectRepository, folders: Sequence[str]) -> ProjectRepository:
    """The same, where files in these folders are not the root's."""
    return replace(here, project=ProjectOnDisk(here.root, here.env, without=[f for f in folders if f != ROOT]))


def find_nested_projects(here: ProjectRepository, taken: Sequence[str]) -> tuple[str, ...]:
    """Folders with a project of their own that are not among those `taken`."""
    return tuple(
        folder for folder in ecosystem.find_project_folders(here.project, _load_ecosystems(here)) if folder not in taken
    )


def _load_ecosystems(here: ProjectRepository) -> tuple[Ecosystem, ...]:
    return tuple(profile.load_ecosystems(read_profiles(), read_profiles(here.root / ".aigon" / "profiles")).values())


def _has_tests(project: FoundProject) -> bool:
    return any(check.role == "tests" for check in project.resolution.checks)


def _resolve_root(here: ProjectRepository, wanted: str | None) -> FoundProject:
    chosen = (
        profile.find_profile(here.known, wanted)
        if wanted
        else profile.detect_profile(here.known.values(), here.project)
    )
    return FoundProject(ROOT, chosen.name, profile.resolve_profile(chosen, here.project))


def _resolve_folder(here: ProjectRepository, folder: str, wanted: str | None) -> FoundProject:
    folder = normalize_folder(folder)
    if folder == ROOT:
        return _resolve_root(here, wanted)
    project = open_project_in(here, folder)
    try:
        chosen = (
            profile.find_profile(here.known, wanted) if wanted else profile.detect_profile(here.known.values(), project)
        )
        resolution = profile.resolve_profile(chosen, project)
    except AigonError as error:
        every = f"and name the other projects there as well: {', '.join(find_nested_projects(here, (folder,)))}"
        said = f'Say it there: "paths": {{"{folder}": "PROFILE"}} in {profile.CONFIG}'
        hint = error.hint if wanted else f"{said}{f', {every}' if find_nested_projects(here, (folder,)) else ''}"
        raise usage(f"{folder}: {error.what}", where=error.where or folder, hint=hint) from None
    return FoundProject(folder, chosen.name, _move_resolution(resolution, folder))


def open_project_in(here: ProjectRepository, folder: str) -> Project:
    """The project in a folder. Raises AigonError (exit 2) where there is no such folder."""
    if folder == ROOT:
        return here.project
    if not (here.root / folder).is_dir() or ".." in folder.split("/") or folder.startswith("/"):
        what, where = f"There is no folder {folder!r} in this repository", f"paths.{folder} in {profile.CONFIG}"
        raise usage(what, where=where, hint="Fix the path, or remove it")
    return ProjectOnDisk(here.root / folder, here.env, above=here.root)


def normalize_folder(folder: str) -> str:
    """A folder as the configuration names it, without dots and a last slash."""
    if folder.startswith("/"):
        return folder
    return "/".join(part for part in folder.split("/") if part not in ("", ".")) or ROOT


def _move_resolution(resolution: Resolution, folder: str) -> Resolution:
    """The same checks as the repository sees them: in the folder, and named after it."""
    checks = tuple(_move_check(check, folder) for check in resolution.checks)
    absent = tuple(replace(each, ecosystem=folder) for each in resolution.absent)
    return replace(resolution, checks=checks, absent=absent)


def _move_check(check: Check, folder: str) -> Check:
    cwd = folder if check.cwd == ROOT else f"{folder}/{check.cwd}"
    paths = tuple(f"{folder}/{path}" for path in check.paths)
    return replace(check, name=name_in_folder(check.name, folder), cwd=cwd, paths=paths)


def name_in_folder(name: str, folder: str) -> str:
    """What a check of the project in `folder` is called."""
    suffix = re.sub(r"[^A-Za-z0-9._-]+", "-", folder).strip("-.")
    return f"{name}-{suffix}"


def join_resolutions(parts: tuple[FoundProject, ...]) -> Resolution:
    """The checks of all projects of a repository as one resolution, under the name of the first profile."""
    checks = tuple(check for part in parts for check in part.resolution.checks)
    absent: tuple[Absent, ...] = tuple(each for part in parts for each in part.resolution.absent)
    outputs = tuple(line for part in parts for line in part.resolution.outputs)
    return Resolution(parts[0].profile, checks, absent, outputs)


DEFAULT_SCRIPT = ".aigon/validation.sh"
SCRIPT_TIMEOUT = 1800.0
"""Seconds for a project's own validation script, which stands for all its checks."""


@dataclass(frozen=True, slots=True)
class ProjectChecks:
    """What a repository is checked by: the root's profile, its checks, and what it does not have.

    `turn` is the longest that an agent's turn may take by these profiles, in seconds; None where none says.
    `folders` are the profiles of its projects by folder, where that is not just one at the root (`.`); `outputs` are
    lines for .gitignore about what its tools and these checks leave in the work tree.
    """

    profile: str
    checks: tuple[Check, ...]
    absent: tuple[Absent, ...]
    folders: Mapping[str, str] = field(default_factory=dict)
    turn: float | None = None
    outputs: tuple[str, ...] = ()


def resolve_checks(
    root: Path, config: Config, spec: Spec | None, options: Options, env: Mapping[str, str]
) -> ProjectChecks:
    """The checks of this project: its profile's, or the validation script in their place, and the spec's own."""
    here = open_repository(root, env)
    parts = find_projects(here, config, options.profile or config.profile)
    resolution = _apply_configuration(_add_endpoint_checks(join_resolutions(parts), here, config), here, config)
    script = _find_script(root, config, parts[0].profile, options)
    replaced = script is not None and config.validation.mode == "replace"
    listed = (*(() if replaced else resolution.checks), *([script] if script else []), *_make_spec_checks(spec))
    _require_own_names(listed)
    _require_parsers(listed)
    folders = {part.folder: part.profile for part in parts} if parts[0].folder != ROOT or parts[1:] else {}
    turns = [seconds for part in parts if (seconds := here.known[part.profile].turn)]
    outputs = (*resolution.outputs, *(_ignore_line(path) for check in listed for path in check.writes if path != "."))
    absent = () if replaced else resolution.absent
    turn = max(turns) if turns else None
    return ProjectChecks(parts[0].profile, listed, absent, folders, turn, tuple(dict.fromkeys(outputs)))


def _ignore_line(path: str) -> str:
    """Return the line of .gitignore that keeps such paths out in every folder: `*.egg-info/` for `src/*.egg-info/`."""
    name = path.rstrip("/").rpartition("/")[2]
    return f"{name}/" if path.endswith("/") else name


def find_unchecked_folders(
    root: Path, config: Config, checks: ProjectChecks, env: Mapping[str, str]
) -> tuple[str, ...]:
    """Folders that look like projects of their own, and that are not among those that `checks` speak of."""
    taken = tuple(checks.folders) or (ROOT,)
    taken = (*taken, *map(normalize_folder, config.paths))
    return find_nested_projects(open_repository(root, env), taken)


def _add_endpoint_checks(resolution: Resolution, here: ProjectRepository, config: Config) -> Resolution:
    """With what the configuration asks of the servers of its projects."""
    asked = {normalize_folder(folder): each.endpoints for folder, each in config.paths.items() if each.endpoints}
    asked |= {ROOT: config.endpoints} if config.endpoints else {}
    for folder, endpoints in asked.items():
        from aigon.checks.endpoints.check import endpoint_check

        check = endpoint_check(endpoints, here.root, folder, open_project_in(here, folder))
        name = check.name if folder == ROOT else name_in_folder(check.name, folder)
        absent = tuple(each for each in resolution.absent if not _is_about_server(each, folder, config))
        resolution = replace(resolution, checks=(*resolution.checks, replace(check, name=name)), absent=absent)
    return resolution


def _is_about_server(absent: Absent, folder: str, config: Config) -> bool:
    """Whether it is this project's server that is said not to be asked: the root's is said by no folder."""
    others = {normalize_folder(path) for path in config.paths}
    own = absent.ecosystem not in others if folder == ROOT else absent.ecosystem == folder
    return absent.role == "endpoints" and own


def _apply_configuration(resolution: Resolution, here: ProjectRepository, config: Config) -> Resolution:
    """With what the project's configuration says about its checks."""
    changes = {name: check.model_dump(by_alias=True, exclude_unset=True) for name, check in config.checks.items()}
    return apply_overrides(resolution, changes, here.project, CONFIG) if changes else resolution


def require_named(spec: Spec, path: str, checks: tuple[Check, ...]) -> None:
    """Raise AigonError (exit 2) for a criterion that misspells a check: it would wait for a person after a paid turn.

    A name that is like no other may come with the feature, and a role may be one that the project does not have yet.
    """
    from difflib import get_close_matches

    names = {check.name: check.role for check in checks}
    for each in spec.criteria:
        wanted = each.command or ""
        if each.kind != "check" or wanted in ROLES or find_bound_checks(wanted, names):
            continue
        if close := get_close_matches(wanted, [*names, *ROLES], n=1, cutoff=0.75):
            hint = f"Did you mean {close[0]!r}? Here are: {', '.join(names) or 'none'}"
            raise usage(
                f"There is no check {wanted!r} for criterion {each.number}", where=f"{path}:{each.line}", hint=hint
            )


def _require_parsers(checks: tuple[Check, ...]) -> None:
    """Raise AigonError (exit 2) for a parser that there is not: no turn of an agent could mend that."""
    for check in checks:
        if check.parser and check.parser not in parsers.known():
            hint = suggest(check.parser, parsers.known())
            raise usage(f"There is no parser {check.parser!r} (check {check.name})", where=check.source, hint=hint)


def _require_own_names(checks: tuple[Check, ...]) -> None:
    """Raise AigonError (exit 2) where a check has a name that another one, or aigon itself, goes by."""
    names = [check.name for check in checks]
    for check in checks:
        if names.count(check.name) > 1 or check.name == "git" or check.name.startswith("criterion-"):
            where = f"checks.{check.name} in .aigon/config.json"
            hint = "git and criterion-N are aigon's own, script is the validation script, spec is ## Validation"
            raise usage(f"The name '{check.name}' of a check is taken", where=where, hint=hint)


def _find_script(root: Path, config: Config, name: str, options: Options) -> Check | None:
    """The validation script: flag, profile's, loop's, then the usual place where it exists."""
    own = config.profiles.get(name)
    configured = (
        (options.validation_script, "--validation-script"),
        (own.validation_script if own else None, f"profiles.{name}.validationScript in .aigon/config.json"),
        (config.ralph.validation_script, "ralph.validationScript in .aigon/config.json"),
    )
    path, source = next(((p, s) for p, s in configured if p), (None, ""))
    if path is None:
        return _make_script_check(root / DEFAULT_SCRIPT, DEFAULT_SCRIPT) if (root / DEFAULT_SCRIPT).is_file() else None
    found = (root / Path(path).expanduser()).absolute()
    if not found.is_file():
        raise usage(f"The validation script {path} does not exist", where=source, hint="Create it, or name another")
    return _make_script_check(found, source)


def _make_script_check(path: Path, source: str) -> Check:
    argv = (str(path),) if os.access(path, os.X_OK) else ("bash", str(path))
    return Check("script", "script", argv, parser="text", timeout=SCRIPT_TIMEOUT, source=source)


def _make_spec_checks(spec: Spec | None) -> tuple[Check, ...]:
    """`## Validation` of the spec: one script, stopped by its first failing line."""
    if spec is None or spec.validation is None:
        return ()
    argv = ("bash", "-e", "-c", spec.validation)
    return (Check("spec", "script", argv, parser="text", timeout=SCRIPT_TIMEOUT, source="## Validation"),)


def require_tools(checks: tuple[Check, ...]) -> None:
    """Raise AigonError (exit 7) for the checks whose tool is missing, all of them at once, before anything is paid."""
    missing = [check for check in checks if check.missing]
    if not missing:
        return
    names = ", ".join(f"{check.missing} (for {check.name})" for check in missing)
    hints = "; ".join(dict.fromkeys(check.hint for check in missing if check.hint))
    off = f'or turn a check off: "checks": {{"{missing[0].name}": {{"enabled": false}}}} in .aigon/config.json'
    raise environment(f"Not installed: {names}", where=missing[0].source, hint=f"{hints}; {off}" if hints else off)
