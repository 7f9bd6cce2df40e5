"""Agent adapters: one file each, and the file name is the registry.

A module here whose name has no leading underscore is an adapter; what an adapter is stands in `aigon.core.agent`.
"""

import importlib
import pkgutil
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from typing import Protocol, cast

from aigon.core.agent import Agent, Ask, Exited, Find, Launch
from aigon.core.errors import usage
from aigon.core.model import Turn

ALIASES: Mapping[str, str] = {"cc": "claude"}
"""Short names for adapters."""


class Adapter(Protocol):
    """The three functions of an adapter module."""

    def ready(self, agent: Agent, find: Find, env: Mapping[str, str], /) -> str:
        """Empty when the agent can start, else what is missing and how to get it."""

    def launch(self, agent: Agent, ask: Ask, /) -> Launch:
        """The command line of one turn."""

    def turn(self, agent: Agent, ask: Ask, exited: Exited, /) -> Turn:
        """What that turn was, read from what the program left."""


@cache
def names() -> tuple[str, ...]:
    """The adapters there are, sorted."""
    return tuple(sorted(found.name for found in pkgutil.iter_modules(__path__) if not found.name.startswith("_")))


def adapter(name: str) -> Adapter:
    """The adapter called `name`, or called so for short. Raises a usage error that lists the known ones."""
    known = names()
    wanted = ALIASES.get(name, name)
    if wanted not in known:
        near = get_close_matches(name, (*known, *ALIASES), n=1)
        meant = f"did you mean {near[0]}? " if near else ""
        raise usage(f"There is no agent adapter called {name!r}", hint=f"{meant}Known: {', '.join(known)}")
    return cast("Adapter", importlib.import_module(f"{__name__}.{wanted}"))
