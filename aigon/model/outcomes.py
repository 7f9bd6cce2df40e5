"""The outcomes of a run, a sum type, and the results of `aigon doctor` and its repairs, with an exit code for each."""

from collections.abc import Mapping
from typing import Literal, cast

from msgspec import Struct, field

from aigon.errors import Exit
from aigon.model import Recorded

RunPurpose = Literal["build", "tests", "trial"]
PURPOSES: Mapping[RunPurpose, str] = {"build": "", "tests": "tests for ", "trial": "trial build of "}
"""What a run makes of a feature, before its name."""
RunStatus = Literal["running", "met", "needs_human", "stopped", "interrupted", "unavailable", "refused"]

VALIDATION_SKIPPED = "validation skipped"
"""The caveat of a run in which no check ran."""


class Met(Recorded, frozen=True, tag_field="kind", tag="met"):
    """Every criterion and check passed. `caveats` are printed with it (known failures, skips).

    `iteration` is the one that proved it, 0 if no agent had to work.
    """

    caveats: tuple[str, ...] = ()
    iteration: int = 0


class NeedsHuman(Recorded, frozen=True, tag_field="kind", tag="needs_human"):
    """Only a person can decide what remains: criteria by number, with a reason.

    `nothing_built`: everything passed before anything was built, so it proves nothing. `allow` are files that the
    agent changes and aigon puts back: the spec has to allow that, or to ask for something else.
    """

    criteria: tuple[int, ...]
    reason: str
    nothing_built: bool = False
    allow: tuple[str, ...] = ()


class Stopped(Recorded, frozen=True, tag_field="kind", tag="stopped"):
    """A guard stopped the run. `code` is 3, 5 or 7 by the kind of guard."""

    guard: str
    reason: str
    code: Exit = Exit.STOPPED


class Interrupted(Recorded, frozen=True, tag_field="kind", tag="interrupted"):
    """A person or the system asked for the end; the state is saved."""

    signal: Literal["SIGINT", "SIGTERM", "SIGHUP"]


class Unavailable(Recorded, frozen=True, tag_field="kind", tag="unavailable"):
    """The agent or the judge cannot run: missing, bad key, usage limit."""

    who: str
    reason: str


class Refused(Recorded, frozen=True, tag_field="kind", tag="refused"):
    """The state of the repository did not allow the run to start or to go on."""

    reason: str


Outcome = Met | NeedsHuman | Stopped | Interrupted | Unavailable | Refused


def get_status(outcome: Outcome) -> RunStatus:
    """Return the word that state files and `--json` use."""
    return cast("RunStatus", outcome.__struct_config__.tag)


def describe_status(status: str) -> str:
    """Return what people read for a status: `proven` for `met`, `needs a human` for `needs_human`."""
    return {"met": "proven", "needs_human": "needs a human"}.get(status, status.replace("_", " "))


def get_exit_code(outcome: Outcome) -> Exit:
    """Return the documented exit code of an outcome."""
    match outcome:
        case Met():
            return Exit.MET
        case NeedsHuman():
            return Exit.NEEDS_HUMAN
        case Stopped(code=code):
            return code
        case Interrupted(signal=signal):
            return Exit.INTERRUPTED if signal == "SIGINT" else Exit.TERMINATED
        case Unavailable():
            return Exit.UNAVAILABLE
        case Refused():
            return Exit.ENVIRONMENT


def describe_success(outcome: Met) -> str:
    """Return what a success claims, without checks that were left out."""
    checks = "" if VALIDATION_SKIPPED in outcome.caveats else " and the checks pass"
    return f"Every criterion is proven{checks}"


def describe_outcome(outcome: Outcome) -> str:
    """Return one sentence for people."""
    match outcome:
        case Met(caveats=caveats, iteration=number):
            on = f" on iteration {number}" if number else ""
            return f"{describe_success(outcome)}{on}" + "".join(f"; {c}" for c in caveats)
        case NeedsHuman(reason=reason):
            return f"Needs a human: {reason}"
        case Stopped(guard=guard, reason=reason):
            return f"Stopped by the guard {guard}: {reason}"
        case Interrupted(signal=signal):
            return f"Interrupted by {signal}; the state is saved"
        case Unavailable(who=who, reason=reason):
            return f"{who} is unavailable: {reason}"
        case Refused(reason=reason):
            return f"Refused: {reason}"


AgentState = Literal["ready", "not ready", "not installed"]


class AgentHealth(Struct, frozen=True):
    """One agent. `kind` is the name of its agent type; `configured`: the project's configuration has it.

    `path` is where its program is, `version` what that said, `tested` the version that aigon was tried with and
    `source` whether it was tried at all. `problems` keep it from working, `remarks` do not. `seen` are the names of
    credentials that exist, and `login` is how to get some; `as_root` what is known of running it as root.
    """

    name: str
    title: str
    kind: str
    state: AgentState
    configured: bool = False
    program: str = ""
    path: str = ""
    version: str = ""
    tested: str = ""
    source: str = "measured"
    problems: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    install: str = ""
    login: str = ""
    as_root: str = ""


class MachineFact(Struct, frozen=True):
    """One fact about the machine: in words, as data, and what is wrong with it (`code` is its exit code)."""

    name: str
    title: str
    text: str
    data: Mapping[str, object] = field(default_factory=dict)
    problem: str = ""
    remark: str = ""
    code: Exit = Exit.ENVIRONMENT


class Diagnosis(Struct, frozen=True):
    """All of it. `taken` is the agent that a run would use, `choice` says why, `note` how to add one."""

    agents: tuple[AgentHealth, ...]
    machine: tuple[MachineFact, ...]
    taken: str = ""
    choice: str = ""
    note: str = ""

    @property
    def exit_code(self) -> Exit:
        """7 if the machine has a problem, else 2 if the configuration has one, 6 if no agent is ready, or 0."""
        codes = {fact.code for fact in self.machine if fact.problem}
        for code in (Exit.ENVIRONMENT, Exit.USAGE):
            if code in codes:
                return code
        return Exit.MET if any(agent.state == "ready" for agent in self.agents) else Exit.UNAVAILABLE


class RepairedRecord(Struct, frozen=True):
    """A record or view that was rebuilt or set aside; `kept_as` is where the damaged one is, "" if it was not kept."""

    what: str
    path: str
    kept_as: str
    how: str


class UnrepairedRecord(Struct, frozen=True):
    """A record beyond repair, `why`, and what a person can `do`. `hinders`: no run begins before that is done."""

    what: str
    path: str
    why: str
    do: str = ""
    hinders: bool = True


class RepairReport(Struct, frozen=True):
    """All repairs; `ended` counts processes that killed loops had left."""

    repaired: tuple[RepairedRecord, ...] = ()
    unmended: tuple[UnrepairedRecord, ...] = ()
    ended: int = 0

    @property
    def exit_code(self) -> Exit:
        """7 if something still keeps runs from starting, else 0."""
        return Exit.ENVIRONMENT if any(each.hinders for each in self.unmended) else Exit.MET
