"""What the line view and the live view say in the same words."""

import re
from datetime import datetime, timedelta

from aigon.journal.events import HookRan, HookStatus, RolledBack, Waiting
from aigon.journal.spending import format_cost
from aigon.model.checks import Finding
from aigon.model.turns import Turn
from aigon.text.amounts import format_duration, format_epoch
from aigon.text.quoting import fold

_TURN_ENDS = {
    "finished": "finished",
    "failed": "failed",
    "timed_out": "timed out",
    "not_started": "did not start",
    "killed": "was killed",
    "refused": "refused to work",
    "usage_limit": "hit a usage limit",
    "overloaded": "was rejected by an overloaded server",
    "bad_credentials": "has bad credentials",
    "unavailable": "lost its connection",
}

_DENIED = 2
"""Denied permissions that a line names; the log of the iteration has all of them."""
_HOOK_ENDS: dict[HookStatus, str] = {
    "ok": "finished",
    "failed": "failed",
    "timed_out": "timed out",
    "not_started": "did not run",
}


def asked_by(check: str) -> int | None:
    """The number of the criterion whose own command the check of this name is; None for the project's checks."""
    found = re.fullmatch(r"criterion-(\d+)", check)
    return int(found[1]) if found else None


def result(finding: Finding) -> str:
    """What a check found, in a few words: its summary, or its status where it has none."""
    return finding.summary or finding.status


def took(finding: Finding) -> str:
    """How long a check ran, or `cached` when its result is from an earlier run on the same tree."""
    return "cached" if finding.cached else format_duration(finding.duration)


def turn(ended: Turn) -> str:
    """How an agent's turn ended: `claude finished after 1m 12s`, `claude failed after 3.0s: exit code 1 (see LOG)`.

    When a limit ends and what was denied come before the program's own words, which may be long.
    """
    when = format_epoch(ended.resets_at) if ended.resets_at is not None else ""
    until = f" until {when}" if when else ""
    after = f" after {format_duration(ended.duration)}" if ended.duration else ""
    denied = f", denied: {denials(ended)}" if ended.denied else ""
    how = f"{ended.agent} {_TURN_ENDS[ended.end]}{until}{after}{denied}"
    if ended.end == "finished":
        return how
    # An adapter's reason may begin with the very words that `_TURN_ENDS` has for it.
    why = ended.detail.partition(": ")[2] if ended.detail.startswith(_TURN_ENDS[ended.end]) else ended.detail
    return how + (f": {why}" if why else "") + (f" (see {ended.log})" if ended.log else "")


def denials(ended: Turn) -> str:
    """What an agent was not permitted: `Write: src/a.py, Bash: npm test and 3 more`."""
    more = f" and {len(ended.denied) - _DENIED} more" if len(ended.denied) > _DENIED else ""
    return ", ".join(fold(each, 50) for each in ended.denied[:_DENIED]) + more


def price(ended: Turn) -> str:
    """What a turn cost: `cost $0.42 (reported)`, `cost unknown`."""
    return f"cost {format_cost(ended.cost, ended.cost_status)}"


def waits(event: Waiting) -> str:
    """For whom the run waits, until when by this machine's clock, and why."""
    why = f": {event.reason}" if event.reason else ""
    return f"waiting for {event.agent}{_until(event)} ({format_duration(event.seconds)}){why}"


def _until(event: Waiting) -> str:
    """By the clock that the event's own time is of; nothing where that cannot be said."""
    try:
        return f" until {datetime.fromisoformat(event.at) + timedelta(seconds=event.seconds):%H:%M:%S}"
    except (ValueError, OverflowError):
        return ""


def went_back(event: RolledBack) -> str:
    """`back to iteration 2 (1a2b3c4): 3 of 4 proven there; iteration 4 has 2 of 4 proven`."""
    to = f"iteration {event.number}" if event.number else "the base"
    return f"back to {to} ({event.commit[:7]}): {event.why}"


def hook(ran: HookRan) -> str:
    """How a hook ended: `hook before_checks (hooks.before_checks) failed after 0.2s: no database`."""
    after = f" after {format_duration(ran.duration)}" if ran.duration else ""
    veto = " and stops the run" if ran.veto else ""
    words = [line for line in ran.output.splitlines() if line.strip()]
    why = f": {words[-1].strip()}" if ran.status != "ok" and words else ""
    return f"hook {ran.point} ({ran.name}) {_HOOK_ENDS[ran.status]}{after}{veto}{why}"
