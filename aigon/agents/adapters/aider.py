"""What aider leaves: its history file, else its screen. Both mix what it says itself with what the model says.

Written against version 0.86.2. It exits with 0 on a bad key and on a rate limit, so that a turn is judged by the last
lines: after each reply of the model it prints a line of tokens, and what it says itself of an end comes after the last
of these. An error that the model quotes never stands there, but for a failed edit that is quoted back to it, after
which there is another reply, another error, or the word that there were enough of them.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from aigon.agents.adapters._aider_lines import COST, TOKENS, Session, of_history, of_screen
from aigon.agents.adapters._ending import SAID
from aigon.agents.adapters._litellm import TURNED_AWAY, ended_with
from aigon.agents.adapters._tools import tool
from aigon.agents.adapters._trouble import DETAIL
from aigon.model.turns import ProgramExit, TurnReport, Usage

_MODEL = re.compile(r"(?:Main model|Model): (\S+) with ")
_EDITED = re.compile(r"Applied edit to (.+)")
_ERROR = re.compile(r"litellm\.(?P<name>[A-Z]\w+): ")
_ENOUGH = re.compile(r"Only \d+ reflections allowed, stopping\.|Model \S+ has hit a token limit!")
_CRASH = "Traceback (most recent call last):"
_COMMENT = re.compile(r"The API provider|Insufficient credits with|You need to: pip|OpenRouter or the upstream"
                      r"|Retrying in [\d.]+ seconds|Open URL for more info|$")  # fmt: skip
"""What aider adds to an error. The error itself may go over several lines."""


def seen(exited: ProgramExit) -> TurnReport:
    """The turn by the end of the session."""
    session = of_history(exited.report) if exited.report.endswith(b"\n") else of_screen(exited.stdout)
    by_itself = exited.timed_out or (exited.exit_code or 0) >= 0
    ended = _ended(session, exited.ended) if by_itself else TurnReport()
    usage = _usage(session.own)
    costs = [float(found["session"]) for found in map(COST.match, session.own) if found]
    if usage is None and ended.end in TURNED_AWAY:
        costs = [0.0]
    return replace(
        ended,
        said=session.said[-SAID:],
        model=next((found[1] for found in map(_MODEL.match, session.own) if found), ""),
        usage=usage,
        cost=costs[-1] if costs else None,
        cost_status="reported" if costs else "unknown",
        tools=tuple(tool("edit", found[1]) for found in map(_EDITED.match, session.own) if found),
    )


def _ended(session: Session, now: float) -> TurnReport:
    """The last word on it counts: what came before was tried again."""
    tail = session.tail
    for number in range(len(tail) - 1, -1, -1):
        line = tail[number]
        if _EDITED.match(line):
            break
        if _ENOUGH.match(line) or line.startswith(_CRASH):
            return TurnReport(end="failed", detail=_last(tail[number:]) if line.startswith(_CRASH) else line)
        if error := _ERROR.match(line):
            return ended_with(error["name"], _message(tail[number:]), now)
    if len(tail) == len(session.own):
        return TurnReport(detail=f"no reply of the model: {_last(tail)}"[:DETAIL])
    return TurnReport(end="finished", detail="" if session.said else "the reply of the model was empty")


def _message(lines: Sequence[str]) -> str:
    """An error from its first line on, up to what is said of it."""
    ends = next((number for number, line in enumerate(lines) if _COMMENT.match(line)), len(lines))
    return " ".join(lines[:ends])


def _last(lines: Sequence[str]) -> str:
    return next((line.strip() for line in lines[::-1] if line.strip()), "it said nothing")[:DETAIL]


def _usage(own: Sequence[str]) -> Usage | None:
    """Of all replies together. What was read from a cache is among what was sent."""
    told = [found for found in map(TOKENS.match, own) if found]
    if not told:
        return None
    cached = sum(_count(found["hit"]) for found in told)
    sent = sum(_count(found["sent"]) for found in told)
    return Usage.of_whole(sent, sum(_count(found["got"]) for found in told), cached)


def _count(text: str | None) -> int:
    """`85`, `1.2k`, `12k`; 0 for anything else."""
    found = re.fullmatch(r"(\d{1,9}(?:\.\d+)?)([kM]?)", text or "")
    return round(float(found[1]) * {"": 1, "k": 1_000, "M": 1_000_000}[found[2]]) if found else 0
