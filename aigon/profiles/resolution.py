"""From what an ecosystem offers for a role, and what the project's configuration says, to its checks."""

import re
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from aigon.errors import usage
from aigon.model.checks import ROLES, Check, ProjectReader, Role
from aigon.profiles.ecosystem import PLACEHOLDER, SETTINGS, CommandCandidate, Ecosystem, RoleChoice, find_role
from aigon.text.documents import DocumentNode, suggest
from aigon.text.patterns import compile_re

TIMEOUT = 600.0
"""Seconds for a check where no data says more."""
_CHECK_NAME = compile_re(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class Absent(Struct, frozen=True):
    """A check that this project does not have, and why: said by `init` and `--dry-run`. Absent is not skipped."""

    role: Role
    why: str
    ecosystem: str = ""


def describe_absent(absent: Iterable[Absent]) -> list[str]:
    """Return what is absent in words, a line per reason."""
    return [
        f"no {', '.join(each.role for each in alike)}{f' ({ecosystem})' if ecosystem else ''}: {why}"
        for (why, ecosystem), alike in groupby(absent, key=lambda each: (each.why, each.ecosystem))
    ]


class Resolution(Struct, frozen=True):
    """The checks of a project under a profile, by role, and what it does not have.

    `outputs` are lines for .gitignore about what the tools of its ecosystems leave, in a run or outside of one.
    """

    profile: str
    checks: tuple[Check, ...]
    absent: tuple[Absent, ...]
    outputs: tuple[str, ...] = ()


def choose_check(
    choice: RoleChoice, ecosystem: Ecosystem, project: ProjectReader, timeout: float | None
) -> Check | Absent:
    """Return the check of the first candidate that fits. `timeout` (seconds) is the profile's word and wins."""
    candidate = next((each for each in choice.candidates if each.condition(project)), None)
    if candidate is None:
        return Absent(choice.role, choice.absent, ecosystem.title)
    variables = {
        name: next((value for condition, value in choices if condition(project)), "")
        for name, choices in ecosystem.variables.items()
    }
    argv = fill_arguments(candidate.argv, project, variables)
    missing, hint = _find_missing(candidate, argv, project)
    settings = {"timeout": TIMEOUT, **candidate.settings, **({"timeout": timeout} if timeout else {})}
    return Check(
        choice.name,
        choice.role,
        locate_program(argv, project),
        source=ecosystem.file,
        missing=missing,
        hint=_fill_placeholders(hint, project, variables),
        **settings,
    )


def fill_arguments(argv: tuple[str, ...], project: ProjectReader, variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return `argv` with its placeholders filled; an argument that only a placeholder made empty is left out."""
    pairs = ((each, _fill_placeholders(each, project, variables)) for each in argv)
    return tuple(full for each, full in pairs if full or not each)


def _fill_placeholders(text: str, project: ProjectReader, variables: Mapping[str, str]) -> str:
    """Replace all placeholders but `{report}` and `{scratch}`, which are filled in when the check runs."""

    def fill(match: re.Match[str]) -> str:
        name, tool = match.groups()
        if name == "tool" and tool:
            return project.tool(tool) or tool
        return project.python() or "python3" if name == "python" else variables.get(name, match[0])

    return PLACEHOLDER.sub(fill, text)


def locate_program(argv: tuple[str, ...], project: ProjectReader) -> tuple[str, ...]:
    """Return `argv` with the place of its program now, so that what an agent leaves on PATH changes nothing."""
    return (argv[0] if "/" in argv[0] else project.tool(argv[0]) or argv[0], *argv[1:])


def _find_missing(candidate: CommandCandidate, argv: tuple[str, ...], project: ProjectReader) -> tuple[str, str]:
    """Return the first thing that is not installed, and how to get it; two empty texts when all is there."""
    for name in find_missing_programs(argv, candidate.argv, project):
        return name, candidate.hint or f"Install {name} and put it on PATH"
    lacking = (need for need in candidate.needs if not need.condition(project))
    return next(((need.name, need.hint) for need in lacking), ("", ""))


def find_missing_programs(argv: tuple[str, ...], template: tuple[str, ...], project: ProjectReader) -> list[str]:
    """Return the programs of a command that are not there: the tools its template names, and the one it starts."""
    named = [m[2] for each in template for m in PLACEHOLDER.finditer(each) if m[2]]
    started = [] if "/" in argv[0] else [argv[0]]
    return [name for name in (*named, *started) if project.tool(name) is None]


def apply_overrides(
    resolution: Resolution, checks: Mapping[str, object], project: ProjectReader, file: str
) -> Resolution:
    """Return `resolution` with changed, added and removed checks. `checks` is the key of that name of `file`.

    Raises AigonError (usage) naming `file` and the key.
    """
    for name, node in DocumentNode(checks, file, "checks").pairs().items():
        if not _CHECK_NAME.fullmatch(name):
            raise node.wrong("is not a name for a check", "Letters, digits, '.', '_' and '-'")
        pairs = node.fields(("command", "enabled", "role", *SETTINGS))
        given = {key: child for key, child in pairs.items() if child.value is not None}
        if "enabled" in given and not given["enabled"].flag():
            resolution = _turn_off(resolution, name, file)
        else:
            resolution = _turn_on(resolution, name, node, given, project)
    return resolution


def _turn_off(resolution: Resolution, name: str, file: str) -> Resolution:
    """Turned off: it is among the absent ones from here on, never silently gone."""
    gone = [check for check in resolution.checks if check.name == name]
    if not gone and find_role(name) is None:
        hint = suggest(name, (check.name for check in resolution.checks))
        raise usage(f"There is no check {name!r} to turn off", where=file, hint=hint)
    absent = tuple(Absent(check.role, f"{name} is turned off in {file}") for check in gone)
    rest = tuple(check for check in resolution.checks if check.name != name)
    return replace(resolution, checks=rest, absent=resolution.absent + absent)


def _turn_on(
    resolution: Resolution, name: str, node: DocumentNode, given: Mapping[str, DocumentNode], project: ProjectReader
) -> Resolution:
    old = next((check for check in resolution.checks if check.name == name), None)
    if old is None and "command" not in given:
        if find_role(name) is None:
            raise node.wrong("needs the key 'command'", suggest(name, (c.name for c in resolution.checks)))
        return resolution  # says how a check is run that this project does not have (yet)
    check = _change_check(old or Check(name, find_role(name) or "script", ()), given, project, node.file)
    checks = tuple(check if each is old else each for each in resolution.checks)
    absent = tuple(each for each in resolution.absent if old or each.role != check.role)
    return replace(resolution, checks=checks if old else (*checks, check), absent=absent)


def _change_check(check: Check, given: Mapping[str, DocumentNode], project: ProjectReader, file: str) -> Check:
    changes: dict[str, Any] = {key: read(given[key]) for key, read in SETTINGS.items() if key in given}
    if "role" in given:
        changes["role"] = given["role"].choice(ROLES)
    if "command" in given:
        # The old parser and report belonged to the old command.
        env = {name: value for name, value in check.env.items() if "{report}" not in value}
        check = replace(check, env=env, reports=(), shown="", writes=())
        changes = {"parser": "text", **_read_command(given["command"], project), **changes}
    if "env" in changes:
        changes["env"] = {**check.env, **changes["env"]}
    return replace(check, **{"source": file, **changes})


def _read_command(node: DocumentNode, project: ProjectReader) -> dict[str, Any]:
    """A text is for bash; a list is a program and its arguments, looked up like the programs of a profile."""
    template = ("bash", "-c", node.value) if isinstance(node.value, str) else node.texts()
    if not "".join(template).strip() or not template[-1].strip():
        raise node.wrong("must not be empty")
    argv = fill_arguments(template, project, {})
    missing = next(iter(find_missing_programs(argv, template, project)), "")
    hint = f"Install {missing} and put it on PATH, or change {node.path}" if missing else ""
    return {"argv": locate_program(argv, project), "missing": missing, "hint": hint}
