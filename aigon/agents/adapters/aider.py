"""What aider leaves: its history file, else its screen. Both mix what it says itself with what the model says.

Written against version 0.86.2. It exits with 0 on a bad key and on a rate limit, so a turn is judged by the last lines:
after each reply of the model it prints a line of tokens, and what it says itself of an end comes after the last of
these. An error that the model quotes never stands there, except for a failed edit that is quoted back to it; another
reply, another error, or the word that there were enough of them follows that.

Its history file has its own lines as quotes that end in two spaces, and what it was told as headings. The screen has no
such marks: only what stands after the last line of tokens is surely not the model's.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from aigon.agents.adapters._errors import LONGEST_DETAIL, TURNED_AWAY, read_exception
from aigon.agents.adapters._program import LAST_WORDS
from aigon.agents.adapters._records import describe_use
from aigon.model.turns import ProgramExit, TurnReport, Usage
from aigon.text.fingerprints import strip_escapes

TOKENS = re.compile(
    r"Tokens: (?P<sent>\S+) sent(?:, \S+ cache write)?(?:, (?P<hit>\S+) cache hit)?, (?P<got>\S+) received\."
)
COST = re.compile(r"(?:Tokens: .* )?Cost: \$\S+ message, \$(?P<session>\d{1,9}(?:\.\d+)?) session\.$")
_TOLD = re.compile(r"#### .*  $")
_HEADER = re.compile(
    r"Aider v|(?:Main |Editor |Weak )?[Mm]odel: |Git repo: |Repo-map: |Warning: |See: |Added .* to the chat"
)
_MODEL = re.compile(r"(?:Main model|Model): (\S+) with ")
_EDITED = re.compile(r"Applied edit to (.+)")
_ERROR = re.compile(r"litellm\.(?P<name>[A-Z]\w+): ")
_ENOUGH = re.compile(r"Only \d+ reflections allowed, stopping\.|Model \S+ has hit a token limit!")
_CRASH = "Traceback (most recent call last):"
_COMMENT = re.compile(r"The API provider|Insufficient credits with|You need to: pip|OpenRouter or the upstream"
                      r"|Retrying in [\d.]+ seconds|Open URL for more info|$")  # fmt: skip
"""What aider adds to an error. The error itself may go over several lines."""


@dataclass(frozen=True, slots=True)
class AiderSession:
    """`own` are aider's own lines, on the screen those of the model among them; `said` is the model's last reply."""

    own: tuple[str, ...]
    said: str = ""

    @property
    def tail(self) -> tuple[str, ...]:
        """What aider said since the model's last reply: every reply is followed by a line of its tokens."""
        return self.own[_last_tokens(self.own) + 1 :]


def parse_history(report: bytes) -> AiderSession:
    """Return the session by its history file."""
    lines = _split_lines(report)
    own = [_own_line(line, before) for before, line in zip(["", *lines], lines, strict=False)]
    end = max(_last_tokens(own), 0)
    told = (number for number in range(end) if own[number] or _TOLD.match(lines[number]))
    begun = max(told, default=0)
    return AiderSession(tuple(line for line in own if line), "\n".join(lines[begun + 1 : end]).strip())


def _own_line(line: str, before: str) -> str:
    """A line of aider's without its mark, "" for any other. With a cache, the cost has a line without any mark."""
    if line.startswith(">") and (line.endswith("  ") or TOKENS.fullmatch(line[2:])):
        return line[1:].strip()
    return line.strip() if TOKENS.match(before[2:]) and COST.fullmatch(line.strip()) else ""


def parse_screen(stdout: bytes) -> AiderSession:
    """Return the session by what was printed."""
    lines = tuple(line.rstrip() for line in _split_lines(stdout))
    end = _last_tokens(lines)
    begun = max(_find_header_end(lines), _last_tokens(lines[: max(end, 0)]) + 1)
    said = [line for line in lines[begun : max(end, 0)] if not COST.fullmatch(line)]
    return AiderSession(lines, "\n".join(said).strip())


def _last_tokens(lines: list[str] | tuple[str, ...]) -> int:
    return max((number for number, line in enumerate(lines) if TOKENS.match(line)), default=-1)


def _find_header_end(lines: tuple[str, ...]) -> int:
    """Return the number of the line after the first ones, in which aider says what it works with."""
    begun = next((number for number, line in enumerate(lines) if line.startswith("Aider v")), None)
    if begun is None:
        return 0
    return next((n for n in range(begun, len(lines)) if not _HEADER.match(lines[n])), len(lines))


def _split_lines(output: bytes) -> list[str]:
    return strip_escapes(output.decode("utf-8", "replace")).replace("\r\n", "\n").split("\n")


def read_output(exited: ProgramExit) -> TurnReport:
    """Return the turn by the end of the session."""
    session = parse_history(exited.report) if exited.report.endswith(b"\n") else parse_screen(exited.stdout)
    by_itself = exited.timed_out or (exited.exit_code or 0) >= 0
    ended = _read_end(session, exited.ended) if by_itself else TurnReport()
    usage = _usage(session.own)
    costs = [float(found["session"]) for found in map(COST.match, session.own) if found]
    if usage is None and ended.end in TURNED_AWAY:
        costs = [0.0]
    return replace(
        ended,
        said=session.said[-LAST_WORDS:],
        model=next((found[1] for found in map(_MODEL.match, session.own) if found), ""),
        usage=usage,
        cost=costs[-1] if costs else None,
        cost_status="reported" if costs else "unknown",
        tools=tuple(describe_use("edit", found[1]) for found in map(_EDITED.match, session.own) if found),
    )


def _read_end(session: AiderSession, now: float) -> TurnReport:
    """Return how the session ended by aider's last word on it: what came before was tried again."""
    tail = session.tail
    for number in range(len(tail) - 1, -1, -1):
        line = tail[number]
        if _EDITED.match(line):
            break
        if _ENOUGH.match(line) or line.startswith(_CRASH):
            return TurnReport(end="failed", detail=_last_line(tail[number:]) if line.startswith(_CRASH) else line)
        if error := _ERROR.match(line):
            return read_exception(error["name"], _join_message(tail[number:]), now)
    if len(tail) == len(session.own):
        return TurnReport(detail=f"no reply of the model: {_last_line(tail)}"[:LONGEST_DETAIL])
    return TurnReport(end="finished", detail="" if session.said else "the reply of the model was empty")


def _join_message(lines: Sequence[str]) -> str:
    """Return an error from its first line on, up to what is said of it."""
    ends = next((number for number, line in enumerate(lines) if _COMMENT.match(line)), len(lines))
    return " ".join(lines[:ends])


def _last_line(lines: Sequence[str]) -> str:
    return next((line.strip() for line in lines[::-1] if line.strip()), "it said nothing")[:LONGEST_DETAIL]


def _usage(own: Sequence[str]) -> Usage | None:
    """Of all replies together. What was read from a cache is among what was sent."""
    told = [found for found in map(TOKENS.match, own) if found]
    if not told:
        return None
    cached = sum(_parse_count(found["hit"]) for found in told)
    sent = sum(_parse_count(found["sent"]) for found in told)
    return Usage.of_whole(sent, sum(_parse_count(found["got"]) for found in told), cached)


def _parse_count(text: str | None) -> int:
    """`85`, `1.2k`, `12k`; 0 for anything else."""
    found = re.fullmatch(r"(\d{1,9}(?:\.\d+)?)([kM]?)", text or "")
    return round(float(found[1]) * {"": 1, "k": 1_000, "M": 1_000_000}[found[2]]) if found else 0
