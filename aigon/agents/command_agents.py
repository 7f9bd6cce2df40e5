"""For which agents commands are written: those that are named, or those that are here."""

import shutil
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from aigon.agents.configured import every_kind
from aigon.agents.install_commands import in_home, installable
from aigon.config.models import Config
from aigon.errors import usage
from aigon.model.agent_types import AgentType


def named_kinds(names: Sequence[str], root: Path | None, config: Config) -> tuple[AgentType, ...]:
    """The kinds called `names`: by name, for short, or by the name of a configured agent; each once.

    Raises AigonError (exit 2) for one that is not known or has no command files, and lists those that have.
    """
    known = every_kind(root)
    able = {kind.name: kind for kind in installable(known.values())}
    found = [_named(name, known, config, tuple(able)) for name in names]
    if not found:
        raise usage("Name the agents to write commands for", where="AGENT...", hint=f"Known: {', '.join(able)}")
    for kind in found:
        if kind.name not in able:
            hint = f"These do: {', '.join(able)}"
            raise usage(f"{kind.title} reads no commands of a person's own", where=kind.name, hint=hint)
    return tuple({kind.name: kind for kind in found}.values())


def _named(name: str, known: Mapping[str, AgentType], config: Config, able: Sequence[str]) -> AgentType:
    own = config.agents.get(name)
    meant = own.adapter if own else name
    found = known.get(meant) or next((kind for kind in known.values() if meant in kind.aliases), None)
    if found is None:
        near = get_close_matches(name, (*known, *config.agents), n=1)
        hint = (f"Did you mean {near[0]}? " if near else "") + f"Known: {', '.join(able)}"
        raise usage(f"There is no agent called {name!r}", where="AGENT", hint=hint)
    return found


def kinds_here(
    root: Path, config: Config, env: Mapping[str, str]
) -> tuple[tuple[AgentType, ...], tuple[AgentType, ...]]:
    """The kinds with command files that are installed or configured: reading in the repository, and in the home."""
    known = every_kind(root)
    wanted = {config.default_agent, *config.fallback, *(agent.adapter for agent in config.agents.values())}
    here = [kind for kind in installable(known.values()) if {kind.name, *kind.aliases} & wanted or _is_there(kind, env)]
    return (
        tuple(kind for kind in here if kind.commands and not in_home(kind.commands)),
        tuple(kind for kind in here if kind.commands and in_home(kind.commands)),
    )


def _is_there(kind: AgentType, env: Mapping[str, str]) -> bool:
    return bool(kind.program and shutil.which(kind.program, path=env.get("PATH")))
