"""What a run is about, decided before any agent starts and not changed while it runs."""

from dataclasses import dataclass

from aigon.core.agent import Agent
from aigon.core.decide import Demand, Limits
from aigon.core.decisions import Decision
from aigon.core.features import Feature
from aigon.core.judging import JudgeSettings
from aigon.core.model import Check, Spec


@dataclass(frozen=True, slots=True)
class Job:
    """`rungs` is the escalation ladder: the agent as it starts, then as it is configured after repeated errors.

    `label` tells arena agents apart and is empty in solo mode; `spec_path` and `log_path` are relative to the
    workspace; `turn_timeout` is in seconds; `slots` is how many checks run side by side.
    """

    feature: Feature
    label: str
    mode: str
    spec: Spec
    spec_path: str
    log_path: str
    base_commit: str
    checks: tuple[Check, ...]
    demand: Demand
    limits: Limits
    rungs: tuple[Agent, ...]
    judge: JudgeSettings | None
    template: str
    turn_timeout: float
    slots: int = 2
    stop_on_first_failure: bool = False
    auto_check: bool = True
    use_cache: bool = True
    decisions: tuple[Decision, ...] = ()

    @property
    def own_files(self) -> frozenset[str]:
        """The two files that aigon itself writes into a checkpoint."""
        return frozenset((self.spec_path, self.log_path))
