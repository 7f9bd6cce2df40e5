"""Who works and who judges: found, configured, and proven startable before the first paid turn."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from aigon.agents import adapter_of, kind
from aigon.core.agent import Agent
from aigon.core.config import Config, JudgeConfig
from aigon.core.errors import AigonError, unavailable, usage
from aigon.core.judging import JudgeSettings
from aigon.core.model import Spec
from aigon.run.judge_settings import IN_TURN, named, program, settings_of, why_not
from aigon.run.options import Options

NAMED = "--agent, AIGON_AGENT or defaultAgent in .aigon/config.json"
SAMPLE = '"agents": {"mine": {"adapter": "command", "command": ["./my-agent.sh"]}} to .aigon/config.json'


def agent_of(root: Path, config: Config, options: Options, env: Mapping[str, str]) -> Agent:
    """The agent: flag, configuration, else Claude Code where it is installed. Raises AigonError (exit 2 or 6)."""
    if len(options.agents) > 1:
        raise usage("Several agents at once are not supported yet", where="--agent", hint="Name one agent")
    name = next(iter(options.agents), None) or config.default_agent or _only_agent(config)
    if name is None and len(config.agents) > 1:
        known = " or ".join(f"--agent {each}" for each in sorted(config.agents))
        raise usage(
            "Several agents are configured and none was named", where="--agent", hint=f"{known}, or defaultAgent"
        )
    if name is None and not shutil.which("claude", path=env.get("PATH")):
        raise unavailable(
            "There is no agent to work with", where="--agent", hint=f"Install Claude Code, or add {SAMPLE}"
        )
    agent = _configured(root, config, name or "claude")
    return replace(agent, model=options.model) if options.model else agent


def _only_agent(config: Config) -> str | None:
    return next(iter(config.agents)) if len(config.agents) == 1 else None


def _configured(root: Path, config: Config, name: str, where: str = NAMED) -> Agent:
    own = config.agents.get(name)
    if own is None:
        if name == "command":
            raise usage("The command agent needs a command", where="--agent command", hint=f"Add {SAMPLE}")
        _require_adapter(name, where, config.agents)
        return Agent(name, name)
    _require_adapter(own.adapter, f"agents.{name}.adapter in .aigon/config.json", {})
    command = (own.command,) if isinstance(own.command, str) else tuple(own.command)
    recording = str((root / own.recording).absolute()) if own.recording else ""
    return Agent(name, own.adapter, own.model, own.effort, command, tuple(own.args), own.env, recording)


def _require_adapter(name: str, where: str, own: Mapping[str, object]) -> None:
    """Raise AigonError (exit 2), saying where the name stands, for one that is no adapter's."""
    try:
        kind(name)
    except AigonError as error:
        error.where = where
        if own:
            error.hint = f"{error.hint}. Configured here: {', '.join(sorted(own))}"
        raise


def require_agent(root: Path, agent: Agent, env: Mapping[str, str]) -> None:
    """Raise AigonError (exit 6) when the agent cannot start."""
    if why := adapter_of(agent).ready(agent, partial(program, root, env), env):
        raise unavailable(f"The agent {agent.name} cannot start", where=f"adapter {agent.adapter}", hint=why)


def rungs(agent: Agent, config: Config) -> tuple[Agent, ...]:
    """The escalation ladder: the agent with each rung's model and effort; itself alone without a ladder."""
    if not config.ladder:
        return (agent,)
    return tuple(replace(agent, model=s.model or agent.model, effort=s.effort or agent.effort) for s in config.ladder)


def judge_of(
    config: Config, options: Options, spec: Spec, env: Mapping[str, str], *, root: Path | None = None
) -> JudgeSettings | None:
    """The judge for open criteria; None without such criteria, with backend `none`, or where none is ready.

    Where none was chosen, the first that is ready of the agent in read-only use and the Anthropic API is taken.
    `root` is the main checkout, the current folder if it is not given. Raises AigonError: 2 for one that cannot be,
    6 when the one that was asked for by name cannot be asked.
    """
    chosen = named(config.judge or JudgeConfig(), options.judge)
    if chosen == "none" or not any(criterion.kind == "judge" for criterion in spec.criteria):
        return None
    return chosen_judge(config, chosen, options.agents, env, root or Path.cwd())


def chosen_judge(
    config: Config, chosen: str | None, agents: Sequence[str], env: Mapping[str, str], root: Path
) -> JudgeSettings | None:
    """The judge `chosen`; without one the first that is ready, None where none is. Raises AigonError as `judge_of`."""
    own = config.judge or JudgeConfig()
    for name in (chosen,) if chosen else IN_TURN:
        agent = _asked(root, config, agents, own.agent) if name == "agent" else None
        settings = settings_of(name, own, root, env, agent)
        why = why_not(settings)
        if not why:
            return settings
        if chosen:
            raise unavailable(f"The judge {chosen} cannot be asked", where="judge.backend", hint=why)
    return None


def _asked(root: Path, config: Config, agents: Sequence[str], own: str) -> Agent | None:
    """The agent that would be the judge `agent`: the judge's own, else the one that works. None where it is open.

    Raises AigonError (exit 2) for a name that is no agent's.
    """
    if own:
        return _configured(root, config, own, "judge.agent in .aigon/config.json")
    name = next(iter(agents), None) or config.default_agent or _only_agent(config)
    if name is None and len(config.agents) > 1:
        return None
    return _configured(root, config, name or "claude")
