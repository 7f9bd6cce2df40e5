"""The choices of a run: recorded when it starts, and continued by the run that resumes it."""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from aigon.agents.configured import find_agent
from aigon.config.loading import ReadFile, load_configuration, open_work_tree
from aigon.config.models import Config
from aigon.job.job import Job
from aigon.job.options import LIMITS, Options, get_limit, spell_option
from aigon.job.settings import SPEC_SOURCES
from aigon.journal.events import Choices, RecordedStep, RunStarted
from aigon.model.criteria import Spec
from aigon.run.prepare import Prepared
from aigon.spec.document import tick_boxes

NAMED_OPTIONS = ("profile", "validation_script", "skip_validation", "accept_passing", "promises", "on_partial")
"""In force only if they were named for the run."""
SHARED = ("max_cost", "max_time")
"""Limits for all agents of an arena together."""


def record_choices(job: Job, prepared: Prepared, options: Options) -> Choices:
    """Return what is in force for a run."""
    judge, own = prepared.judge, prepared.config.judge
    in_force = _list_in_force(prepared.config, options)
    return Choices(
        # What the spec sets is read from it again: a person may change it between two runs.
        **{name: None if options.sources.get(name) in SPEC_SOURCES else value for name, value in in_force.items()},
        line_up=tuple(
            RecordedStep(step.agent.name, step.agent.model, step.agent.effort, step.turns, step.full)
            for steps in (job.steps, *job.fallback)
            for step in steps
        ),
        model=options.model,
        judge=judge.backend if judge else options.judge,
        judge_model=judge.model if judge and judge.backend != "command" else None,
        judge_agent=own.agent if judge and own else None,
    )


def continue_choices(
    options: Options, started: RunStarted, main: Path, read: ReadFile
) -> tuple[Options, tuple[str, ...], tuple[str, ...]]:
    """Complete `options` by what was in force for the run that `started`; return also notes and warnings about that.

    A flag goes before that run, and the run before variables and configuration, which `read` gives as in `prepare`.
    Raises AigonError (exit 2) for a malformed configuration or an agent that does not exist.
    """
    config = load_configuration(read)
    recorded = started.choices or Choices(
        (RecordedStep(started.agent),), skip_validation=started.skip_validation or None
    )
    agent = recorded.line_up[0].agent
    flag = options.is_flag("agents")
    chosen = find_agent(main, config, options.agents[0], open_work_tree(main)).name if flag else agent
    values = {name: getattr(recorded, name) for name in (*LIMITS, *NAMED_OPTIONS, "sandbox", "judge")}
    if not options.is_flag("judge"):
        values |= {"judge_model": recorded.judge_model, "judge_agent": recorded.judge_agent}
    given = options
    if chosen == agent:
        line_up = recorded.line_up
        if options.is_flag("model") and options.model != recorded.model:  # only those that stand in keep their steps
            line_up = tuple(step for step in line_up if step.agent != agent)
        values |= {"agents": (agent,), "model": recorded.model, "line_up": line_up}
        given = options if options.is_flag("model") else replace(options, model=None)
    continued = take_over(given, values)
    warnings = tuple(_warn(config, options, continued, agent, chosen))
    return continued, _note_differences(config, options, continued), warnings


def take_over(options: Options, values: Mapping[str, Any]) -> Options:
    """Return `options` with the values of the run that is resumed, except those it did not set or a flag sets."""
    own = {name: value for name, value in values.items() if value not in (None, ()) and not options.is_flag(name)}
    return replace(options, **own, sources={**options.sources, **dict.fromkeys(own, "run")})


def _note_differences(config: Config, given: Options, continued: Options) -> tuple[str, ...]:
    """Return what differs from how a new run would be started now."""
    before, after = _list_in_force(config, given), _list_in_force(config, continued)
    default = (config.default_agent,) if config.default_agent else ()
    before["agents"], after["agents"] = given.agents or default or continued.agents, continued.agents
    words = [word for name, value in after.items() if value != before[name] for word in spell_option(name, value)]
    return (f"Resumed as it was started: {' '.join(words)}",) if words else ()


def _warn(config: Config, given: Options, continued: Options, agent: str, chosen: str) -> Iterator[str]:
    if chosen != agent:
        yield f"{chosen} continues a run that {agent} started. Without --agent, {agent} continues it."
    if continued.skip_validation and not given.skip_validation:
        yield "No checks run, because the run was started with --skip-validation. --no-skip-validation runs them."
    if continued.accept_passing and not given.accept_passing:
        yield "Passing criteria are accepted, because the run was started with --accept-passing."
    if continued.sandbox == "none" != (given.sandbox or config.sandbox.mode):
        yield "No sandbox, because the run was started with --sandbox none. --sandbox auto turns it on."


def _list_in_force(config: Config, options: Options) -> dict[str, Any]:
    """Return limits, sandbox and what was named for the run, under the names of their options."""
    return {
        **{name: get_limit(config, options, name) for name in LIMITS},
        **{name: getattr(options, name) or None for name in NAMED_OPTIONS},
        "sandbox": options.sandbox or config.sandbox.mode,
    }


def hash_spec(spec: Spec) -> str:
    """Return a name for a spec's text, whatever is ticked: aigon's own ticks do not change it."""
    return hashlib.sha256(tick_boxes(spec, {c.number: False for c in spec.criteria})).hexdigest()
