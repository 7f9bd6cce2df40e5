"""Choose the agent of a run whose command line names none: a configured one, or the first that is ready."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aigon.agents.adapters import load_types
from aigon.agents.credentials import has_api_key
from aigon.agents.obstacles import find_obstacles
from aigon.config.models import Config
from aigon.model.agent_types import AgentType
from aigon.model.diagnosis import AgentHealth
from aigon.model.turns import Agent

IN_ORDER = ("claude", "codex", "opencode", "gemini")
"""Who is asked first; the others follow by name."""
LAST_IN_ORDER = "api"
NEVER_CHOSEN = ("command", "replay")
"""Kinds, or what reads them, that are nothing without a command or a recording of their own."""


@dataclass(frozen=True, slots=True)
class CandidateType:
    """A kind whose program is there, and what keeps it from working."""

    kind: AgentType
    problems: tuple[str, ...]


def find_first_ready(folders: Iterable[Path], env: Mapping[str, str], root: Path | None = None) -> AgentType | None:
    """Return the type of the first agent that is ready. `folders` hold people's own agent types.

    Nothing is run. Raises AigonError (exit 2) for a malformed kind.
    """
    return next((one.kind for one in list_candidates(load_types(folders), env, root) if not one.problems), None)


def list_candidates(
    known: Mapping[str, AgentType], env: Mapping[str, str], root: Path | None = None
) -> tuple[CandidateType, ...]:
    """The kinds that could be taken and whose program is there, in their order. One only read about is never taken."""
    found = []
    for kind in sorted(known.values(), key=rank_type):
        if kind.source == "docs" or {kind.name, kind.reads} & {*NEVER_CHOSEN}:
            continue
        if kind.name == LAST_IN_ORDER and not has_api_key(env):
            continue
        at = find_obstacles(Agent(kind.name, kind.name, kind=kind), root or Path.cwd(), env)
        if at.path or (not kind.program and not at.problems):
            found.append(CandidateType(kind, at.problems))
    return tuple(found)


def describe_choice(taken: AgentType, among: Iterable[CandidateType]) -> str:
    """Describe the choice: `agent: codex, the first that is ready (of claude, codex)`."""
    names = [one.kind.name for one in among]
    if len(names) < 2:
        return f"agent: {taken.name}, the only one that is here"
    return f"agent: {taken.name}, the first that is ready (of {', '.join(names)})"


def explain_none_ready(among: Iterable[CandidateType]) -> str:
    """Return why no agent is ready, as a hint: what each that is here lacks. Empty where none is here."""
    return "; ".join(f"{one.kind.name}: {one.problems[0]}" for one in among if one.problems)


def rank_type(kind: AgentType) -> tuple[bool, int, str]:
    """Return the sort key of an agent type."""
    place = IN_ORDER.index(kind.name) if kind.name in IN_ORDER else len(IN_ORDER)
    return kind.name == LAST_IN_ORDER, place, kind.name


def choose_agent(
    config: Config, env: Mapping[str, str], agents: Sequence[AgentHealth], known: Mapping[str, AgentType], root: Path
) -> tuple[str, str]:
    """Return the name of the agent, "" for none, and the reason in words."""
    name, why = _find_named(config, env)
    if name:
        return name, f"agent: {name}, {why}{_describe_unready(name, agents, known)}"
    if why:
        return "", why
    among = list_candidates(known, env, root)
    first = next((one.kind for one in among if not one.problems), None)
    return (first.name, describe_choice(first, among)) if first else ("", "no agent is ready: install one, or log in")


def _find_named(config: Config, env: Mapping[str, str]) -> tuple[str, str]:
    """Return a name that somebody has given, and where; or why there is none although there could be."""
    if given := env.get("AIGON_AGENT", "").split():
        return given[0], "named by AIGON_AGENT"
    if config.default_agent:
        return config.default_agent, "the defaultAgent of the configuration"
    if len(config.agents) == 1:
        return next(iter(config.agents)), "the only one that is configured"
    several = "several agents are configured: name one with --agent, or as defaultAgent"
    return "", several if config.agents else ""


def _describe_unready(name: str, agents: Sequence[AgentHealth], known: Mapping[str, AgentType]) -> str:
    """Return what is to be said of an agent that was named and is not ready; empty for one that is."""
    meant = next((one.name for one in known.values() if name in one.aliases), name)
    row = next((agent for agent in agents if agent.name in (name, meant)), None)
    if row is None:
        return "; there is no such agent"
    return "" if row.state == "ready" else f"; it is {row.state}"
