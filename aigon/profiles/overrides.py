"""A project's own word on its checks: the key `checks` of `.aigon/config.json`."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from aigon.errors import usage
from aigon.model.checks import ROLES, Check, Project
from aigon.profiles.ecosystem import SETTINGS, role_of, settings
from aigon.profiles.resolution import Absent, Resolution, absolute, arguments, unfound
from aigon.text.documents import Node, nearest

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
KEYS = ("command", "enabled", "role", *SETTINGS)


def overridden(resolution: Resolution, checks: Mapping[str, object], project: Project, file: str) -> Resolution:
    """`resolution` with changed, added and removed checks. Raises AigonError (usage) naming `file` and the key."""
    for name, node in Node(checks, file, "checks").pairs().items():
        if not _NAME.fullmatch(name):
            raise node.wrong("is not a name for a check", "Letters, digits, '.', '_' and '-'")
        given = {key: child for key, child in node.fields(KEYS).items() if child.value is not None}
        if "enabled" in given and not given["enabled"].flag():
            resolution = _without(resolution, name, file)
        else:
            resolution = _with(resolution, name, node, given, project)
    return resolution


def _without(resolution: Resolution, name: str, file: str) -> Resolution:
    """Turned off: it is among the absent ones from here on, never silently gone."""
    gone = [check for check in resolution.checks if check.name == name]
    if not gone and role_of(name) is None:
        hint = nearest(name, (check.name for check in resolution.checks))
        raise usage(f"There is no check {name!r} to turn off", where=file, hint=hint)
    absent = tuple(Absent(check.role, f"{name} is turned off in {file}") for check in gone)
    rest = tuple(check for check in resolution.checks if check.name != name)
    return replace(resolution, checks=rest, absent=resolution.absent + absent)


def _with(resolution: Resolution, name: str, node: Node, given: Mapping[str, Node], project: Project) -> Resolution:
    old = next((check for check in resolution.checks if check.name == name), None)
    if old is None and "command" not in given:
        if role_of(name) is None:
            raise node.wrong("needs the key 'command'", nearest(name, (c.name for c in resolution.checks)))
        return resolution  # says how a check is run that this project does not have (yet)
    check = _changed(old or Check(name, role_of(name) or "script", ()), given, project, node.file)
    checks = tuple(check if each is old else each for each in resolution.checks)
    absent = tuple(each for each in resolution.absent if old or each.role != check.role)
    return replace(resolution, checks=checks if old else (*checks, check), absent=absent)


def _changed(check: Check, given: Mapping[str, Node], project: Project, file: str) -> Check:
    changes: dict[str, Any] = settings(given)
    if "role" in given:
        changes["role"] = given["role"].choice(ROLES)
    if "command" in given:
        # The old parser and report belonged to the old command.
        env = {name: value for name, value in check.env.items() if "{report}" not in value}
        check = replace(check, env=env, reports=(), shown="", writes=())
        changes = {"parser": "text", **_command(given["command"], project), **changes}
    if "env" in changes:
        changes["env"] = {**check.env, **changes["env"]}
    return replace(check, **{"source": file, **changes})


def _command(node: Node, project: Project) -> dict[str, Any]:
    """A text is for bash; a list is a program and its arguments, looked up like the programs of a profile."""
    template = ("bash", "-c", node.value) if isinstance(node.value, str) else node.texts()
    if not "".join(template).strip() or not template[-1].strip():
        raise node.wrong("must not be empty")
    argv = arguments(template, project, {})
    missing = next(iter(unfound(argv, template, project)), "")
    hint = f"Install {missing} and put it on PATH, or change {node.path}" if missing else ""
    return {"argv": absolute(argv, project), "missing": missing, "hint": hint}
