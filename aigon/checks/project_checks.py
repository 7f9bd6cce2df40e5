"""The projects of a repository and the checks of each: its profile's, or the validation script in their place."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from aigon.checks import parsers
from aigon.checks.project import ProjectOnDisk
from aigon.config.models import Config
from aigon.config.sections import write_value
from aigon.errors import AigonError, environment, usage
from aigon.files.resources import read_profiles
from aigon.job.options import Options
from aigon.model.checks import ROLES, Check, ProjectReader
from aigon.model.criteria import Spec, find_bound_checks
from aigon.profiles import ecosystem, profile
from aigon.profiles.ecosystem import Ecosystem
from aigon.profiles.profile import CONFIG, Profile
from aigon.profiles.resolution import Absent, Resolution, apply_overrides
from aigon.text.documents import suggest

ROOT = "."
DEFAULT_SCRIPT = ".aigon/validation.sh"
SCRIPT_TIMEOUT = 1800.0
"""Seconds for a project's own validation script, which replaces all its checks."""


class ProjectRepository(Struct, frozen=True):
    """A repository in which projects are looked for, with what is known about profiles."""

    root: Path
    env: Mapping[str, str]
    project: ProjectReader
    known: Mapping[str, Profile]
    ecosystems: tuple[Ecosystem, ...]

    def leave_out(self, folders: Sequence[str]) -> "ProjectRepository":
        """Return the repository with a root project that has no files in these folders."""
        left_out = [folder for folder in folders if folder != ROOT]
        return replace(self, project=ProjectOnDisk(self.root, self.env, without=left_out))


NAME_A_CHECK = 'name one in .aigon/config.json: "checks": {"tests": {"command": "make test"}}'


class ProjectChecks(Struct, frozen=True):
    """The checks of a repository: the root's profile, its checks, and what it does not have.

    `turn` is the longest that an agent's turn may take by these profiles, in seconds, or None. `folders` are the
    profiles of its projects by folder, unless that is just one at the root (`.`); `outputs` are lines for .gitignore
    about what its tools and these checks leave in the work tree.
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
    """Return the checks of this project: its profile's, or the validation script in their place, and the spec's own."""
    here = _open_repository(root, env)
    parts = _find_projects(here, config, options.profile or config.profile)
    each = tuple(parts.values())
    resolution = Resolution(
        each[0].profile,
        tuple(check for part in each for check in part.checks),
        tuple(absent for part in each for absent in part.absent),
        tuple(line for part in each for line in part.outputs),
    )
    resolution = _add_endpoint_checks(resolution, here, config)
    if config.checks:
        changes = {name: write_value(check) for name, check in config.checks.items()}
        resolution = apply_overrides(resolution, changes, here.project, CONFIG)
    script = _find_script(root, config, resolution.profile, options)
    is_replaced = script is not None and config.validation.mode == "replace"
    listed = (*(() if is_replaced else resolution.checks), *([script] if script else []), *_make_spec_checks(spec))
    _require_own_names(listed)
    checks = tuple(_resolve_parser(check, root) for check in listed)
    turns = [seconds for part in each if (seconds := here.known[part.profile].turn)]
    # Lines of .gitignore keep such paths out in every folder: `*.egg-info/` for `src/*.egg-info/`.
    written = (
        f"{path.rstrip('/').rpartition('/')[2]}{'/' if path.endswith('/') else ''}"
        for check in checks
        for path in check.writes
        if path != "."
    )
    return ProjectChecks(
        resolution.profile,
        checks,
        () if is_replaced else resolution.absent,
        {folder: part.profile for folder, part in parts.items()} if [*parts] != [ROOT] else {},
        max(turns, default=None),
        tuple(dict.fromkeys((*resolution.outputs, *written))),
    )


def find_unchecked_folders(
    root: Path, config: Config, checks: ProjectChecks, env: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the folders that look like projects of their own and that `checks` do not cover."""
    covered = {*(checks.folders or (ROOT,)), *map(_normalize_folder, config.paths)}
    return tuple(folder for folder in _list_nested(_open_repository(root, env)) if folder not in covered)


def _open_repository(root: Path, env: Mapping[str, str]) -> ProjectRepository:
    """Return the repository at `root`. Raises AigonError (exit 2) for a malformed profile of its own."""
    shipped, own = read_profiles(), read_profiles(root / ".aigon" / "profiles")
    ecosystems = tuple(profile.load_ecosystems(shipped, own).values())
    return ProjectRepository(root, env, ProjectOnDisk(root, env), profile.load_profiles(shipped, own), ecosystems)


