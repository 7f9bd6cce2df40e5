"""Read aider's history file, else its screen. Both mix what it says itself with what the model says.

Written against version 0.86.2. It exits with 0 on a bad key and on a rate limit, so a turn is judged by the last lines:
after each reply of the model it prints a line of tokens, and what it says itself of an end comes after the last of
these. An error that the model quotes is never among them, except for a failed edit that is quoted back to it; another
reply, another error, or the word that there were enough of them follows that.

Its history file has its own lines as quotes that end in two spaces, and what it was told as headings. The screen has no
such marks: only what follows the last line of tokens is surely not the model's.
"""

import re
from collections.abc import Sequence

from msgspec.structs import replace

from aigon.agents.adapters._errors import LITELLM_ERROR, TURNED_AWAY, read_exception
from aigon.agents.adapters._program import LONGEST_DETAIL
from aigon.agents.adapters._records import describe_use
from aigon.model.turns import ProgramExit, TurnReport, Usage
from aigon.text.patterns import compile_re
from aigon.text.quoting import strip_escapes

_TOKENS = compile_re(
    r"Tokens: (?P<sent>\S+) sent(?:, \S+ cache write)?(?:, (?P<hit>\S+) cache hit)?, (?P<got>\S+) received\."
)
_COST = compile_re(r"(?:Tokens: .* )?Cost: \$\S+ message, \$(?P<session>\d{1,9}(?:\.\d+)?) session\.$")
_TOLD = compile_re(r"#### .*  $")
_HEADER = compile_re(
    r"Aider v|(?:Main |Editor |Weak )?[Mm]odel: |Git repo: |Repo-map: |Warning: |See: |Added .* to the chat"
)
_MODEL = compile_re(r"(?:Main model|Model): (\S+) with ")
_EDITED = compile_re(r"Applied edit to (.+)")
_ENOUGH = compile_re(r"Only \d+ reflections allowed, stopping\.|Model \S+ has hit a token limit!")
_CRASH = "Traceback (most recent call last):"
_COMMENT = compile_re(r"The API provider|Insufficient credits with|You need to: pip|OpenRouter or the upstream"
                      r"|Retrying in [\d.]+ seconds|Open URL for more info|$")  # fmt: skip
"""What aider adds to an error. The error itself may go over several lines."""


def read_output(exited: ProgramExit) -> TurnReport:
    """Return the turn by the end of the session."""
    if exited.report.endswith(b"\n"):
        own, said = _read_history(_split_lines(exited.report))
    else:
        own, said = _read_screen([line.rstrip() for line in _split_lines(exited.stdout)])
    by_itself = exited.timed_out or (exited.exit_code or 0) >= 0
    report = _read_end(own, said, exited.ended) if by_itself else TurnReport()
    usage = _usage(own)
    costs = [float(found["session"]) for found in map(_COST.match, own) if found]
    if usage is None and report.end in TURNED_AWAY:
        costs = [0.0]
    cost = costs[-1] if costs else None
    return replace(
        report,
        said=said,
        model=next((found[1] for found in map(_MODEL.match, own) if found), ""),
        usage=usage,
        cost=cost,
        tools=tuple(describe_use("edit", found[1]) for found in map(_EDITED.match, own) if found),
    )


def _split_lines(output: bytes) -> list[str]:
    return strip_escapes(output.decode("utf-8", "replace")).replace("\r\n", "\n").split("\n")


def _read_history(lines: list[str]) -> tuple[list[str], str]:
    """Return aider's own lines and the model's last reply, by the lines of the history file."""
    own = [_own_line(line, before) for before, line in zip(["", *lines], lines, strict=False)]
    end = max(_last_tokens(own), 0)
    begun = max((number for number in range(end) if own[number] or _TOLD.match(lines[number])), default=0)
    return [line for line in own if line], "\n".join(lines[begun + 1 : end]).strip()


def _own_line(line: str, before: str) -> str:
    """Return a line of aider's without its mark, "" for any other. With a cache, the cost's line has no mark."""
    if line.startswith(">") and (line.endswith("  ") or _TOKENS.fullmatch(line[2:])):
        return line[1:].strip()
    return line.strip() if _TOKENS.match(before[2:]) and _COST.fullmatch(line.strip()) else ""


def _read_screen(lines: list[str]) -> tuple[list[str], str]:
    """Return the lines of the screen, those of the model among them, and the model's last reply."""
    end = max(_last_tokens(lines), 0)
    begun = max(_find_header_end(lines), _last_tokens(lines[:end]) + 1)
    return lines, "\n".join(line for line in lines[begun:end] if not _COST.fullmatch(line)).strip()


def _last_tokens(lines: Sequence[str]) -> int:
    """Return the number of the last line of tokens, or -1."""
    return max((number for number, line in enumerate(lines) if _TOKENS.match(line)), default=-1)


def _find_header_end(lines: Sequence[str]) -> int:
    """Return the number of the line after the first ones, in which aider says what it works with."""
    begun = next((number for number, line in enumerate(lines) if line.startswith("Aider v")), None)
    if begun is None:
        return 0
    return next((n for n in range(begun, len(lines)) if not _HEADER.match(lines[n])), len(lines))


def _read_end(own: Sequence[str], said: str, now: float) -> TurnReport:
    """Return how the session ended by aider's last word since the model's last reply: earlier errors were overcome."""
    tail = own[_last_tokens(own) + 1 :]
    for number in range(len(tail) - 1, -1, -1):
        line = tail[number]
        if _EDITED.match(line):
            break
        if line.startswith(_CRASH):
            return TurnReport("failed", _last_line(tail[number:]))
        if _ENOUGH.match(line):
            return TurnReport("failed", line)
        if error := LITELLM_ERROR.match(line):
            message = tail[number:]
            ends = next((n for n, text in enumerate(message) if _COMMENT.match(text)), len(message))
            return read_exception(error["name"], " ".join(message[:ends]), now)
    if len(tail) == len(own):
        return TurnReport(detail=f"no reply of the model: {_last_line(tail)}"[:LONGEST_DETAIL])
    return TurnReport("finished", "" if said else "the reply of the model was empty")


def _last_line(lines: Sequence[str]) -> str:
    return next((line.strip() for line in lines[::-1] if line.strip()), "it printed nothing")[:LONGEST_DETAIL]


def _usage(own: Sequence[str]) -> Usage | None:
    """Return the tokens of all replies. What was read from a cache is among what was sent."""
    told = [found for found in map(_TOKENS.match, own) if found]
    sent, got, hit = (sum(_parse_count(found[name]) for found in told) for name in ("sent", "got", "hit"))
    return Usage.of_whole(sent, got, hit) if told else None


def _parse_count(text: str | None) -> int:
    """`85`, `1.2k`, `12k`; 0 for anything else."""
    found = re.fullmatch(r"(\d{1,9}(?:\.\d+)?)([kM]?)", text or "")
    return round(float(found[1]) * {"": 1, "k": 1_000, "M": 1_000_000}[found[2]]) if found else 0
