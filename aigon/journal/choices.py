"""What was in force for a run, written down so that a resume can continue with it."""

from dataclasses import dataclass
from typing import Literal

from aigon.config.grants import WantedMechanism


@dataclass(frozen=True, slots=True)
class Step:
    """One rung of an agent's escalation ladder, for `turns` turns (0: all that follow)."""

    agent: str
    model: str = ""
    effort: str = ""
    turns: int = 0
    full: bool = False


@dataclass(frozen=True, slots=True)
class Choices:
    """Values under the names of the options that set them, in seconds and US dollars; None where nothing was set.

    `line_up` holds the ladder of the agent, then those of the agents that stand in for it. `model` is the one that was
    asked for by name, beside what the ladder says. `judge_model` and `judge_agent` belong to `judge`. `profile` and
    `validation_script` are kept only if they were named for the run: the configuration's own are read anew.
    """

    line_up: tuple[Step, ...] = ()
    model: str | None = None
    judge: str | None = None
    judge_model: str | None = None
    judge_agent: str | None = None
    sandbox: WantedMechanism | None = None
    profile: str | None = None
    validation_script: str | None = None
    skip_validation: bool | None = None
    accept_passing: bool | None = None
    max_iterations: int | None = None
    max_cost: float | None = None
    max_time: float | None = None
    iteration_timeout: float | None = None
    idle_timeout: float | None = None
    max_wait: float | None = None
    max_consecutive_failures: int | None = None
    promises: tuple[str, ...] | None = None
    on_partial: Literal["keep", "rollback", "ask"] | None = None
