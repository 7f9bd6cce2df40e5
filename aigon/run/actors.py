"""Find and configure who works and who judges, and prove them startable before the first paid turn."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from aigon.agents.adapters import adapter_for
from aigon.agents.configured import SAMPLE, find_agent, load_agent_types
from aigon.agents.credentials import join_names, list_withheld
from aigon.agents.obstacles import describe_choice, explain_none_ready, find_program, list_candidates
from aigon.config.loading import ReadFile, load_configuration, open_work_tree
from aigon.config.models import Config, JudgeConfig
from aigon.errors import AigonError, environment, unavailable, usage
from aigon.hooks.hook import HOOKS_FOLDER
from aigon.isolation import sandbox
from aigon.job.escalation import AgentStep, merge_equal_steps
from aigon.job.options import Options, get_limit
from aigon.judge.backends import PREFERENCE, AgentJudgeSettings, build_settings, choose_judge, explain_unready
from aigon.model.criteria import Spec
from aigon.model.requests import JudgeSettings
from aigon.model.turns import Agent
from aigon.secrets.redaction import holds_secret, is_credential


def choose_agent(
    root: Path, config: Config, options: Options, env: Mapping[str, str], read: ReadFile
) -> tuple[Agent, str]:
    """Return the agent by flag, by configuration, else the first that is ready; and what to say of that choice.

    Raises AigonError (exit 2 or 6).
    """
    if len(options.agents) > 1:
        raise usage(
            "Only one agent can be named here",
            where=f"--agent {' --agent '.join(options.agents)}",
            hint="Name one. Several work side by side, each in a worktree, without --no-worktree;"
            " --dry-run plans one at a time",
        )
    name, choice = _find_named_agent(config, options.agents), ""
    if name is None and len(config.agents) > 1:
        known = " or ".join(f"--agent {each}" for each in sorted(config.agents))
        raise usage(
            "Several agents are configured and none was named", where="--agent", hint=f"{known}, or defaultAgent"
        )
    if name is None:
        candidates = list_candidates(load_agent_types(root), env, root)
        ready = next((one.kind for one in candidates if not one.problems), None)
        if ready is None:
            install = f"Install one (aigon doctor lists them), or add a program of your own: {SAMPLE}"
            hint = explain_none_ready(candidates) or install
            raise unavailable("There is no agent to work with", where="--agent", hint=hint)
        name, choice = ready.name, describe_choice(ready, candidates)
    with _blame_resumed_run(options):
        agent = find_agent(root, config, name, read)
    return (replace(agent, model=options.model) if options.model else agent), choice


def _find_named_agent(config: Config, agents: Sequence[str]) -> str | None:
    """Return the agent that is named or configured; None without one, or if several are configured."""
    only = next(iter(config.agents)) if len(config.agents) == 1 else None
    return next(iter(agents), None) or config.default_agent or only


def explain_not_ready(root: Path, agent: Agent, env: Mapping[str, str]) -> str:
    """Return why the agent cannot start; "" if it can."""
    return adapter_for(agent).explain_unready(agent, partial(find_program, root, env), env)


def require_agent(root: Path, agent: Agent, options: Options, env: Mapping[str, str]) -> None:
    """Raise AigonError (exit 6) if the agent cannot start."""
    if why := explain_not_ready(root, agent, env):
        with _blame_resumed_run(options):
            raise unavailable(f"The agent {agent.name} cannot start", where=f"adapter {agent.adapter}", hint=why)


@contextmanager
def _blame_resumed_run(options: Options) -> Iterator[None]:
    """Add to an error about the agent of a run that is resumed how to continue with another one."""
    try:
        yield
    except AigonError as error:
        if options.sources.get("agents") == "run":
            error.where = "the run that is resumed"
            error.hint = f"{error.hint}; or continue with another agent: --agent NAME"
        raise


def require_known_cost(config: Config, options: Options, agents: Sequence[Agent]) -> None:
    """Raise AigonError (exit 2) if money is limited and an agent never reports what it costs."""
    if config.guards.allow_unknown_cost or not get_limit(config, options, "max_cost"):
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

    Every command of its agent would fail there, which would show only in turns that are paid for.
    """
    mode, network = options.sandbox or config.sandbox.mode, config.sandbox.network
    for agent in agents:
        if not (agent.kind and agent.kind.starts_sandbox(agent.args)):
            continue
        if sandbox.choose_mechanism(mode, network) == "landlock":
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
    """Return the escalation steps of `agent`; the agent as it is, if it has none.

    They are its own (`agents.X.ladder`), else the project's (`ladder`) for the `first` agent, else those of its agent
    type, in which a person's choice (`--model`, the agent's `model` and `effort`) stays. A run that is resumed keeps
    its own.
    """
    if kept := [step for step in options.line_up if step.agent == agent.name]:
        return tuple(AgentStep(replace(agent, model=s.model, effort=s.effort), s.turns, s.full) for s in kept)
    own = config.agents.get(agent.name)
    configured = own.ladder if own and own.ladder is not None else config.ladder if first else None
    if configured is not None:
        steps = [
            (options.model or s.model or agent.model, s.effort or agent.effort, s.turns, s.digest) for s in configured
        ]
    else:
        shipped = agent.kind.ladder if agent.kind else ()
        steps = [(agent.model or s.model, agent.effort or s.effort, s.turns, s.digest) for s in shipped]
    return merge_equal_steps(
        [AgentStep(replace(agent, model=m, effort=e), turns, digest == "full") for m, e, turns, digest in steps]
    ) or (AgentStep(agent),)


