"""What a person asked for on the command line; None where nothing was said."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Literal

from aigon.journal.choices import Step

Source = Literal["environment", "run"]
"""What gives an option its value where no flag does: a variable, or the run that is resumed."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `feature-implement` and of the verbs that share some of them. Times in seconds, money in USD.

    `arena` is the folder that the loops of an arena share, "" for a loop of its own; `time_left` is what is left of
    `max_time` in an arena. `line_up`, `judge_model` and `judge_agent` have no flag: a resume takes them from its run.
    `sources` says which values no flag gave, and where they come from instead.
    """

    feature: str
    loop: bool = False
    resume: bool = False
    max_iterations: int | None = None
    skip_validation: bool | None = None
    validation_script: str | None = None
    agents: tuple[str, ...] = ()
    profile: str | None = None
    model: str | None = None
    judge: str | None = None
    max_cost: float | None = None
    max_time: float | None = None
    iteration_timeout: float | None = None
    idle_timeout: float | None = None
    max_wait: float | None = None
    max_consecutive_failures: int | None = None
    promises: tuple[str, ...] = ()
    worktree: bool | None = None
    on_partial: Literal["keep", "rollback", "ask"] | None = None
    half_turn: Literal["keep", "rollback", "ask"] = "rollback"
    resume_from: Literal["checkpoint", "last-iteration", "best", "rerun", "ask"] = "checkpoint"
    accept_spec: bool = False
    accept_passing: bool | None = None
    yes: bool = False
    sandbox: Literal["auto", "bwrap", "landlock", "none"] | None = None
    arena: str = ""
    time_left: float | None = None
    line_up: tuple[Step, ...] = ()
    judge_model: str | None = None
    judge_agent: str | None = None
    sources: Mapping[str, Source] = field(default_factory=dict)

    def is_flag(self, name: str) -> bool:
        """Whether a flag of this command line gave the option its value."""
        return name not in self.sources and getattr(self, name) != _DEFAULTS[name]


_DEFAULTS = {each.name: each.default for each in fields(Options)}
