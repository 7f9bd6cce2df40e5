"""The values that everything else speaks of. Frozen: a fact, once seen, does not change."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from aigon.model.resources import Volume

CriterionKind = Literal["verify", "metric", "check", "judge", "human"]
Role = Literal["tests", "build", "lint", "types", "endpoints", "script", "git", "proof", "integrity"]
CheckStatus = Literal["pass", "fail", "error", "skipped"]
VerdictStatus = Literal["met", "unmet", "unclear"]
VERDICT_WORDS: Mapping[str, str] = {"met": "proven", "unmet": "open", "unclear": "unclear"}
"""What people and agents read for a verdict, wherever one is shown."""
TurnEnd = Literal[
    "finished", "failed", "refused", "timed_out", "not_started", "killed",
    "usage_limit", "overloaded", "bad_credentials", "unavailable",
]  # fmt: skip
HELD: tuple[TurnEnd, ...] = ("usage_limit", "overloaded", "unavailable")
"""Ends that pass by themselves: nobody's failure, and no iteration is used up by them."""
TestResult = Literal["passed", "failed", "error", "skipped"]
CostStatus = Literal["reported", "estimated", "unknown"]

OWN: tuple[Role, ...] = ("git", "proof", "integrity")
"""Roles of aigon's own checks: no failure of theirs is ever forgiven, and no pass of theirs is the project's."""
ROLES: tuple[Role, ...] = ("tests", "build", "lint", "types", "endpoints", "script", "git")
ROLE_TITLES: Mapping[str, str] = {
    "tests": "Tests",
    "build": "Build",
    "lint": "Lint",
    "types": "Type check",
    "endpoints": "Endpoints",
    "script": "Validation script",
    "git": "Git",
    "proof": "Clean-room proof",
    "integrity": "Integrity",
}


@dataclass(frozen=True, slots=True)
class Criterion:
    """One task-list item of the acceptance criteria.

    `number` counts from 1 in file order; `line` is 1-based; `command` is what stands after the colon of the
    annotation (a command, a command with a bound, a check's name); `box` is the offset, in bytes of the file,
    of the character between the brackets.
    """

    number: int
    line: int
    text: str
    checked: bool
    kind: CriterionKind
    command: str | None
    box: int


