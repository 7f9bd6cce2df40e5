"""Find agents by name: those that the project configures, shipped agent types, and a person's own."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from aigon.agents.adapters import find_type, load_types, parse_type
from aigon.config.loading import ReadFile, get_user_file, load_configuration, open_work_tree
from aigon.config.models import Config
from aigon.errors import AigonError, usage
from aigon.files.resources import find_agent_types
from aigon.model.agents import (
    AgentType,
    RequestedAgent,
    assign_distinct_labels,
    format_run_command,
    parse_requested_agent,
)
from aigon.model.turns import Agent

NAMED = "--agent, AIGON_AGENT or defaultAgent in .aigon/config.json"
SAMPLE = "aigon init --agent mine=./my-agent.sh"
MAX_SHORT_CHARS = 3
"""Characters of an alias that is short enough to be a label: `cc`."""
OWN = ".aigon/agents"
"""Where a project has agent types of its own."""


def find_agent(root: Path, config: Config, name: str, read: ReadFile, where: str = NAMED) -> Agent:
    """Return the agent called `name`, with its type as `read` finds it. Raises AigonError (exit 2) if there is none.

    What is configured under the name of an agent type holds for its aliases, too.
    """
    own = config.agents.get(name)
    if own is None:
        found = find_agent_type(root, name, read, where, config.agents)
        if found.name in config.agents and config.agents[found.name].adapter == found.name:
            return find_agent(root, config, found.name, read, where)
        if found.name == "command":
            raise usage("The command agent needs a command", where="--agent command", hint=SAMPLE)
        return Agent(found.name, found.name, kind=found, passed=tuple(config.env.pass_))
    try:
        found = find_agent_type(root, own.adapter, read, f"agents.{name}.adapter in .aigon/config.json", {})
    except AigonError as error:
        error.what = error.what.replace(
            f"There is no agent called '{own.adapter}'", f"The agent {name} has an unknown adapter, '{own.adapter}'"
        )
        raise
    command = (own.command,) if isinstance(own.command, str) else tuple(own.command)
    recording = str((root / own.recording).absolute()) if own.recording else ""
    home, passed = tuple(own.home), (*config.env.pass_, *own.pass_)
    return Agent(
        name, found.name, own.model, own.effort, command, tuple(own.args), own.env, recording, found, home, passed
    )


def find_agent_type(root: Path, name: str, read: ReadFile, where: str, own: Mapping[str, object]) -> AgentType:
    """Return the agent type called `name`: the project's, a person's, a shipped one. Raises AigonError (exit 2)."""
    if mine := _read_project_type(name, read):
        return mine
    try:
        return find_type(name, [user_types_folder()])
    except AigonError as error:
        theirs = (_read_project_type(each, read) for each in find_agent_types(root / OWN))
        if found := next((one for one in theirs if one and name in one.aliases), None):
            return found
        error.where = error.where or where
        if own:
            error.hint = f"{error.hint}. Configured here: {', '.join(sorted(own))}"
        raise


def _read_project_type(name: str, read: ReadFile) -> AgentType | None:
    """Return the project's own type as `read` has it: a file that an agent left in the work tree does not count."""
    for suffix in ("yaml", "yml"):
        file = f"{OWN}/{name}.{suffix}"
        content = read(file) if "/" not in name else None
        if content is not None:
            return parse_type(name, content, file)
    return None


def user_types_folder() -> Path:
    """Return the folder of a person's own agent types: `agents` next to their configuration."""
    return get_user_file().parent / "agents"


def resolve_agents(root: Path, names: Sequence[str]) -> tuple[RequestedAgent, ...]:
    """Return the agents that a person names, with distinct labels. Raises AigonError (exit 2) for unknown ones."""
    read = open_work_tree(root)
    config = load_configuration(read)
    requested = []
    for name in names:
        agent = find_agent(root, config, name if name in config.agents else name.partition(":")[0], read)
        short = agent.name
        if agent.kind and agent.name == agent.kind.name:
            short = next((alias for alias in agent.kind.aliases if len(alias) <= MAX_SHORT_CHARS), "")
        parsed = parse_requested_agent(name, short, config.agents)
        whole = f"{agent.name}:{parsed.model}" if parsed.model else agent.name
        requested.append(RequestedAgent(whole, agent.name, parsed.model, parsed.label))
    return assign_distinct_labels(requested)


def build_loop_command(root: Path, feature: str, agents: Sequence[str] = (), option: str = "--loop") -> str:
    """Return the command that starts the loop with the agents that were named.

    Without any it asks for a NAME if several are configured and none is the default. Raises AigonError (exit 2) for a
    malformed configuration.
    """
    config = load_configuration(open_work_tree(root))
    is_open = len(config.agents) > 1 and not config.default_agent and not os.environ.get("AIGON_AGENT")
    return format_run_command(feature, " --agent ".join(agents) or ("NAME" if is_open else ""), option)


def load_agent_types(root: Path | None) -> dict[str, AgentType]:
    """Return every agent type by name: shipped, a person's, the project's."""
    return load_types([user_types_folder(), *([root / OWN] if root else [])])
