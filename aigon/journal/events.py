"""The one stream of typed events that leaves the loop.

A run is the fold of its events: `aigon.journal.state.State.apply` turns them into the state of the run, and the journal
keeps them. `at` is wall-clock time as ISO 8601 with offset, for people; nothing is decided by it.
Events in DURABLE are on disk before the loop takes its next step.
"""

from dataclasses import dataclass
from typing import Literal

from aigon.config.grants import WantedMechanism
from aigon.model.changes import Concern, FileChange
from aigon.model.checks import Finding
from aigon.model.criteria import Promise, Verdict
from aigon.model.outcomes import Outcome
from aigon.model.resources import ResourceUse
from aigon.model.turns import CostStatus, Turn


@dataclass(frozen=True, slots=True)
class EscalationStep:
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

    line_up: tuple[EscalationStep, ...] = ()
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


HookStatus = Literal["ok", "failed", "timed_out", "not_started"]


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run began, or (`resumed`) goes on: the count against the iteration limit starts anew.

    `spent_before` US dollars went to earlier runs of the feature, of which `unknown_before` turns did not say.
    Commits between `since` and `head` may be an agent's, of a turn that is still to be judged or was broken off; ""
    where there are none. `earlier_iterations` is the highest number of an iteration of earlier runs on this branch:
    numbers continue after it. `choices` is what a resume continues with; None in journals of older versions.
    """

    at: str
    run_id: str
    feature_id: str
    slug: str
    label: str
    agent: str
    mode: Literal["solo", "worktree", "arena"]
    branch: str
    base_commit: str
    head: str
    spec_path: str
    spec_sha: str
    criteria_total: int
    max_iterations: int
    resumed: bool = False
    skip_validation: bool = False
    human_ticks: tuple[str, ...] = ()
    pid: int = 0
    host: str = ""
    spent_before: float = 0.0
    unknown_before: int = 0
    since: str = ""
    earlier_iterations: int = 0
    choices: Choices | None = None
    event: Literal["run_started"] = "run_started"


@dataclass(frozen=True, slots=True)
class CheckStarted:
    """A check (or the command of a criterion) began to run."""

    at: str
    number: int
    check: str
    title: str
    event: Literal["check_started"] = "check_started"


@dataclass(frozen=True, slots=True)
class CheckFinished:
    """A check has a finding."""

    at: str
    number: int
    finding: Finding
    event: Literal["check_finished"] = "check_finished"


@dataclass(frozen=True, slots=True)
class CriterionJudged:
    """A criterion has a verdict for this tree."""

    at: str
    number: int
    verdict: Verdict
    text: str
    event: Literal["criterion_judged"] = "criterion_judged"


@dataclass(frozen=True, slots=True)
class JudgeAsked:
    """A judge is about to be asked about these criteria."""

    at: str
    number: int
    criteria: tuple[int, ...]
    event: Literal["judge_asked"] = "judge_asked"


@dataclass(frozen=True, slots=True)
class IterationStarted:
    """An agent turn is about to begin. DURABLE: after this, a paid turn may have happened.

    The same number comes again when a turn was held up (a usage limit) and is begun anew.
    """

    at: str
    number: int
    agent: str
    model: str
    rung: int
    rungs: int
    prompt_chars: int
    effort: str = ""
    event: Literal["iteration_started"] = "iteration_started"


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The agent's turn is over and none of its processes is left. DURABLE: its cost is known from here on.

    `took` is what it needed of disk and memory at its peak.
    """

    at: str
    turn: Turn
    took: tuple[ResourceUse, ...] = ()
    event: Literal["turn_ended"] = "turn_ended"


@dataclass(frozen=True, slots=True)
class Waiting:
    """Nobody can work now. The run goes on at `until` (seconds since the epoch), or when a person says stop."""

    at: str
    number: int
    agent: str
    reason: str
    seconds: float
    until: float
    event: Literal["waiting"] = "waiting"


@dataclass(frozen=True, slots=True)
class SavedAside:
    """Something that did not go into the branch was kept under `ref` instead of destroyed."""

    at: str
    number: int
    ref: str
    commit: str
    what: str
    event: Literal["parked"] = "parked"


