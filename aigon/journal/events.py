"""The one stream of typed events that leaves the loop.

A run is the fold of its events: `aigon.journal.state.State.apply` turns them into the state of the run, and the journal
keeps them. `at` is wall-clock time as ISO 8601 with offset, for people; nothing is decided by it.
Events in DURABLE are on disk before the loop takes its next step.
"""

from typing import Literal

from aigon.config.grants import WantedMechanism
from aigon.model import Recorded
from aigon.model.changes import Concern, FileChange, PutBack
from aigon.model.checks import Finding
from aigon.model.criteria import Promise, Verdict
from aigon.model.outcomes import PURPOSES, Outcome, RunPurpose
from aigon.model.requests import AgentRequest
from aigon.model.resources import ResourceUse
from aigon.model.turns import CostStatus, Turn


class RecordedStep(Recorded, frozen=True):
    """A step of an agent's escalation, for `turns` turns (0: all that follow)."""

    agent: str
    model: str = ""
    effort: str = ""
    turns: int = 0
    full: bool = False


class Choices(Recorded, frozen=True):
    """Options in force for a run, under their names, in seconds and US dollars; None for those that were not set.

    `line_up` holds the escalation steps of the agent, then those of its stand-ins. `model` is the one named on the
    command line. `profile` and `validation_script` are kept only if they were named for the run.
    """

    line_up: tuple[RecordedStep, ...] = ()
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


class RecordedTask(Recorded, frozen=True):
    """A criterion as a task: its text, and what decides it."""

    criterion: int
    subject: str
    description: str


HookStatus = Literal["ok", "failed", "timed_out", "not_started"]


class RunStarted(Recorded, frozen=True):
    """A run began or, if `resumed`, goes on: the count against the iteration limit starts anew.

    Earlier runs of the feature spent `spent_before` US dollars; `unknown_before` turns did not report their cost.
    Commits between `since` and `head` may be an agent's, from a turn that was broken off or not yet judged.
    Iteration numbers continue after `earlier_iterations`. `kind` is that of the spec, `profile` names that of the
    checks. Journals of older versions lack both, `choices` and `tasks`. `requests` are those of an agent whose turn was
    broken off. `purpose` is more than to build the feature for the runs of `aigon feature-prove`.
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
    kind: str = ""
    profile: str = ""
    requests: tuple[AgentRequest, ...] = ()
    tasks: tuple[RecordedTask, ...] = ()
    purpose: RunPurpose = "build"
    event: Literal["run_started"] = "run_started"

    @property
    def subject(self) -> str:
        """The work of the run: `tests for feature 42 dark-mode`."""
        return f"{PURPOSES[self.purpose]}feature {' '.join(dict.fromkeys((self.feature_id, self.slug)))}"


class CheckStarted(Recorded, frozen=True):
    """A check, or the command of a criterion, began."""

    at: str
    number: int
    check: str
    title: str
    event: Literal["check_started"] = "check_started"


class CheckFinished(Recorded, frozen=True):
    """A check has a finding."""

    at: str
    number: int
    finding: Finding
    event: Literal["check_finished"] = "check_finished"


class CriterionJudged(Recorded, frozen=True):
    """A criterion has a verdict for this tree."""

    at: str
    number: int
    verdict: Verdict
    text: str
    event: Literal["criterion_judged"] = "criterion_judged"


class JudgeAsked(Recorded, frozen=True):
    """A judge is about to be asked about these criteria."""

    at: str
    number: int
    criteria: tuple[int, ...]
    event: Literal["judge_asked"] = "judge_asked"


class IterationStarted(Recorded, frozen=True):
    """An agent turn is about to begin: from here on it may have been paid for.

    The same number comes again if the turn was rate-limited and is repeated. `tasks` are the first open criteria that
    its prompt names.
    """

    at: str
    number: int
    agent: str
    model: str
    rung: int
    rungs: int
    prompt_chars: int
    effort: str = ""
    tasks: tuple[int, ...] = ()
    event: Literal["iteration_started"] = "iteration_started"


class TurnEnded(Recorded, frozen=True):
    """The agent's turn is over and none of its processes remains. `took` is its peak use of the machine.

    `requests` is what the agent left in the mailbox of the turn.
    """

    at: str
    turn: Turn
    took: tuple[ResourceUse, ...] = ()
    requests: tuple[AgentRequest, ...] = ()
    event: Literal["turn_ended"] = "turn_ended"


class Waiting(Recorded, frozen=True):
    """Nobody can work now. The run goes on at `until` (seconds since the epoch), unless a person stops it."""

    at: str
    number: int
    agent: str
    reason: str
    seconds: float
    until: float
    event: Literal["waiting"] = "waiting"


class SavedAside(Recorded, frozen=True):
    """Work that did not go into the branch was saved under `ref` instead of destroyed."""

    at: str
    number: int
    ref: str
    commit: str
    what: str
    event: Literal["parked"] = "parked"


class IterationFinished(Recorded, frozen=True):
    """The assessment of one tree: what was found, decided and committed. Number 0 is the baseline.

    `fingerprint` names the set of failures and open criteria; `score` orders assessments by progress. `content` names
    what the tree holds beyond the base, without aigon's own files, and `tree` all of it; both may be empty if nothing
    needed them. `adds_nothing`: only aigon's own files differ from the base. `concerns` are integrity findings, looked
    for once all else passes; `put_back` are files that the agent of this turn may not change.
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
    put_back: tuple[PutBack, ...] = ()
    event: Literal["iteration_finished"] = "iteration_finished"

    @property
    def questions(self) -> tuple[str, ...]:
        """Name the reviews and the judge's doubts that a further turn can settle as well as a person."""
        reviews = [f"{c.rule} {c.key}" for c in self.concerns if c.level == "review" and c.mendable]
        doubts = [f"criterion {v.criterion}" for v in self.verdicts if (v.status, v.method) == ("unclear", "judge")]
        return (*reviews, *doubts)


