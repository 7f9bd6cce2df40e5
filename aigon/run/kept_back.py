"""Which credentials of the person's environment nobody gets, said before a run with what lets one through."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from aigon.agents.adapters import adapter_for
from aigon.agents.credentials import join_names, list_withheld
from aigon.config.models import Config
from aigon.hooks.hook import HOOKS_FOLDER
from aigon.model.turns import Agent
from aigon.secrets.redaction import holds_secret, is_credential


def kept_back(agents: Sequence[Agent], env: Mapping[str, str], config: Config, root: Path) -> str:
    """One sentence with the names, never values; empty where nothing that holds a secret is kept from anybody."""
    kept = [*_kept(agents, env, config, root)]
    if not any(holds_secret(name) for _, names in kept for name in names):
        return ""
    said = "; ".join(f"{who} does not see {join_names(names)}" for who, names in kept if names)
    return f"{said}. To let one through by name: `pass` of that agent or hook, or `env.pass`, in .aigon/config.json"


def _kept(
    agents: Sequence[Agent], env: Mapping[str, str], config: Config, root: Path
) -> Iterator[tuple[str, Sequence[str]]]:
    for agent in agents:
        yield agent.name, list_withheld(env, agent, adapter_for(agent).kind)
    if config.hooks or any(each.command for each in config.notify) or (root / HOOKS_FOLDER).is_dir():
        passed = {*config.env.pass_, *(name for each in config.hooks.values() for name in each.pass_)}
        yield "a hook", [name for name in sorted(env) if is_credential(name) and name not in passed]
