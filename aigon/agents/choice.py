"""Choose the agent of a run whose command line names none: a configured one, or the first that is ready."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

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
"""Types, or what reads them, that are nothing without a command or a recording of their own."""


class CandidateType(Struct, frozen=True):
    """A type whose program is there, and what keeps it from working."""

    kind: AgentType
    problems: tuple[str, ...]


def list_candidates(
    known: Mapping[str, AgentType], env: Mapping[str, str], root: Path | None = None
) -> tuple[CandidateType, ...]:
    """Return the types that could be taken and whose program is there, in their order. Nothing is run.

    One only read about is never taken, and the built-in one only with a key of the API.
    """
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


def rank_type(kind: AgentType) -> tuple[bool, int, str]:
    """Return the sort key of an agent type."""
    place = IN_ORDER.index(kind.name) if kind.name in IN_ORDER else len(IN_ORDER)
    return kind.name == LAST_IN_ORDER, place, kind.name


def describe_choice(taken: AgentType, among: Iterable[CandidateType]) -> str:
    """Describe the choice: `agent: codex, the first that is ready (of claude, codex)`."""
    names = [one.kind.name for one in among]
    if len(names) < 2:
        return f"agent: {taken.name}, the only one that is here"
    return f"agent: {taken.name}, the first that is ready (of {', '.join(names)})"


def explain_none_ready(among: Iterable[CandidateType]) -> str:
    """Return what each agent that is here lacks, as a hint; empty if none is here."""
    return "; ".join(f"{one.kind.name}: {one.problems[0]}" for one in among if one.problems)


def choose_agent(
    config: Config, env: Mapping[str, str], agents: Sequence[AgentHealth], known: Mapping[str, AgentType], root: Path
) -> tuple[str, str]:
    """Return the name of the agent, "" for none, and the reason in words."""
    if given := env.get("AIGON_AGENT", "").split():
        name, why = given[0], "named by AIGON_AGENT"
    elif config.default_agent:
        name, why = config.default_agent, "the defaultAgent of the configuration"
    elif len(config.agents) == 1:
        name, why = next(iter(config.agents)), "the only one that is configured"
    elif config.agents:
        return "", "several agents are configured: name one with --agent, or as defaultAgent"
    else:
        among = list_candidates(known, env, root)
        first = next((one.kind for one in among if not one.problems), None)
        if first is None:
            return "", "no agent is ready: install one, or log in"
        return first.name, describe_choice(first, among)
    meant = next((one.name for one in known.values() if name in one.aliases), name)
    health = next((agent for agent in agents if agent.name in (name, meant)), None)
    if health is None:
        why += "; there is no such agent"
    elif health.state != "ready":
        why += f"; it is {health.state}"
    return name, f"agent: {name}, {why}"
