"""Who works and who judges: found, configured, and proven startable before the first paid turn."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from aigon.agents.adapters import adapter_for
from aigon.agents.choice import describe_choice as chosen_aloud
from aigon.agents.choice import explain_none_ready, list_candidates
from aigon.agents.configured import SAMPLE, find_agent, load_agent_types
from aigon.agents.credentials import join_names, list_withheld
from aigon.agents.obstacles import find_program
from aigon.config.loading import ReadFile, load_configuration, open_work_tree
from aigon.config.models import Config, JudgeConfig
from aigon.errors import AigonError, environment, unavailable, usage
from aigon.hooks.hook import HOOKS_FOLDER
from aigon.isolation import sandbox
from aigon.job.escalation import AgentStep, merge_equal_steps
from aigon.job.options import Options, max_cost
from aigon.judge.settings import (
    PREFERENCE,
    AgentJudgeSettings,
    build_settings,
    choose_judge,
    explain_unready,
)
from aigon.model.criteria import Spec
from aigon.model.judging import JudgeSettings
from aigon.model.turns import Agent
from aigon.secrets.redaction import holds_secret, is_credential

_ALONE = "Name one. Several work side by side, each in a worktree, without --no-worktree; --dry-run plans one at a time"
_OTHER = "or continue with another agent: --agent NAME"


def choose_agent(
    root: Path, config: Config, options: Options, env: Mapping[str, str], read: ReadFile
) -> tuple[Agent, str]:
    """The agent, and what is to be said of the choice: by flag, by configuration, else the first that is ready.

    Raises AigonError (exit 2 or 6).
    """
    if len(options.agents) > 1:
        raise usage(
            "Only one agent can be named here", where=f"--agent {' --agent '.join(options.agents)}", hint=_ALONE
        )
    name, said = _named(config, options), ""
    if name is None:
        name, said = _first(root, env)
    with _of_the_run(options):
        agent = find_agent(root, config, name, read)
    return (replace(agent, model=options.model) if options.model else agent), said


def _named(config: Config, options: Options) -> str | None:
    name = next(iter(options.agents), None) or config.default_agent or _only_agent(config)
    if name is None and len(config.agents) > 1:
        known = " or ".join(f"--agent {each}" for each in sorted(config.agents))
        raise usage(
            "Several agents are configured and none was named", where="--agent", hint=f"{known}, or defaultAgent"
        )
    return name


def _first(root: Path, env: Mapping[str, str]) -> tuple[str, str]:
    """The first kind that is ready, and that it was taken. Raises AigonError (exit 6) where none is."""
    among = list_candidates(load_agent_types(root), env, root)
    taken = next((one.kind for one in among if not one.problems), None)
    if taken is None:
        hint = explain_none_ready(among) or f"Install one (aigon doctor lists them), or add {SAMPLE}"
        raise unavailable("There is no agent to work with", where="--agent", hint=hint)
    return taken.name, chosen_aloud(taken, among)


def _only_agent(config: Config) -> str | None:
    return next(iter(config.agents)) if len(config.agents) == 1 else None


def explain_not_ready(root: Path, agent: Agent, env: Mapping[str, str]) -> str:
    """Empty when the agent can start."""
    return adapter_for(agent).explain_unready(agent, partial(find_program, root, env), env)


def require_agent(root: Path, agent: Agent, options: Options, env: Mapping[str, str]) -> None:
    """Raise AigonError (exit 6) when the agent cannot start."""
    if why := explain_not_ready(root, agent, env):
        with _of_the_run(options):
            raise unavailable(f"The agent {agent.name} cannot start", where=f"adapter {agent.adapter}", hint=why)


@contextmanager
def _of_the_run(options: Options) -> Iterator[None]:
    """Add to an error about the agent of a run that is resumed how to continue with another one."""
    try:
        yield
    except AigonError as error:
        if options.sources.get("agents") == "run":
            error.where, error.hint = "the run that is resumed", f"{error.hint}; {_OTHER}"
        raise


def require_known_cost(config: Config, options: Options, agents: Sequence[Agent]) -> None:
    """Raise AigonError (exit 2) when money is limited and an agent never says what it costs."""
    if config.guards.allow_unknown_cost or not max_cost(config, options):
        return
    for agent in agents:
        if agent.kind and agent.kind.cost == "unknown":
            raise usage(
                f"{agent.kind.title} does not report what its turns cost, so a cost limit cannot be enforced",
                where="--max-cost",
                hint='Leave the limit out, or set "guards": {"allowUnknownCost": true} in .aigon/config.json',
            )


def require_startable_sandbox(config: Config, options: Options, agents: Sequence[Agent]) -> None:
    """Raise AigonError (exit 7) if a program would start a sandbox of its own inside of Landlock.

    Every command of its agent would fail in there, which shows only in turns that are paid for.
    """
    mode, network = options.sandbox or config.sandbox.mode, config.sandbox.network
    for agent in agents:
        if (
            agent.kind
            and agent.kind.starts_sandbox(agent.args)
            and sandbox.choose_mechanism(mode, network) == "landlock"
        ):
            raise environment(
                f"{agent.kind.title} cannot start its own sandbox inside of Landlock, aigon's sandbox on this machine:"
                " all its commands would fail",
                where=f"agents.{agent.name}.args: {' '.join(agent.args)}",
                hint="Leave its flags about permissions out, and only aigon's sandbox keeps it in; or use --sandbox"
                " none, and only its own does; or install bubblewrap, in which both work",
            )


def list_escalation_steps(
    agent: Agent, config: Config, options: Options, *, first: bool = True
) -> tuple[AgentStep, ...]:
    """The escalation steps of `agent`, which is itself alone where there is none.

    Its own (`agents.X.ladder`), for the `first` agent the project's (`ladder`), else its kind's, where what a person
    chose (`--model`, the agent's `model` and `effort`) stays. A run that is resumed keeps its own.
    """
    if kept := [step for step in options.line_up if step.agent == agent.name]:
        return tuple(AgentStep(replace(agent, model=s.model, effort=s.effort), s.turns, s.full) for s in kept)
    own = config.agents.get(agent.name)
    theirs = own.ladder if own and own.ladder is not None else config.ladder if first else None
    if theirs is not None:
        given = [(s.turns, options.model or s.model or agent.model, s.effort or agent.effort, s.digest) for s in theirs]
    else:
        known = agent.kind.ladder if agent.kind else ()
        given = [(s.turns, agent.model or s.model, agent.effort or s.effort, s.digest) for s in known]
    found = tuple(
        AgentStep(replace(agent, model=m, effort=e), turns, digest == "full") for turns, m, e, digest in given
    )
    return merge_equal_steps(found) or (AgentStep(agent),)


def list_fallback_agents(
    root: Path, config: Config, options: Options, env: Mapping[str, str], read: ReadFile, agent: Agent
) -> tuple[tuple[Agent, ...], tuple[str, ...]]:
    """The agents that stand in for `agent`, and a warning for each that cannot start. Raises AigonError (exit 2)."""
    where = "fallback in .aigon/config.json"
    names = dict.fromkeys(step.agent for step in options.line_up) or config.fallback
    named = [find_agent(root, config, name, read, where) for name in names if name != agent.name]
    others = [one for one in named if one.name != agent.name]
    lacks = {one.name: explain_not_ready(root, one, env) for one in others}
    warnings = tuple(f"the fallback agent {name} cannot start: {why}" for name, why in lacks.items() if why)
    return tuple(one for one in others if not lacks[one.name]), warnings


def choose_judge_for(
    config: Config, options: Options, spec: Spec, env: Mapping[str, str], *, root: Path | None = None
) -> JudgeSettings | None:
    """The judge for open criteria; None without such criteria, with backend `none`, or where none is ready.

    Where none was chosen, the first that is ready of the agent in read-only use and the Anthropic API is taken.
    `root` is the main checkout, the current folder if it is not given. Raises AigonError: 2 for one that cannot be,
    6 when the one that was asked for by name cannot be asked.
    """
    chosen = choose_judge(config.judge or JudgeConfig(), options.judge)
    if chosen == "none" or not any(criterion.kind == "judge" for criterion in spec.criteria):
        return None
    return find_judge(config, chosen, options.agents, env, root or Path.cwd())


def has_judge(root: Path) -> bool:
    """Whether anybody would be asked about open criteria in the checkout at `root`; one that is named counts."""
    with suppress(AigonError):
        config = load_configuration(open_work_tree(root))
        chosen = choose_judge(config.judge or JudgeConfig(), os.environ.get("AIGON_JUDGE"))
        return chosen != "none" and (bool(chosen) or find_judge(config, None, (), os.environ, root) is not None)
    return True


def find_judge(
    config: Config, chosen: str | None, agents: Sequence[str], env: Mapping[str, str], root: Path
) -> JudgeSettings | None:
    """The judge `chosen`; without one the first that is ready, None where none is. Raises AigonError as `judge_of`."""
    own = config.judge or JudgeConfig()
    for name in (chosen,) if chosen else PREFERENCE:
        agent = _asked(root, config, agents, own.agent) if name == "agent" else None
        settings = build_settings(name, own, root, env, agent, config.env.pass_)
        why = explain_unready(settings)
        if not why and (chosen or not isinstance(settings, AgentJudgeSettings) or settings.alone):
            return settings
        if chosen:
            hint = f"{why}; or ask another judge: --judge NAME"
            raise unavailable(f"The judge {chosen} cannot be asked", where="judge.backend", hint=hint)
    return None


def _asked(root: Path, config: Config, agents: Sequence[str], own: str) -> Agent | None:
    """The agent that would be the judge `agent`: the judge's own, else the one that works. None where it is open.

    Raises AigonError (exit 2) for a name that is no agent's.
    """
    if own:
        return find_agent(root, config, own, open_work_tree(root), "judge.agent in .aigon/config.json")
    name = next(iter(agents), None) or config.default_agent or _only_agent(config)
    if name is None and len(config.agents) > 1:
        return None
    return find_agent(root, config, name or "claude", open_work_tree(root))


def describe_withheld_secrets(agents: Sequence[Agent], env: Mapping[str, str], config: Config, root: Path) -> str:
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
