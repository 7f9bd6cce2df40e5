"""An agent as the loop knows it: a program to start in the workspace, whose exit and output are then read.

An adapter is an agent type (`aigon.model.agents`, one YAML file) and a module in `aigon/agents/adapters/` that
reads what the program prints:

    read_output(exited) -> TurnReport         what the output says of the turn, from nothing but what the program left

It may also have these, which otherwise follow from the data:

    explain_unready(agent, find, env) -> str  "" if it can start, else what is missing and what to do about it
    build_launch(agent, ask) -> Launch        the command line of one turn
    read_turn(agent, ask, exited) -> Turn     what that turn was
    find_credentials(agent, env) -> names     what logs it in besides what the type names
    read_activity(record) -> activities       what one JSON record of its output tells of the work, for people to watch
                                              (`templates/activity.yaml` has rules in the place of those of aigon's own)
    ACTIVITY_MARKS                            bytes of which a line has one if `read_activity` finds anything in it

    build_consultation(kind, agent) -> Launch the command line that answers what is on standard input

A consultation is read-only use, which the key `judge` of a type describes: the program gets no tool that changes
anything, and `agent.args` are left out, since they could give it one. It runs in an empty folder.

The steps of a turn are for people to watch, and never evidence.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from msgspec import Struct, field

from aigon.model import Recorded
from aigon.model.agents import AgentType

TurnEnd = Literal[
    "finished", "failed", "refused", "timed_out", "not_started", "killed",
    "usage_limit", "overloaded", "bad_credentials", "unavailable",
]  # fmt: skip
TEMPORARY_ENDS: tuple[TurnEnd, ...] = ("usage_limit", "overloaded", "unavailable")
"""Ends that waiting fixes: they are no failures, and use up no iteration."""
CostStatus = Literal["reported", "estimated", "unknown"]
ActivityKind = Literal["says", "reads", "edits", "runs", "searches", "uses", "fails", "prints", "spends"]
"""`uses` is a tool of any other kind, `fails` what came of the tool before it, `prints` a line of plain output."""


class Usage(Recorded, frozen=True):
    """Tokens of one turn. `input` excludes what was read from a cache; `cached` is what was read from it."""

    input: int = 0
    output: int = 0
    cached: int = 0

    @classmethod
    def of_whole(cls, whole: int, output: int, cached: int) -> "Usage":
        """Return the usage of a program that counts cached tokens as part of its input (`whole`)."""
        return cls(max(0, whole - cached), output, cached)

    @classmethod
    def of_all(cls, parts: Iterable["Usage"]) -> "Usage":
        """Return the sum."""
        usages = tuple(parts)
        return cls(sum(u.input for u in usages), sum(u.output for u in usages), sum(u.cached for u in usages))


class ModelUsage(Recorded, frozen=True):
    """The usage of one of several models in a turn."""

    model: str
    usage: Usage


class Turn(Recorded, frozen=True):
    """One agent turn, as it ended. `cost` is in US dollars, None if unknown; `duration` in seconds.

    `said` is the agent's last text: a claim, shown to people, never evidence; `tools` are the tools it used, a short
    line each; `resets_at`, in seconds since the epoch, is when a usage limit ends; `usage_by_model` divides `usage`
    among several models; `log` is the file with the whole output of its program.
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
        """True if the agent did not start, exited non-zero, or ran into its deadline."""
        return self.end != "finished" and not self.held

    @property
    def held(self) -> bool:
        """True if the turn was rate-limited, overloaded or without network, which waiting fixes."""
        return self.end in TEMPORARY_ENDS


FindProgram = Callable[[str], str | None]
"""Returns the absolute path of a program, or None."""


class Agent(Struct, frozen=True):
    """A configured agent. `command` is for the command adapter, `recording` a folder for the replay adapter.

    `kind` is its agent type as the run began; None is the one that ships with aigon under the adapter's name. `home` is
    what a sandbox lets it write beyond what its type has. `passed` are names of variables that it sees although they
    look like credentials of another service.
    """

    name: str
    adapter: str
    model: str = ""
    effort: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    recording: str = ""
    kind: AgentType | None = None
    home: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()


class TurnRequest(Struct, frozen=True):
    """One turn's question. Paths are absolute; `checkout` is the main checkout, `workspace` where the agent works.

    `output_file` is where a program writes that reports by file; `budget` is what the turn may cost in US dollars,
    None without a limit; `root`: aigon runs as root; `limit` is the number of the last iteration that this run may
    reach; `step` is the escalation step, such as `3/4`; `promises` are the phrases that claim "done".
    """

    number: int
    feature_id: str
    run_id: str
    workspace: str
    checkout: str
    spec_file: str
    prompt_file: str
    prompt_chars: int = 0
    output_file: str = ""
    budget: float | None = None
    root: bool = False
    limit: int = 0
    step: str = ""
    promises: tuple[str, ...] = ()


class Launch(Struct, frozen=True):
    """A command line. `stdin` says what the program reads: the prompt's text, or nothing at all.

    `env` comes over the person's environment, without the variables in `unset`. `reads` are absolute paths of files
    that it may read, if they exist, besides those that every agent may.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: Literal["prompt", "nothing"] = "prompt"
    unset: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()


class ProgramExit(Struct, frozen=True):
    """The end of a program. `exit_code` is negative for a signal, None if it never started.

    `report` is what it wrote into its output file; `ended` is when it exited, in seconds since the epoch; `silent` is
    the number of seconds without a sign of life if that is why its time was up, else 0.
    """

    exit_code: int | None
    stdout: bytes = b""
    stderr: bytes = b""
    timed_out: bool = False
    killed: bool = False
    start_error: str = ""
    duration: float = 0.0
    report: bytes = b""
    ended: float = 0.0
    silent: float = 0.0


class TurnReport(Struct, frozen=True):
    """A program's own report of its turn. A program that aigon ended, or that exited badly, is judged by that.

    `end` is how the turn ended according to the output; None if it does not say: a program that exits without one has
    failed. `detail` says why, for people. `said` is the last text of the agent. `cost` is in US dollars, None if the
    output does not name it. `denied` and `tools` are short lines such as `Bash: npm test`, all of them: the turn keeps
    the first, and each denial once. `resets_at` is in seconds since the epoch. `usage_by_model` divides `usage` among
    several models.
    """

    end: TurnEnd | None = None
    detail: str = ""
    said: str = ""
    model: str = ""
    session: str = ""
    usage: Usage | None = None
    cost: float | None = None
    cost_status: CostStatus = "reported"
    denied: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    resets_at: float | None = None
    usage_by_model: tuple[ModelUsage, ...] = ()


class Spent(Struct, frozen=True):
    """Amounts that a program says it used: tokens in and out, cached ones too, and US dollars, 0 if it does not say."""

    tokens: int = 0
    usd: float = 0.0

    def plus(self, other: "Spent") -> "Spent":
        return Spent(self.tokens + other.tokens, self.usd + other.usd)


class Activity(Struct, frozen=True):
    """One step. `text` is what is said, or what a tool is used on; with `goes_on` the next piece belongs to it.

    If it `spends`, `spent` is what the model's reply used that `text` names; "" is a reply of its own.
    """

    kind: ActivityKind
    text: str
    goes_on: bool = False
    spent: Spent | None = None


class Step(Struct, frozen=True):
    """An activity on record: when it was heard of (seconds since the epoch), and in which iteration.

    `spent` is what the turn had used by then.
    """

    at: float
    number: int
    kind: ActivityKind
    text: str
    spent: Spent | None = None
