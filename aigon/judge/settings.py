"""Choose a judge and build the settings with which it is asked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path

from aigon.agents.adapters import adapter_for
from aigon.agents.credentials import filter_environment
from aigon.agents.obstacles import find_program
from aigon.config.models import JudgeConfig
from aigon.errors import AigonError, usage
from aigon.judge.backends import Backend, find_backend
from aigon.model.judging import JudgeAnswer, JudgeSettings
from aigon.model.turns import Agent, FindProgram, Launch, ProgramExit
from aigon.secrets.redaction import drop_credentials

NOBODY = "no agent was chosen that could be asked"
PREFERENCE = ("agent", "anthropic")
"""Which judge is taken where none was chosen: the first that is ready."""
MODEL_VARIABLE = "AIGON_JUDGE_MODEL"
"""What tells a program that is a judge which model was configured for it."""
_SHOWN = 60
"""Characters of a command line that stand for a model's name."""
_EXAMPLE = '"judge": {"backend": "command", "command": ["./judge.sh"]} in .aigon/config.json'


def _no_answer(_exited: ProgramExit) -> JudgeAnswer:
    return JudgeAnswer(failure=NOBODY, available=False)


@dataclass(frozen=True, slots=True)
class AgentJudgeSettings(JudgeSettings):
    """The settings of the judge `agent`.

    `launch` is the agent's command line for one question, `read` takes the answer from what the program left;
    `missing` says why the agent cannot be asked, "" when it can. Only one that is asked `alone`, without anything that
    lies in the person's home, is taken unnamed.
    """

    launch: Launch = field(default_factory=lambda: Launch(()))
    read: Callable[[ProgramExit], JudgeAnswer] = _no_answer
    missing: str = NOBODY
    alone: bool = False


def choose_judge(own: JudgeConfig, flag: str | None) -> str | None:
    """Return the judge that was chosen, `none` for nobody; None if nothing was said.

    Raises AigonError (exit 2) for one that does not exist, and for `command` without a command.
    """
    name = flag or own.backend or ("command" if own.command else "agent" if own.agent else None)
    if name and name != "none":
        _backend(name)
    if name == "command" and not own.command:
        raise usage("The judge command needs a command", where="judge.command", hint=f"Give it one: {_EXAMPLE}")
    return name


def build_settings(
    name: str,
    own: JudgeConfig,
    root: Path,
    env: Mapping[str, str],
    agent: Agent | None,
    allowed: Sequence[str] = (),
) -> JudgeSettings:
    """Return what the judge `name` is asked with; `agent` is who would answer as the judge `agent`, None for nobody.

    A program sees no credentials but those that are `allowed`, an agent those of its kind too.
    """
    allowed = (*allowed, *own.pass_)
    command = (own.command,) if isinstance(own.command, str) else tuple(own.command)
    settings = JudgeSettings(
        backend=name,
        model=own.model,
        timeout=float(own.timeout),
        max_tokens=own.max_tokens,
        mode=own.mode,
        cwd=str(root.absolute()),
        env=env,
    )
    if name == "command":
        return _program_settings(replace(settings, env=drop_credentials(env, allowed)), command, own)
    if name != "agent":
        return settings  # asked by this very process
    asked = agent and replace(agent, passed=(*agent.passed, *allowed), model=_model_of(own, agent))
    return _agent_settings(settings, asked, partial(find_program, root, env))


def _model_of(own: JudgeConfig, agent: Agent) -> str:
    """The model that is asked for; the built-in default is Claude's, so any other agent is asked with its own."""
    of_claude = adapter_for(agent).kind.reads == "claude"
    return own.model if of_claude or "model" in own.model_fields_set else agent.model


def _program_settings(settings: JudgeSettings, command: tuple[str, ...], own: JudgeConfig) -> JudgeSettings:
    """Return the settings of a program. It has a model only if one was configured: the default is another judge's."""
    chosen = own.model if "model" in own.model_fields_set else ""
    env = {**settings.env, **({MODEL_VARIABLE: chosen} if chosen else {})}
    shown = " ".join(Path(word).name or word for word in command)[:_SHOWN]
    return replace(settings, model=chosen or shown, command=command, env=env)


def _agent_settings(settings: JudgeSettings, agent: Agent | None, find: FindProgram) -> AgentJudgeSettings:
    given = {field.name: getattr(settings, field.name) for field in fields(settings)}
    if agent is None:
        return AgentJudgeSettings(**given)
    asked = replace(agent, args=())
    of = adapter_for(agent)
    given |= {"agent": agent.adapter, "env": filter_environment(settings.env, asked, of.kind)}
    given |= {"model": agent.model or agent.name, "alone": bool(of.kind.judge and of.kind.judge.alone)}
    if of.kind.judge is None:
        return AgentJudgeSettings(**given, missing=_explain_no_judge_use(agent))
    missing = of.explain_unready(asked, find, settings.env)
    return AgentJudgeSettings(
        **given, launch=of.build_consultation(asked), read=partial(of.read_consultation, asked), missing=missing
    )


def _explain_no_judge_use(agent: Agent) -> str:
    return (
        f"{NOBODY}: the adapter {agent.adapter} of the agent {agent.name} has no read-only use. "
        "Name one that has, such as claude, as judge.agent in .aigon/config.json"
    )


def explain_unready(settings: JudgeSettings) -> str:
    """Return what is missing; empty if the judge can be asked."""
    return _backend(settings.backend).explain_unready(settings, settings.env)


def _backend(name: str) -> Backend:
    """Return the backend of that name. Raises AigonError (exit 2) that says where the name stands."""
    try:
        return find_backend(name)
    except AigonError as error:
        error.where = "--judge, AIGON_JUDGE or judge.backend in .aigon/config.json"
        raise
