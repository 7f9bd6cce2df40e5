"""The job of a run: decided before any agent starts, and unchanged while it runs."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

from aigon.config.prices import NO_PRICES, PriceTable
from aigon.job.demand import Demand
from aigon.job.escalation import AgentStep
from aigon.job.options import Limits, Waits
from aigon.journal.acceptance import Acceptance
from aigon.journal.attempt import Attempt
from aigon.journal.decisions import HumanDecision, find_decision
from aigon.model.checks import Check
from aigon.model.criteria import DEFAULT_PROMISE, Criterion, Spec
from aigon.model.judging import JudgeSettings
from aigon.model.outcomes import RunPurpose
from aigon.model.turns import Agent
from aigon.profiles.ecosystem import Setup
from aigon.profiles.protection import Protection
from aigon.spec.features import Feature, OwnPaths


class ProofPlan(Struct, frozen=True):
    """The plan for running everything once more before a run may end as proven.

    `setups` are the ways to the project's dependencies, `caches` variables with folders of the person's home. `network`
    is that of the checks; loopback is always open.
    """

    mode: Literal["clean-room", "in-place"] = "clean-room"
    home: Literal["throwaway", "real"] = "throwaway"
    isolation: Literal["auto", "bwrap", "namespaces", "landlock", "none"] = "auto"
    network: Literal["open", "closed"] = "open"
    setups: tuple[Setup, ...] = ()
    caches: Mapping[str, str] = field(default_factory=dict)


class Job(Struct, frozen=True):
    """`steps` are the escalation steps of the agent; `fallback` holds those of each of its stand-ins.

    `promises` are the phrases with which an agent may claim to be done; `waits` limits the waiting for agents.
    `earlier` is what earlier runs of the feature tried; `base_results` says by `criterion_key` whether a criterion
    passed at the base commit, if an earlier assessment recorded it. `scope` is the only folder that may change, "" for
    none in particular; `acceptance` are tests that were written before the work.

    `label` tells arena agents apart and is empty in solo mode; `spec_path` and `log_path` are relative to the
    workspace; `turn_timeout` and `idle_timeout` (None: no limit) are in seconds; `slots` is how many checks run side by
    side.
    """

    feature: Feature
    label: str
    mode: Literal["solo", "worktree", "arena"]
    spec: Spec
    spec_path: str
    log_path: str
    base_commit: str
    checks: tuple[Check, ...]
    demand: Demand
    limits: Limits
    steps: tuple[AgentStep, ...]
    judge: JudgeSettings | None
    template: str
    turn_timeout: float
    slots: int = 2
    stop_on_first_failure: bool = False
    auto_check: bool = True
    use_cache: bool = True
    decisions: tuple[HumanDecision, ...] = ()
    protection: Protection = field(default_factory=Protection)
    proof: ProofPlan = ProofPlan()
    fallback: tuple[tuple[AgentStep, ...], ...] = ()
    promises: tuple[str, ...] = (DEFAULT_PROMISE,)
    waits: Waits = field(default_factory=Waits)
    idle_timeout: float | None = None
    prices: PriceTable = NO_PRICES
    earlier: tuple[Attempt, ...] = ()
    base_results: Mapping[str, bool] = field(default_factory=dict)
    scope: str = ""
    acceptance: Acceptance | None = None
    purpose: RunPurpose = "build"

    @property
    def name(self) -> str:
        """A name that no other run of the repository has at the same time: for folders of its own."""
        return f"{self.feature.name}-{self.label}" if self.label else self.feature.name

    @property
    def agent(self) -> Agent:
        """The agent with which the run begins."""
        return self.steps[0].agent

    @property
    def required(self) -> tuple[Criterion, ...]:
        """The criteria that no person waived."""
        decisions = ((each, find_decision(self.decisions, each, "")) for each in self.spec.criteria)
        return tuple(each for each, decision in decisions if not (decision and decision.decision == "waive"))

    @property
    def own_files(self) -> frozenset[str]:
        """The files that aigon itself writes into an iteration commit."""
        return OwnPaths((self.spec_path, self.log_path))