@dataclass(frozen=True, slots=True)
class SpecWarning:
    """Something odd in a spec that does not stop a run. `line` is 1-based."""

    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Spec:
    """A parsed feature spec. `raw` is the file as it stands; `validation` the script of `## Validation`."""

    raw: bytes
    title: str
    frontmatter: Mapping[str, object]
    criteria: tuple[Criterion, ...]
    validation: str | None
    warnings: tuple[SpecWarning, ...] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """One validation command, resolved for this project on this machine.

    `argv` may contain `{report}`: the path of a report file that does not exist before the run; `reports` are patterns
    of report files, relative to `cwd`, that the command itself places. `timeout` is in seconds; `cwd` is relative to
    the workspace; `missing` names a tool that was not found, `hint` how to get it; `remember` says whether a pass on a
    tree stands for the next run on the same tree; `shown` what people read in place of the command line; `writes` are
    the paths that the command writes beside `cwd`'s files (`.`: nobody knows which).
    """

    name: str
    role: Role
    argv: tuple[str, ...]
    parser: str | None = None
    timeout: float = 600.0
    exclusive: bool = False
    when: Literal["each", "final"] = "each"
    paths: tuple[str, ...] = ()
    cwd: str = "."
    env: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    missing: str = ""
    hint: str = ""
    remember: bool = True
    reports: tuple[str, ...] = ()
    shown: str = ""
    writes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """How people call it: `Tests`, or `Tests (web)` for a check called `tests-web`."""
        title = ROLE_TITLES[self.role]
        return title if self.name == self.role else f"{title} ({self.name.removeprefix(f'{self.role}-')})"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing a tool complained about. `file` is relative to the workspace where the tool says so."""

    message: str
    file: str = ""
    line: int = 0
    rule: str = ""
    severity: Literal["error", "warning"] = "error"
    test: str = ""


@dataclass(frozen=True, slots=True)
class Counts:
    """What a test runner counted. `errors` are tests that could not run (collection, fixtures)."""

    total: int = 0
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    errors: int = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """What a parser read out of a tool's output: a description, never a verdict.

    `counts` is None unless the output is a test report; `summary` is a short phrase such as `15/15 passed`;
    `understood` is False when the bytes were not in the parser's format at all; `tests` are the results of a report
    by test id.
    """

    summary: str = ""
    counts: Counts | None = None
    problems: tuple[Problem, ...] = ()
    understood: bool = True
    tests: Mapping[str, TestResult] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check produced on one tree. `duration` is in seconds; `log` the file with its whole output."""

    check: str
    role: Role
    title: str
    status: CheckStatus
    summary: str
    command: str = ""
    exit_code: int | None = None
    duration: float = 0.0
    counts: Counts | None = None
    problems: tuple[Problem, ...] = ()
    fingerprints: tuple[str, ...] = ()
    excerpt: str = ""
    log: str = ""
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision on one criterion. `method` names what decided.

    That is verify, metric, check:NAME, judge, approval (a person did), human (one has to), judge:unavailable or
    judge:broken (its program answers in another format).
    """

    criterion: int
    status: VerdictStatus
    method: str
    evidence: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one turn. `input` excludes what was read from a cache; `cached` is what was read from it."""

    input: int = 0
    output: int = 0
    cached: int = 0

    @classmethod
    def of_whole(cls, whole: int, output: int, cached: int) -> "Usage":
        """From a program that counts what was read from a cache as part of its input (`whole`)."""
        return cls(max(0, whole - cached), output, cached)

    @classmethod
    def of_all(cls, parts: Iterable["Usage"]) -> "Usage":
        """Add up several."""
        each = tuple(parts)
        return cls(sum(one.input for one in each), sum(one.output for one in each), sum(one.cached for one in each))


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """What one of several models used in a turn."""

    model: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class Turn:
    """One agent turn, as it ended. `cost` is in US dollars and None when unknown; `duration` in seconds.

    `said` is the agent's last text: a claim, shown to people, never evidence and never fed back; `tools` are the tools
    it used, a short line each; `resets_at`, in seconds since the epoch, is when a usage limit ends; `usage_by_model`
    divides `usage` where a program told of several models; `log` is the file with the whole output of its program.
    """

    number: int
    agent: str
    model: str
    end: TurnEnd
    exit_code: int | None = None
    said: str = ""
    detail: str = ""
    cost: float | None = None
    cost_status: CostStatus = "unknown"
    usage: Usage | None = None
    session: str = ""
    denied: tuple[str, ...] = ()
    duration: float = 0.0
    resets_at: float | None = None
    tools: tuple[str, ...] = ()
    usage_by_model: tuple[ModelUsage, ...] = ()
    log: str = ""

    @property
    def failed(self) -> bool:
        """A failed turn: the agent did not start, exited non-zero, or ran into its deadline."""
        return self.end != "finished" and not self.held

    @property
    def held(self) -> bool:
        """Held up by a usage limit, an overload or a lost network, which waiting mends."""
        return self.end in HELD


@dataclass(frozen=True, slots=True)
class Change:
    """One changed file between two trees; -1 lines where git counts none (binary)."""

    path: str
    added: int
    removed: int
    status: str = "M"


@dataclass(frozen=True, slots=True)
class Probe:
    """What the world looks like when `decide` asks. Seconds are monotonic; bytes are free bytes; None is unknown.

    `volumes` are the file systems that the run writes to; `memory_limit` names what bounds the memory, where that is
    less than the machine's own; `longest_file` is how many bytes a file may have (None is any number).
    `detail` is what a hook said that stopped the run; `given_up`: no agent will be able to work in time. US dollars, in
    an arena: `elsewhere` is what its other agents spent or have set aside for turns under way, the latter `set_aside`;
    `reckoned` is what the next turn is taken to cost (None where nothing says).
    """

    elapsed: float = 0.0
    volumes: tuple[Volume, ...] = ()
    memory_free: int | None = None
    memory_limit: str = ""
    longest_file: int | None = None
    interrupt: Literal["", "SIGINT", "SIGTERM", "SIGHUP", "stop-file", "hook"] = ""
    detail: str = ""
    given_up: bool = False
    elsewhere: float = 0.0
    set_aside: float = 0.0
    reckoned: float | None = None
