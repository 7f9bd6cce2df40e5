"""What a judge says when it cannot say anything else, and how long it may speak."""

from collections.abc import Iterable

from aigon.core.fingerprint import plain
from aigon.core.model import Criterion, Verdict

_TEXT = 1_000
"""Characters of evidence, and of reason, that are kept of one verdict."""


def unclear(criteria: Iterable[Criterion], reason: str) -> tuple[Verdict, ...]:
    """The same reason for all of them."""
    return tuple(Verdict(one.number, "unclear", "judge", reason=bounded(reason)) for one in criteria)


def bounded(text: str) -> str:
    """On one line, without escape sequences: it is printed, and written into the log."""
    line = " ".join(plain(text).split())
    return line if len(line) <= _TEXT else line[: _TEXT - 1] + "…"
