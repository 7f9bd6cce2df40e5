"""Which agent a run takes when its command line names none, and how it comes to that."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from aigon.agents.first_ready import candidates, said
from aigon.config.models import Config
from aigon.model.agent_types import AgentType
from aigon.model.diagnosis import AgentHealth


def choice(
    config: Config, env: Mapping[str, str], agents: Sequence[AgentHealth], known: Mapping[str, AgentType], root: Path
) -> tuple[str, str]:
    """The name of the agent, "" for none, and the reason in words."""
    name, why = _settled(config, env)
    if name:
        return name, f"agent: {name}, {why}{_standing(name, agents, known)}"
    if why:
        return "", why
    among = candidates(known, env, root)
    first = next((one.kind for one in among if not one.problems), None)
    return (first.name, said(first, among)) if first else ("", "no agent is ready: install one, or log in")


def _settled(config: Config, env: Mapping[str, str]) -> tuple[str, str]:
    """A name that somebody has given, and where; or why there is none although there could be."""
    if given := env.get("AIGON_AGENT", "").split():
        return given[0], "named by AIGON_AGENT"
    if config.default_agent:
        return config.default_agent, "the defaultAgent of the configuration"
    if len(config.agents) == 1:
        return next(iter(config.agents)), "the only one that is configured"
    several = "several agents are configured: name one with --agent, or as defaultAgent"
    return "", several if config.agents else ""


def _standing(name: str, agents: Sequence[AgentHealth], known: Mapping[str, AgentType]) -> str:
    """What is to be said of an agent that was named and is not ready; empty for one that is."""
    meant = next((one.name for one in known.values() if name in one.aliases), name)
    row = next((agent for agent in agents if agent.name in (name, meant)), None)
    if row is None:
        return "; there is no such agent"
    return "" if row.state == "ready" else f"; it is {row.state}"
