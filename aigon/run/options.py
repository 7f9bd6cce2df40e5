"""What a person asked for on the command line; None where nothing was said."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `feature-implement` and of the verbs that share some of them. Times in seconds, money in USD.

    `arena` is the folder that the loops of an arena share, "" for a loop of its own.
    """

    feature: str
    loop: bool = False
    resume: bool = False
    max_iterations: int | None = None
    skip_validation: bool = False
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
    on_partial: Literal["keep", "rollback", "ask"] = "keep"
    half_turn: Literal["keep", "rollback", "ask"] = "rollback"
    resume_from: Literal["checkpoint", "rerun", "ask"] = "checkpoint"
    accept_spec: bool = False
    yes: bool = False
    sandbox: Literal["auto", "bwrap", "landlock", "none"] | None = None
    arena: str = ""