@dataclass(frozen=True, slots=True)
class IterationFinished:
    """The look at one tree: what was found, decided and committed. Number 0 is the look at the base.

    `fingerprint` names the set of failing fingerprints and unmet criteria; `score` orders looks by progress
    (criteria met, checks green, tests passed); `content` names what the tree holds beyond the base, aigon's own
    files left out, where anything asked for it; `concerns` are the integrity findings, looked for only where all else
    is proven; `tree` names what the tree holds, where that was known at no cost; `promises` are those that the agent
    made, kept or broken; `took` is what turn and look together needed of disk and memory at their peak.
    `passed_at_base` numbers the criteria that passed at the base commit already; `adds_nothing`: the tree holds nothing
    beyond the base but aigon's own files (only looked for at iteration 0 and where all is proven).
    """

    at: str
    number: int
    started_at: str
    checkpoint: str
    findings: tuple[Finding, ...]
    verdicts: tuple[Verdict, ...]
    changes: tuple[FileChange, ...]
    fingerprint: str
    score: tuple[int, ...]
    feedback: str
    content: str = ""
    concerns: tuple[Concern, ...] = ()
    tree: str = ""
    promises: tuple[Promise, ...] = ()
    took: tuple[ResourceUse, ...] = ()
    passed_at_base: tuple[int, ...] = ()
    adds_nothing: bool = False
    event: Literal["iteration_finished"] = "iteration_finished"

    @property
    def questions(self) -> tuple[str, ...]:
        """What is open for a person and an agent may still settle, by name: reviews, and a judge's doubts."""
        reviews = [f"{c.rule} {c.key}" for c in self.concerns if c.level == "review"]
        doubts = [f"criterion {v.criterion}" for v in self.verdicts if (v.status, v.method) == ("unclear", "judge")]
        return (*reviews, *doubts)


@dataclass(frozen=True, slots=True)
class CommitIntended:
    """The commit object exists; `branch` is about to move from `old` to `commit`. DURABLE.

    `finished` is the look that the commit holds: after a crash, the ref says whether it happened.
    """

    at: str
    number: int
    commit: str
    old: str
    branch: str
    finished: IterationFinished
    event: Literal["checkpoint_intended"] = "checkpoint_intended"


@dataclass(frozen=True, slots=True)
class RolledBack:
    """The branch is about to go back from `from_commit` to `commit`, at which iteration `number` ended. DURABLE.

    Number 0 is where the run began. What came after it is kept under `ref`; `why` says what is better there. After a
    crash, the branch says whether it happened.
    """

    at: str
    number: int
    commit: str
    from_commit: str
    ref: str
    why: str
    event: Literal["rolled_back"] = "rolled_back"


@dataclass(frozen=True, slots=True)
class RecordRepaired:
    """The record was damaged and is written anew up to here; `lost` lines of it tell nothing any more. DURABLE.

    They were of between `since` and `until` ("" where nothing says). `number` is the highest number that an iteration
    is known to have had, in what is left of them or in the branch's commits; `usd` is what of them still said that it
    was spent (US dollars): what else was is unknown; `checkpoints` are the commits that they still name as aigon's own.
    The damaged record is kept as `kept_as`.
    """

    at: str
    number: int
    lost: int
    since: str
    until: str
    usd: float
    kept_as: str
    checkpoints: tuple[str, ...] = ()
    event: Literal["record_mended"] = "record_mended"


@dataclass(frozen=True, slots=True)
class MoneySpent:
    """Money that went to something else than an agent turn (the judge). US dollars; None is unknown."""

    at: str
    number: int
    what: str
    cost: float | None
    status: CostStatus
    event: Literal["spent"] = "spent"


@dataclass(frozen=True, slots=True)
class Notice:
    """A line for people: something they should know, that changes no decision."""

    at: str
    text: str
    level: Literal["info", "warning"] = "info"
    event: Literal["notice"] = "notice"


@dataclass(frozen=True, slots=True)
class HookRan:
    """A program that is told of a moment of the run has ended.

    `point` is the moment, `name` says where the program comes from, `duration` is in seconds, `output` the end of
    what it printed, or why it did not start. With `veto` it does not let the run go on.
    """

    at: str
    number: int
    point: str
    name: str
    status: HookStatus
    exit_code: int | None
    duration: float
    output: str = ""
    veto: bool = False
    event: Literal["hook_ran"] = "hook_ran"


@dataclass(frozen=True, slots=True)
class RunFinished:
    """The run ended. DURABLE. `commit` is the tree that the outcome speaks of.

    `iterations` is how many the run has finished over its resumes; `remaining_issues` say what keeps it from being
    proven, a line each, and are none after a success.
    """

    at: str
    outcome: Outcome
    status: str
    exit_code: int
    summary: str
    commit: str
    iterations: int = 0
    remaining_issues: tuple[str, ...] = ()
    event: Literal["run_finished"] = "run_finished"


Event = (
    RunStarted
    | CheckStarted
    | CheckFinished
    | JudgeAsked
    | CriterionJudged
    | IterationStarted
    | TurnEnded
    | Waiting
    | SavedAside
    | CommitIntended
    | IterationFinished
    | RolledBack
    | RecordRepaired
    | MoneySpent
    | Notice
    | HookRan
    | RunFinished
)

DURABLE = (RunStarted, IterationStarted, TurnEnded, SavedAside, CommitIntended, RolledBack, RecordRepaired, RunFinished)
