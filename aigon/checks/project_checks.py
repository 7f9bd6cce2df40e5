"""The checks of a project: its profile's, or the validation script that stands in for them, and the spec's own."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from aigon.checks import parsers, projects
from aigon.config.models import Config
from aigon.errors import environment, usage
from aigon.job.options import Options
from aigon.model.checks import ROLES, Check
from aigon.model.criteria import Spec, find_bound_checks
from aigon.profiles.overrides import overridden
from aigon.profiles.profile import CONFIG
from aigon.profiles.resolution import Absent, Resolution
from aigon.text.documents import nearest

DEFAULT_SCRIPT = ".aigon/validation.sh"
SCRIPT_TIMEOUT = 1800.0
"""Seconds for a project's own validation script, which stands for all its checks."""


@dataclass(frozen=True, slots=True)
class Checks:
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


def checks_of(root: Path, config: Config, spec: Spec | None, options: Options, env: Mapping[str, str]) -> Checks:
    """The checks of this project: its profile's, or the validation script in their place, and the spec's own."""
    here = projects.repository(root, env)
    parts = projects.found(here, config, options.profile or config.profile)
    resolution = _configured(_with_servers(projects.together(parts), here, config), here, config)
    script = _script(root, config, parts[0].profile, options)
    replaced = script is not None and config.validation.mode == "replace"
    listed = (*(() if replaced else resolution.checks), *([script] if script else []), *_spec_check(spec))
    _require_own_names(listed)
    _require_parsers(listed)
    folders = {part.folder: part.profile for part in parts} if parts[0].folder != projects.ROOT or parts[1:] else {}
    turns = [seconds for part in parts if (seconds := here.known[part.profile].turn)]
    outputs = (*resolution.outputs, *(_ignore_line(path) for check in listed for path in check.writes if path != "."))
    absent = () if replaced else resolution.absent
    turn = max(turns) if turns else None
    return Checks(parts[0].profile, listed, absent, folders, turn, tuple(dict.fromkeys(outputs)))


def _ignore_line(path: str) -> str:
    """Return the line of .gitignore that keeps such paths out in every folder: `*.egg-info/` for `src/*.egg-info/`."""
    name = path.rstrip("/").rpartition("/")[2]
    return f"{name}/" if path.endswith("/") else name


def unchecked(root: Path, config: Config, checks: Checks, env: Mapping[str, str]) -> tuple[str, ...]:
    """Folders that look like projects of their own, and that are not among those that `checks` speak of."""
    taken = tuple(checks.folders) or (projects.ROOT,)
    taken = (*taken, *map(projects.plain, config.paths))
    return projects.below(projects.repository(root, env), taken)


def _with_servers(resolution: Resolution, here: projects.Repository, config: Config) -> Resolution:
    """With what the configuration asks of the servers of its projects."""
    asked = {projects.plain(folder): each.endpoints for folder, each in config.paths.items() if each.endpoints}
    asked |= {projects.ROOT: config.endpoints} if config.endpoints else {}
    for folder, endpoints in asked.items():
        from aigon.checks.endpoints.check import endpoint_check

        check = endpoint_check(endpoints, here.root, folder, projects.project_in(here, folder))
        name = check.name if folder == projects.ROOT else projects.named_after(check.name, folder)
        absent = tuple(each for each in resolution.absent if not _is_server_of(each, folder, config))
        resolution = replace(resolution, checks=(*resolution.checks, replace(check, name=name)), absent=absent)
    return resolution


def _is_server_of(absent: Absent, folder: str, config: Config) -> bool:
    """Whether it is this project's server that is said not to be asked: the root's is said by no folder."""
    others = {projects.plain(path) for path in config.paths}
    own = absent.ecosystem not in others if folder == projects.ROOT else absent.ecosystem == folder
    return absent.role == "endpoints" and own


def _configured(resolution: Resolution, here: projects.Repository, config: Config) -> Resolution:
    """With what the project's configuration says about its checks."""
    changes = {name: check.model_dump(by_alias=True, exclude_unset=True) for name, check in config.checks.items()}
    return overridden(resolution, changes, here.project, CONFIG) if changes else resolution


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
            hint = nearest(check.parser, parsers.known())
            raise usage(f"There is no parser {check.parser!r} (check {check.name})", where=check.source, hint=hint)


def _require_own_names(checks: tuple[Check, ...]) -> None:
    """Raise AigonError (exit 2) where a check has a name that another one, or aigon itself, goes by."""
    names = [check.name for check in checks]
    for check in checks:
        if names.count(check.name) > 1 or check.name == "git" or check.name.startswith("criterion-"):
            where = f"checks.{check.name} in .aigon/config.json"
            hint = "git and criterion-N are aigon's own, script is the validation script, spec is ## Validation"
            raise usage(f"The name '{check.name}' of a check is taken", where=where, hint=hint)


def _script(root: Path, config: Config, name: str, options: Options) -> Check | None:
    """The validation script: flag, profile's, loop's, then the usual place where it exists."""
    own = config.profiles.get(name)
    configured = (
        (options.validation_script, "--validation-script"),
        (own.validation_script if own else None, f"profiles.{name}.validationScript in .aigon/config.json"),
        (config.ralph.validation_script, "ralph.validationScript in .aigon/config.json"),
    )
    path, source = next(((p, s) for p, s in configured if p), (None, ""))
    if path is None:
        return _script_check(root / DEFAULT_SCRIPT, DEFAULT_SCRIPT) if (root / DEFAULT_SCRIPT).is_file() else None
    found = (root / Path(path).expanduser()).absolute()
    if not found.is_file():
        raise usage(f"The validation script {path} does not exist", where=source, hint="Create it, or name another")
    return _script_check(found, source)


def _script_check(path: Path, source: str) -> Check:
    argv = (str(path),) if os.access(path, os.X_OK) else ("bash", str(path))
    return Check("script", "script", argv, parser="text", timeout=SCRIPT_TIMEOUT, source=source)


def _spec_check(spec: Spec | None) -> tuple[Check, ...]:
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