class CommitIntended(Recorded, frozen=True):
    """`branch` is about to move from `old` to the new `commit`. After a crash, the ref says whether it did."""

    at: str
    number: int
    commit: str
    old: str
    branch: str
    finished: IterationFinished
    event: Literal["checkpoint_intended"] = "checkpoint_intended"


class RolledBack(Recorded, frozen=True):
    """The branch is about to go back from `from_commit` to `commit`, where iteration `number` ended (0: the start).

    The later work is saved under `ref`. After a crash, the branch says whether it moved.
    """

    at: str
    number: int
    commit: str
    from_commit: str
    ref: str
    why: str
    event: Literal["rolled_back"] = "rolled_back"


class RecordRepaired(Recorded, frozen=True):
    """The journal was damaged and rewritten up to here; `lost` lines, of between `since` and `until`, are unreadable.

    `number` is the highest iteration number that the rest of the lines or the branch still names, `usd` the spending
    that they name, `checkpoints` the commits. The damaged file is kept as `kept_as`.
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


class MoneySpent(Recorded, frozen=True):
    """Money that went to something other than an agent turn (the judge). US dollars; None is unknown."""

    at: str
    number: int
    what: str
    cost: float | None
    status: CostStatus
    event: Literal["spent"] = "spent"


class Notice(Recorded, frozen=True):
    """A line for people that changes no decision."""

    at: str
    text: str
    level: Literal["info", "warning"] = "info"
    event: Literal["notice"] = "notice"


class HookRan(Recorded, frozen=True):
    """A hook has ended: a program told of the moment `point`; `name` says where it comes from.

    `output` is the end of what it printed, or why it did not start. With `veto` it stops the run.
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


class RunFinished(Recorded, frozen=True):
    """The run ended. `commit` is the tree that the outcome is about, `iterations` counts over all resumes.

    `remaining_issues` are the reasons, a line each, why it is not proven.
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
