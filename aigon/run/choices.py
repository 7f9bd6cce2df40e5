"""The choices of a run: the settings of its spec joined with its options, recorded at the start, continued by a resume.

What goes before what: flag > AIGON_* > spec > mode > kind > configuration.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from aigon.agents.configured import find_agent
from aigon.config.loading import ReadFile, load_configuration, open_work_tree
from aigon.config.models import Config, KindConfig
from aigon.config.sections import read_section, write_value
from aigon.errors import usage
from aigon.files.resources import read_shipped
from aigon.job.job import Job
from aigon.job.options import LIMITS, Limits, Options, Source, get_limit, spell_option
from aigon.journal.events import Choices, RecordedStep, RunStarted
from aigon.model.criteria import Spec, SpecMode, SpecSettings
from aigon.spec.annotation import EXAMPLES
from aigon.spec.document import tick_boxes
from aigon.text.amounts import abbreviate_duration, format_count
from aigon.text.documents import parse_yaml, suggest

if TYPE_CHECKING:
    from aigon.run.prepare import Prepared


MODES: Mapping[SpecMode, Mapping[str, Any]] = {"ralph": {"loop": True, "max_iterations": 15, "max_time": 7200.0}}
"""The options that a mode implies."""
SPEC_SOURCES: tuple[Source, ...] = ("spec", "mode", "kind")
"""Where an option comes from if the spec gives it."""


class TaskKind(Struct, frozen=True):
    """A kind of task: `name`, and its limits; `window` is in seconds, None for the whole task."""

    name: str
    limits: KindConfig

    @property
    def window(self) -> float | None:
        return None if self.limits.per == "task" else float(self.limits.per)

    @property
    def options(self) -> Mapping[str, Any]:
        """The options that the kind implies."""
        return {"max_iterations": self.limits.iterations, "max_time": self.window}


def find_kind(config: "Config", spec: "Spec", where: str) -> TaskKind | None:
    """Return the kind of task that a spec names, if it does. Raises AigonError (exit 2), with its line, if unknown."""
    settings = spec.settings
    if not settings.kind:
        return None
    kinds = _load_kinds(config.kinds)
    if settings.kind not in kinds:
        at = f"{where}: line {settings.lines['kind']}"
        raise usage(f"There is no kind of task {settings.kind!r}", where=at, hint=suggest(settings.kind, kinds))
    return TaskKind(settings.kind, kinds[settings.kind])


def _load_kinds(own: Mapping[str, KindConfig]) -> dict[str, KindConfig]:
    """Return all kinds by name; what a project sets goes before what ships under the same name."""
    shipped: Any = parse_yaml(read_shipped("templates", "kinds.yaml"), "kinds.yaml").value
    return {
        name: read_section(KindConfig, {**shipped.get(name, {}), **write_value(own.get(name, {}))})
        for name in {**shipped, **own}
    }


def apply_settings(options: Options, settings: SpecSettings, kind: TaskKind | None) -> Options:
    """Return the options with what the spec sets where neither a flag, a variable nor a resumed run does."""
    own = {"max_iterations": settings.max_iterations, "max_time": settings.max_time, "promises": settings.promises}
    mode = MODES[settings.mode] if settings.mode else {}
    for source, values in zip(SPEC_SOURCES, (own, mode, kind.options if kind else {}), strict=True):
        given = {name: value for name, value in values.items() if value and not getattr(options, name)}
        options = replace(options, **given, sources={**options.sources, **dict.fromkeys(given, source)})
    return options


def describe_settings(options: Options, kind: TaskKind | None, spec: "Spec") -> Iterator[str]:
    """Yield what the mode gives the run, what the kind does, and that nothing shows success, if that is so."""
    for source in ("mode", "kind"):
        given = {name for name, each in options.sources.items() if each == source}
        words = ["--loop"] if "loop" in given else []
        if "max_iterations" in given:
            per = " per task" if source == "kind" and kind and kind.window is None else ""
            words.append(f"{format_count(options.max_iterations or 0, 'iteration')}{per}")
        if "max_time" in given:
            words.append(f"at most {abbreviate_duration(options.max_time or 0)}")
        name = f"mode: {spec.settings.mode}" if source == "mode" else f"kind: {kind.name if kind else ''}"
        if words:
            yield f"by `{name}` in the spec: {', '.join(words)} (flags go before it)"
    wanted = kind.limits.success if kind else None
    if kind and wanted and wanted not in {criterion.kind for criterion in spec.criteria}:
        yield f"no criterion has what shows the success of a {kind.name} task, such as {EXAMPLES[wanted]}"


def limit_by_kind(
    limits: Limits, options: Options, kind: TaskKind | None, numbered: int, times: Sequence[str], now: datetime
) -> Limits:
    """Return the limits less the iterations that the kind of task counts already, unless something else sets them.

    `numbered` iterations of the feature are finished, at `times` (ISO 8601). A time to come counts as well: the clock
    was set back.
    """
    if kind is None or options.sources.get("max_iterations") != "kind":
        return limits
    whole, window = kind.limits.iterations, kind.window
    used, within = numbered, ""
    if window is not None:
        used = sum((now - datetime.fromisoformat(at)).total_seconds() < window for at in times)
        within = f" in {abbreviate_duration(window)}"
    if whole - used > limits.iterations:
        return limits  # one iteration without --loop, say
    said = f"{whole} of {whole} iterations of this {kind.name} task{within} are used; --max-iterations N goes on"
    return replace(limits, iterations=max(0, whole - used), all_used=said)


NAMED_OPTIONS = ("profile", "validation_script", "skip_validation", "accept_passing", "promises", "on_partial")
"""In force only if they were named for the run."""
SHARED = ("max_cost", "max_time")
"""Limits for all agents of an arena together."""


def record_choices(job: Job, prepared: "Prepared", options: Options) -> Choices:
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
