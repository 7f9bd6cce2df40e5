"""The lines of an aider session: its own, and what the model said.

Its history file has its own lines as quotes that end in two spaces, and what it was told as headings. The screen has no
such marks: there, what stands before a line of tokens may be the model's, and only what stands after the last one is
surely not.
"""

import re
from dataclasses import dataclass

from aigon.text.fingerprints import plain

TOKENS = re.compile(
    r"Tokens: (?P<sent>\S+) sent(?:, \S+ cache write)?(?:, (?P<hit>\S+) cache hit)?, (?P<got>\S+) received\."
)
COST = re.compile(r"(?:Tokens: .* )?Cost: \$\S+ message, \$(?P<session>\d{1,9}(?:\.\d+)?) session\.$")
_TOLD = re.compile(r"#### .*  $")
_HEADER = re.compile(
    r"Aider v|(?:Main |Editor |Weak )?[Mm]odel: |Git repo: |Repo-map: |Warning: |See: |Added .* to the chat"
)


@dataclass(frozen=True, slots=True)
class Session:
    """`own` are aider's own lines, on the screen those of the model among them; `said` is the model's last reply."""

    own: tuple[str, ...]
    said: str = ""

    @property
    def tail(self) -> tuple[str, ...]:
        """What aider said since the model's last reply: every reply is followed by a line of its tokens."""
        return self.own[_last_tokens(self.own) + 1 :]


def of_history(report: bytes) -> Session:
    """The session by its history file."""
    lines = _lines(report)
    own = [_own(line, before) for before, line in zip(["", *lines], lines, strict=False)]
    end = max(_last_tokens(own), 0)
    told = (number for number in range(end) if own[number] or _TOLD.match(lines[number]))
    begun = max(told, default=0)
    return Session(tuple(line for line in own if line), "\n".join(lines[begun + 1 : end]).strip())


def _own(line: str, before: str) -> str:
    """A line of aider's without its mark, "" for any other. With a cache, the cost has a line without any mark."""
    if line.startswith(">") and (line.endswith("  ") or TOKENS.fullmatch(line[2:])):
        return line[1:].strip()
    return line.strip() if TOKENS.match(before[2:]) and COST.fullmatch(line.strip()) else ""


def of_screen(stdout: bytes) -> Session:
    """The session by what was printed."""
    lines = tuple(line.rstrip() for line in _lines(stdout))
    end = _last_tokens(lines)
    begun = max(_header(lines), _last_tokens(lines[: max(end, 0)]) + 1)
    said = [line for line in lines[begun : max(end, 0)] if not COST.fullmatch(line)]
    return Session(lines, "\n".join(said).strip())


def _last_tokens(lines: list[str] | tuple[str, ...]) -> int:
    return max((number for number, line in enumerate(lines) if TOKENS.match(line)), default=-1)


def _header(lines: tuple[str, ...]) -> int:
    """The number of the line after the first ones, in which aider says what it works with."""
    begun = next((number for number, line in enumerate(lines) if line.startswith("Aider v")), None)
    if begun is None:
        return 0
    return next((n for n in range(begun, len(lines)) if not _HEADER.match(lines[n])), len(lines))


def _lines(output: bytes) -> list[str]:
    return plain(output.decode("utf-8", "replace")).replace("\r\n", "\n").split("\n")
