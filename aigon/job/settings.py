"""The settings of a spec joined with the options of a run: flag > AIGON_* > spec > mode > kind > configuration."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from aigon.errors import usage
from aigon.files.resources import read_shipped
from aigon.job.options import Limits, Options, Source
from aigon.model.criteria import SpecMode, SpecSettings
from aigon.spec.annotation import EXAMPLES
from aigon.text.amounts import abbreviate_duration, format_count
from aigon.text.documents import parse_yaml, suggest

if TYPE_CHECKING:
    from aigon.config.models import Config, KindConfig
    from aigon.model.criteria import Spec

MODES: Mapping[SpecMode, Mapping[str, Any]] = {"ralph": {"loop": True, "max_iterations": 15, "max_time": 7200.0}}
"""The options that a mode implies."""
SPEC_SOURCES: tuple[Source, ...] = ("spec", "mode", "kind")
"""Where an option comes from if the spec gives it."""


class TaskKind(Struct, frozen=True):
    """A kind of task: `name`, and its limits; `window` is in seconds, None for the whole task."""

    name: str
    limits: "KindConfig"

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


def _load_kinds(own: Mapping[str, "KindConfig"]) -> dict[str, "KindConfig"]:
    """Return all kinds by name; what a project sets goes before what ships under the same name."""
    from aigon.config.models import KindConfig
    from aigon.config.sections import read_section, write_value

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
