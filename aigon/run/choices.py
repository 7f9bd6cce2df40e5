"""What is in force for a run: recorded when it starts, and taken over by the run that resumes it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from aigon.agents.configured import find_agent
from aigon.config.loading import ReadFile, load_configuration, open_work_tree
from aigon.config.models import Config
from aigon.job import options as limits
from aigon.job.escalation import AgentStep
from aigon.job.job import Job
from aigon.job.options import Options, spell_option
from aigon.journal.events import Choices, RunStarted
from aigon.journal.events import RecordedStep as Step
from aigon.run.prepare import Prepared

LIMITS = (
    "max_iterations", "max_cost", "max_time", "iteration_timeout", "idle_timeout", "max_wait",
    "max_consecutive_failures",
)  # fmt: skip
"""Set by a flag, a variable or the configuration; the function of this name in `limits` returns what holds."""
NAMED_OPTIONS = ("profile", "validation_script", "skip_validation", "accept_passing", "promises", "on_partial")
"""In force only if they were named for the run."""
SHARED = ("max_cost", "max_time")
"""Limits for all agents of an arena together."""


@dataclass(frozen=True, slots=True)
class Continued:
    """Options completed by the choices of the run that is resumed, and what a person should know about that."""

    options: Options
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def record_choices(job: Job, prepared: Prepared, options: Options) -> Choices:
    """Return what is in force for a run."""
    judge, own = prepared.judge, prepared.config.judge
    return Choices(
        **_in_force(prepared.config, options),
        line_up=tuple(_step(rung) for ladder in (job.rungs, *job.fallback) for rung in ladder),
        model=options.model,
        judge=judge.backend if judge else options.judge,
        judge_model=judge.model if judge and judge.backend != "command" else None,
        judge_agent=own.agent if judge and own else None,
    )


def continue_choices(options: Options, started: RunStarted, main: Path, read: ReadFile) -> Continued:
    """Complete `options` by what was in force for the run that `started`.

    A flag goes before that run, and the run before variables and configuration, which `read` gives as in `prepare`.
    Raises AigonError (exit 2) for a malformed configuration or an agent that does not exist.
    """
    config = load_configuration(read)
    recorded = started.choices or Choices((Step(started.agent),), skip_validation=started.skip_validation or None)
    agent = recorded.line_up[0].agent
    flag = options.is_flag("agents")
    chosen = find_agent(main, config, options.agents[0], open_work_tree(main)).name if flag else agent
    taken = {name: getattr(recorded, name) for name in (*LIMITS, *NAMED_OPTIONS, "sandbox", "judge")}
    if not options.is_flag("judge"):
        taken |= {"judge_model": recorded.judge_model, "judge_agent": recorded.judge_agent}
    given = options
    if chosen == agent:
        taken |= {"agents": (agent,), "model": recorded.model, "line_up": _line_up(options, recorded)}
        given = options if options.is_flag("model") else replace(options, model=None)
    continued = take_over(given, taken)
    return Continued(
        continued, _notes(config, options, continued), tuple(_warnings(config, options, continued, agent, chosen))
    )


def take_over(options: Options, taken: Mapping[str, Any]) -> Options:
    """Return `options` with the values of the run that is resumed, except those it did not set or a flag does."""
    values = {name: value for name, value in taken.items() if value not in (None, ()) and not options.is_flag(name)}
    return replace(options, **values, sources={**options.sources, **dict.fromkeys(values, "run")})


def _line_up(options: Options, recorded: Choices) -> tuple[Step, ...]:
    """The escalation steps of the agent and its stand-ins; a flag that names another model replaces its own."""
    if options.is_flag("model") and options.model != recorded.model:
        return tuple(step for step in recorded.line_up if step.agent != recorded.line_up[0].agent)
    return recorded.line_up


def _notes(config: Config, given: Options, continued: Options) -> tuple[str, ...]:
    """What differs from how a new run would be started now."""
    before, after = _in_force(config, given), _in_force(config, continued)
    before["agents"], after["agents"] = given.agents or _default(config) or continued.agents, continued.agents
    words = [word for name, value in after.items() if value != before[name] for word in spell_option(name, value)]
    return (f"Resumed as it was started: {' '.join(words)}",) if words else ()


def _warnings(config: Config, given: Options, continued: Options, agent: str, chosen: str) -> Iterator[str]:
    if chosen != agent:
        yield f"{chosen} continues a run that {agent} started. Without --agent, {agent} continues it."
    if continued.skip_validation and not given.skip_validation:
        yield "No checks run, because the run was started with --skip-validation. --no-skip-validation runs them."
    if continued.accept_passing and not given.accept_passing:
        yield "Passing criteria are accepted, because the run was started with --accept-passing."
    if continued.sandbox == "none" != _in_force(config, given)["sandbox"]:
        yield "No sandbox, because the run was started with --sandbox none. --sandbox auto turns it on."


def _default(config: Config) -> tuple[str, ...]:
    return (config.default_agent,) if config.default_agent else ()


def _in_force(config: Config, options: Options) -> dict[str, Any]:
    """Limits, sandbox and what was named for the run, under the names of their options."""
    limited = {name: getattr(limits, name)(config, options) for name in LIMITS}
    named = {name: getattr(options, name) or None for name in NAMED_OPTIONS}
    return {**limited, **named, "sandbox": options.sandbox or config.sandbox.mode}


def _step(rung: AgentStep) -> Step:
    return Step(rung.agent.name, rung.agent.model, rung.agent.effort, rung.turns, rung.full)