def list_fallback_agents(
    root: Path, config: Config, options: Options, env: Mapping[str, str], read: ReadFile, agent: Agent
) -> tuple[tuple[Agent, ...], tuple[str, ...]]:
    """Return the agents that stand in for `agent`, and a warning for each that cannot start.

    Raises AigonError (exit 2).
    """
    where = "fallback in .aigon/config.json"
    names = dict.fromkeys(step.agent for step in options.line_up) or config.fallback
    named = [find_agent(root, config, name, read, where) for name in names if name != agent.name]
    others = [one for one in named if one.name != agent.name]
    lacks = {one.name: explain_not_ready(root, one, env) for one in others}
    warnings = tuple(f"the fallback agent {name} cannot start: {why}" for name, why in lacks.items() if why)
    return tuple(one for one in others if not lacks[one.name]), warnings


def choose_judge_for(
    config: Config, options: Options, spec: Spec, env: Mapping[str, str], root: Path
) -> JudgeSettings | None:
    """Return the judge for open criteria; None without such criteria, with backend `none`, or if none is ready.

    If none was chosen, that is the first that is ready of the agent in read-only use and the Anthropic API.
    `root` is the main checkout. Raises AigonError: 2 for an impossible judge, 6 if the one that was named cannot be
    asked.
    """
    chosen = choose_judge(config.judge or JudgeConfig(), options.judge)
    if chosen == "none" or not any(criterion.kind == "judge" for criterion in spec.criteria):
        return None
    return find_judge(config, chosen, options.agents, env, root)


def has_judge(root: Path) -> bool:
    """Return whether open criteria have a judge in the checkout at `root`; one that is named counts."""
    with suppress(AigonError):
        config = load_configuration(open_work_tree(root))
        chosen = choose_judge(config.judge or JudgeConfig(), os.environ.get("AIGON_JUDGE"))
        return chosen != "none" and (bool(chosen) or find_judge(config, None, (), os.environ, root) is not None)
    return True


def find_judge(
    config: Config, chosen: str | None, agents: Sequence[str], env: Mapping[str, str], root: Path
) -> JudgeSettings | None:
    """Return the judge `chosen`; if None, the first that is ready. Raises AigonError like `choose_judge_for`."""
    own = config.judge or JudgeConfig()
    for name in (chosen,) if chosen else PREFERENCE:
        agent = _find_judging_agent(root, config, agents, own.agent) if name == "agent" else None
        settings = build_settings(name, own, root, env, agent, config.env.pass_)
        why = explain_unready(settings)
        if not why and (chosen or not isinstance(settings, AgentJudgeSettings) or settings.alone):
            return settings
        if chosen:
            hint = f"{why}; or ask another judge: --judge NAME"
            raise unavailable(f"The judge {chosen} cannot be asked", where="judge.backend", hint=hint)
    return None


def _find_judging_agent(root: Path, config: Config, agents: Sequence[str], own: str) -> Agent | None:
    """Return the judge's own agent, else the one that works; None if several could be meant.

    Raises AigonError (exit 2) if no agent has that name.
    """
    if own:
        return find_agent(root, config, own, open_work_tree(root), "judge.agent in .aigon/config.json")
    name = _find_named_agent(config, agents)
    if name is None and len(config.agents) > 1:
        return None
    return find_agent(root, config, name or "claude", open_work_tree(root))


def describe_withheld_secrets(agents: Sequence[Agent], env: Mapping[str, str], config: Config, root: Path) -> str:
    """Return a sentence with the names, never values, of withheld variables; "" if none of them holds a secret."""
    withheld = [(agent.name, list_withheld(env, agent, adapter_for(agent).kind)) for agent in agents]
    if config.hooks or any(each.command for each in config.notify) or (root / HOOKS_FOLDER).is_dir():
        passed = {*config.env.pass_, *(name for each in config.hooks.values() for name in each.pass_)}
        withheld += [("a hook", tuple(name for name in sorted(env) if is_credential(name) and name not in passed))]
    if not any(holds_secret(name) for _, names in withheld for name in names):
        return ""
    sentences = "; ".join(f"{who} does not see {join_names(names)}" for who, names in withheld if names)
    return (
        f"{sentences}. To let one through by name: `pass` of that agent or hook, or `env.pass`, in .aigon/config.json"
    )
