"""What package.json and pyproject.toml say; one that cannot be read says nothing."""

import json
import re

from aigon.model.checks import Project


def package_json(project: Project) -> dict[str, object]:
    """The object in package.json."""
    try:
        return mapping(json.loads(project.read("package.json") or b"{}"))
    except (ValueError, RecursionError):
        return {}


def pyproject(project: Project) -> dict[str, object]:
    """The tables of pyproject.toml."""
    import tomllib

    try:
        return tomllib.loads((project.read("pyproject.toml") or b"").decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return {}


def mapping(value: object) -> dict[str, object]:
    """`value` where it is a mapping, else an empty one."""
    return {str(key): each for key, each in value.items()} if isinstance(value, dict) else {}


def packages(project: Project) -> frozenset[str]:
    """What package.json depends on."""
    package = package_json(project)
    return frozenset(mapping(package.get("dependencies"))) | frozenset(mapping(package.get("devDependencies")))


def node_runner(project: Project) -> str:
    """The test runner that package.json speaks of; empty for none."""
    named, script = packages(project), str(mapping(package_json(project).get("scripts")).get("test", ""))
    return next(
        (each for each in ("vitest", "jest", "mocha") if each in named or re.search(rf"\b{each}\b", script)), ""
    )
