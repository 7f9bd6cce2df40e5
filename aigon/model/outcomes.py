"""How a run ends: a sum type, its status word and its exit code."""

from dataclasses import dataclass, field
from typing import Literal

from aigon.errors import Exit

RunStatus = Literal["running", "met", "needs_human", "stopped", "interrupted", "unavailable", "refused"]

VALIDATION_SKIPPED = "validation skipped"
"""The caveat of a run in which no check ran."""


@dataclass(frozen=True, slots=True)
class Met:
    """Every criterion proven and every check green. `caveats` are printed with it (known failures, skips).

    `iteration` is the one that proved it, 0 where no agent had to work. It is told when the run ends, and makes no
    difference to what was proven.
    """

    caveats: tuple[str, ...] = ()
    iteration: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class NeedsHuman:
    """Nothing is open but what only a person can decide: criteria by number, with a reason each.

    `nothing_built`: everything passes, but it passed before anything was built as well, so it proves nothing.
    """

    criteria: tuple[int, ...]
    reason: str
    nothing_built: bool = False


@dataclass(frozen=True, slots=True)
class Stopped:
    """A guard said stop. `code` is 3, 5 or 7 by the kind of guard."""

    guard: str
    reason: str
    code: Exit = Exit.STOPPED


@dataclass(frozen=True, slots=True)
class Interrupted:
    """A person or the system asked for the end; the state is saved."""

    signal: Literal["SIGINT", "SIGTERM", "SIGHUP"]


@dataclass(frozen=True, slots=True)
class Unavailable:
    """The agent or the judge cannot run: missing, bad key, usage limit."""

    who: str
    reason: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The run did not start, or cannot go on, because of the state of the repository."""

    reason: str


Outcome = Met | NeedsHuman | Stopped | Interrupted | Unavailable | Refused


def get_status(outcome: Outcome) -> RunStatus:
    """The word that state files and `--json` use."""
    match outcome:
        case Met():
            return "met"
        case NeedsHuman():
            return "needs_human"
        case Stopped():
            return "stopped"
        case Interrupted():
            return "interrupted"
        case Unavailable():
            return "unavailable"
        case Refused():
            return "refused"


def describe_status(status: str) -> str:
    """Return what people read for a status: `proven` for `met`, `needs a human` for `needs_human`."""
    return {"met": "proven", "needs_human": "needs a human"}.get(status, status.replace("_", " "))


def get_exit_code(outcome: Outcome) -> Exit:
    """The documented exit code of an outcome."""
    match outcome:
        case Met():
            return Exit.MET
        case NeedsHuman():
            return Exit.NEEDS_HUMAN
        case Stopped(code=code):
            return code
        case Interrupted(signal="SIGINT"):
            return Exit.INTERRUPTED
        case Interrupted():
            return Exit.TERMINATED
        case Unavailable():
            return Exit.UNAVAILABLE
        case Refused():
            return Exit.ENVIRONMENT


def describe_success(outcome: Met) -> str:
    """What a success claims; nothing of checks that were left out."""
    checks = "" if VALIDATION_SKIPPED in outcome.caveats else " and the checks are green"
    return f"Every criterion is proven{checks}"


def describe_outcome(outcome: Outcome) -> str:
    """One sentence for people."""
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
