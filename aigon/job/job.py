"""The job of a run, decided before any agent starts and unchanged while it runs, and the seat where it works.

A seat is a checkout or an agent's worktree, with the locks that keep other aigons out of it.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from math import inf
from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from aigon.config.prices import NO_PRICES, PriceTable
from aigon.files.home import ensure_home, find_home
from aigon.files.locks import hold_lock, lock_file
from aigon.git.person import Checkout
from aigon.git.repository import find_repository
from aigon.job.assessment import Demand
from aigon.job.escalation import AgentStep
from aigon.job.options import Limits, Waits
from aigon.journal import records
from aigon.journal.attempt import Attempt
from aigon.journal.decisions import Acceptance, HumanDecision, find_decision
from aigon.model.agents import Candidate
from aigon.model.checks import Check
from aigon.model.criteria import DEFAULT_PROMISE, Criterion, Spec
from aigon.model.outcomes import RunPurpose
from aigon.model.requests import JudgeSettings
from aigon.model.turns import Agent
from aigon.profiles.ecosystem import Setup
from aigon.profiles.protection import Protection
from aigon.spec.features import Feature, OwnPaths, is_named, parse_feature_path


class Seat(Struct, frozen=True):
    """`checkout` is the work tree that the agent edits; `main` is where state files and run folders are.

    `candidate` says whose worktree it is; in solo mode it is None, and both places are the same. `linked` are folders
    elsewhere that links in the checkout lead to.
    """

    checkout: Checkout
    main: Path
    candidate: Candidate | None = None
    linked: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The name of this run among those of the feature; "" in solo mode."""
        return self.candidate.label if self.candidate else ""

    @property
    def mode(self) -> Literal["solo", "worktree", "arena"]:
        return self.candidate.mode if self.candidate else "solo"


@contextmanager
def open_main_checkout(checkout: Checkout) -> Iterator[tuple[Checkout, Candidate | None]]:
    """Yield the main checkout, and the candidate if `checkout` is the worktree of one."""
    here = records.find_candidate_at(find_home(checkout.common_dir), checkout.root)
    if here is None:
        yield checkout, None
        return
    with Checkout.open(find_repository(checkout.root).root) as main:
        yield main, here


def list_known_candidates(main: Checkout, wanted: str) -> tuple[Candidate, ...]:
    """Return the candidates of the feature that a person calls `wanted`: its ID, slug, title, path or branch."""
    given = parse_feature_path(wanted if "/" in wanted else f"/{wanted.removesuffix('.md')}.md")
    names = {wanted, given.name_for_people, given.slug} if given else {wanted}
    return tuple(
        each
        for each in records.list_candidates(find_home(main.common_dir))
        if each.branch == wanted or any(is_named(Feature(each.feature, each.slug, "", ""), name) for name in names)
    )


def find_checkout_lock(home: Path, root: Path) -> Path:
    """Return the lock on the checkout at `root`."""
    place = hashlib.sha256(str(root).encode()).hexdigest()[:12]
    return home / "locks" / f"checkout-{place}.lock"


def checkout_lock(home: Path, root: Path) -> AbstractContextManager[None]:
    """Hold the lock on the checkout at `root`. Raises AigonError (exit 7), naming the holder, if it is taken."""
    return hold_lock(find_checkout_lock(home, root), "This checkout")


def hold_checkout(checkout: Checkout) -> AbstractContextManager[None]:
    """Be the only aigon in a checkout: a loop there would take another verb's commits and files for its agent's."""
    return checkout_lock(ensure_home(checkout.common_dir), checkout.root)


@contextmanager
def hold_set_up_lock(home: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock on making worktrees in a repository. If another aigon holds it, say so and wait."""
    (home / "locks").mkdir(parents=True, exist_ok=True)
    lock = home / "locks" / "set-up.lock"
    with ExitStack() as held:
        try:
            held.enter_context(lock_file(lock))
        except TimeoutError:
            say("another aigon is making worktrees here: waiting for it")
            held.enter_context(lock_file(lock, inf))
        yield


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