def _list_nested(here: ProjectRepository) -> tuple[str, ...]:
    return ecosystem.find_project_folders(here.project, here.ecosystems)


def _find_projects(here: ProjectRepository, config: Config, wanted: str | None) -> dict[str, Resolution]:
    """Return what the projects have that the configuration names, else those that are found, by folder.

    `wanted` is the root's profile. Checks and folders have the names that they have in the repository.
    Raises AigonError (exit 2) if detection is a tie, and for a folder that does not exist.
    """
    named = {_normalize_folder(folder): each.profile for folder, each in config.paths.items()}
    if named:
        here = here.leave_out(tuple(named))
        root = {ROOT: wanted} if wanted and ROOT not in named else {}
        return {folder: _resolve_folder(here, folder, name) for folder, name in {**root, **named}.items()}
    folders = () if wanted else _list_nested(here)
    if folders:
        # A root that has no tests of its own is no project: what it has beside the projects below is added to theirs.
        rest = _resolve_folder(here.leave_out(folders), ROOT, None)
        has_tests = any(check.role == "tests" for check in rest.checks)
        has_manifest = any(here.project.glob(name) for each in here.ecosystems for name in each.manifests)
        if not (has_tests and has_manifest):
            parts = {ROOT: rest, **{folder: _resolve_folder(here, folder, None) for folder in folders}}
            if checked := {folder: part for folder, part in parts.items() if part.checks}:
                return checked
    return {ROOT: _resolve_folder(here, ROOT, wanted)}


def _resolve_folder(here: ProjectRepository, folder: str, wanted: str | None) -> Resolution:
    project = _open_project(here, folder)
    try:
        if wanted:
            chosen = profile.find_profile(here.known, wanted)
        else:
            chosen = profile.detect_profile(here.known.values(), project)
        resolution = profile.resolve_profile(chosen, project)
    except AigonError as error:
        if folder == ROOT:
            raise
        hint = error.hint
        if not wanted:
            hint = f'Say it there: "paths": {{"{folder}": "PROFILE"}} in {CONFIG}'
            if others := [each for each in _list_nested(here) if each != folder]:
                hint += f", and name the other projects there as well: {', '.join(others)}"
        raise usage(f"{folder}: {error.what}", where=error.where or folder, hint=hint) from None
    if folder != ROOT:
        checks = tuple(
            replace(
                check,
                name=_name_in_folder(check.name, folder),
                cwd=folder if check.cwd == ROOT else f"{folder}/{check.cwd}",
                paths=tuple(f"{folder}/{path}" for path in check.paths),
            )
            for check in resolution.checks
        )
        absent = tuple(replace(each, ecosystem=folder) for each in resolution.absent)
        resolution = replace(resolution, checks=checks, absent=absent)
    return resolution


def _open_project(here: ProjectRepository, folder: str) -> ProjectReader:
    """Return the project in a folder. Raises AigonError (exit 2) if there is no such folder."""
    if folder == ROOT:
        return here.project
    if not (here.root / folder).is_dir() or ".." in folder.split("/") or folder.startswith("/"):
        what, where = f"There is no folder {folder!r} in this repository", f"paths.{folder} in {CONFIG}"
        raise usage(what, where=where, hint="Fix the path, or remove it")
    return ProjectOnDisk(here.root / folder, here.env, above=here.root)


def _normalize_folder(folder: str) -> str:
    """Return a folder as the configuration names it, without dots and a last slash."""
    if folder.startswith("/"):
        return folder
    return "/".join(part for part in folder.split("/") if part not in ("", ".")) or ROOT


def _name_in_folder(name: str, folder: str) -> str:
    return f"{name}-{re.sub(r'[^A-Za-z0-9._-]+', '-', folder).strip('-.')}"


def _add_endpoint_checks(resolution: Resolution, here: ProjectRepository, config: Config) -> Resolution:
    """Add the checks that ask the servers of the projects."""
    folders = {_normalize_folder(folder): each.endpoints for folder, each in config.paths.items()}
    for folder, endpoints in {**folders, **({ROOT: config.endpoints} if config.endpoints else {})}.items():
        if endpoints:
            from aigon.checks.endpoints.check import endpoint_check

            check = endpoint_check(endpoints, here.root, folder, _open_project(here, folder))
            if folder != ROOT:
                check = replace(check, name=_name_in_folder(check.name, folder))
            # What says that the root's server is not asked names no folder.
            absent = tuple(
                each
                for each in resolution.absent
                if each.role != "endpoints"
                or (each.ecosystem in folders if folder == ROOT else each.ecosystem != folder)
            )
            resolution = replace(resolution, checks=(*resolution.checks, check), absent=absent)
    return resolution


