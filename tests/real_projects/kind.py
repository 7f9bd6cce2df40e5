"""A kind of project as data: its files, what is wrong in the red tree, and what a person would want to be told."""

import importlib
import json
import pkgutil
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.real_projects import kinds

Problem = tuple[str, int, str]
"""File, line, and the name of the test, or else of the rule."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a check has to come to. `counts` are passed, failed, skipped and errors; None for what counts no tests.

    `problems` are all of them, in any order; `says` has to stand in the summary or in a problem's message.
    """

    status: str
    counts: tuple[int, int, int, int] | None = None
    problems: tuple[Problem, ...] = ()
    says: str = ""
    exit_code: int | None = None
    """None: 0 for a pass, and anything else for a failure."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A project. `red` are files that are otherwise in the red tree (empty: gone)."""

    title: str
    profile: str
    files: Mapping[str, str]
    red: Mapping[str, str]
    green_finds: Mapping[str, Found]
    red_finds: Mapping[str, Found]
    programs: tuple[str, ...] = ()
    """What has to be on PATH, with the least version that will do: `node>=20`."""
    modules: tuple[str, ...] = ()
    """What the interpreter has to be able to import."""
    venv: bool = False
    """Whether it has a virtual environment of its own, with nothing but the standard library in it."""
    manager: str = ""
    """npm or pnpm, where packages of package.json have to be installed."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """Keys for .aigon/config.json: what no tool can find out."""
    folders: Mapping[str, str] = field(default_factory=dict)
    """Projects below the root that init has to find, with their profiles."""
    absent: tuple[str, ...] = ()
    """Roles that init has to say the project has nothing for."""


def text(content: str) -> str:
    """A file's text, written indented."""
    return textwrap.dedent(content).lstrip("\n")


def package(**content: Any) -> str:
    """A package.json."""
    return json.dumps({"version": "1.0.0", **content}, indent=2) + "\n"


def every() -> dict[str, Kind]:
    """All kinds by the name of their file."""
    names = sorted(module.name for module in pkgutil.iter_modules(kinds.__path__))
    return {name: importlib.import_module(f"{kinds.__name__}.{name}").KIND for name in names}