def _find_script(root: Path, config: Config, name: str, options: Options) -> Check | None:
    """Return the validation script: the flag's, the profile's, the loop's, or the one at the usual place."""
    own = config.profiles.get(name)
    configured = (
        (options.validation_script, "--validation-script"),
        (own.validation_script if own else None, f"profiles.{name}.validationScript in .aigon/config.json"),
        (config.ralph.validation_script, "ralph.validationScript in .aigon/config.json"),
        (DEFAULT_SCRIPT if (root / DEFAULT_SCRIPT).is_file() else None, DEFAULT_SCRIPT),
    )
    path, source = next(((path, source) for path, source in configured if path), (None, ""))
    if path is None:
        return None
    file = root / DEFAULT_SCRIPT if source == DEFAULT_SCRIPT else (root / Path(path).expanduser()).absolute()
    if not file.is_file():
        raise usage(f"The validation script {path} does not exist", where=source, hint="Create it, or name another")
    argv = (str(file),) if os.access(file, os.X_OK) else ("bash", str(file))
    return Check("script", "script", argv, parser="text", timeout=SCRIPT_TIMEOUT, source=source)


def _make_spec_checks(spec: Spec | None) -> tuple[Check, ...]:
    """Return `## Validation` of the spec as one script, stopped by its first failing line."""
    if spec is None or spec.validation is None:
        return ()
    argv = ("bash", "-e", "-c", spec.validation)
    return (Check("spec", "script", argv, parser="text", timeout=SCRIPT_TIMEOUT, source="## Validation"),)


def _require_own_names(checks: tuple[Check, ...]) -> None:
    """Raise AigonError (exit 2) if a check has a name that another one, or aigon itself, goes by."""
    names = [check.name for check in checks]
    for check in checks:
        if names.count(check.name) > 1 or check.name == "git" or check.name.startswith("criterion-"):
            where = f"checks.{check.name} in .aigon/config.json"
            hint = "git and criterion-N are aigon's own, script is the validation script, spec is ## Validation"
            raise usage(f"The name '{check.name}' of a check is taken", where=where, hint=hint)


def _resolve_parser(check: Check, root: Path) -> Check:
    """Return the check with the path of its parser if that is the project's own.

    Raises AigonError (exit 2) for an unknown or malformed parser: no turn of an agent could fix that.
    """
    name = check.parser
    if not name or name in parsers.list_parsers():
        return check
    path = root.absolute() / ".aigon" / "parsers" / f"{name}.yaml"
    if "/" in name or not path.is_file():
        hint = suggest(name, parsers.list_parsers())
        raise usage(f"There is no parser {name!r} (check {check.name})", where=check.source, hint=hint)
    parsers.load_reader(str(path))
    return replace(check, parser=str(path))


def require_named(spec: Spec, path: str, checks: tuple[Check, ...]) -> None:
    """Raise AigonError (exit 2) for a criterion that misspells a check: it would wait for a person after a paid turn.

    A name that is like no other may come with the feature, and a role may be one that the project does not have yet.
    """
    from difflib import get_close_matches

    names = {check.name: check.role for check in checks}
    for criterion in spec.criteria:
        wanted = criterion.command or ""
        if criterion.kind != "check" or wanted in ROLES or find_bound_checks(wanted, names):
            continue
        if close := get_close_matches(wanted, [*names, *ROLES], n=1, cutoff=0.75):
            what = f"There is no check {wanted!r} for criterion {criterion.number}"
            hint = f"Did you mean {close[0]!r}? Here are: {', '.join(names) or 'none'}"
            raise usage(what, where=f"{path}:{criterion.line}", hint=hint)


def require_tools(checks: tuple[Check, ...]) -> None:
    """Raise AigonError (exit 7) for the checks whose tool is missing, all of them at once, before anything is paid."""
    missing = [check for check in checks if check.missing]
    if missing:
        names = ", ".join(f"{check.missing} (for {check.name})" for check in missing)
        off = f'or turn a check off: "checks": {{"{missing[0].name}": {{"enabled": false}}}} in .aigon/config.json'
        hints = "; ".join(dict.fromkeys([*(check.hint for check in missing if check.hint), off]))
        raise environment(f"Not installed: {names}", where=missing[0].source, hint=hints)
