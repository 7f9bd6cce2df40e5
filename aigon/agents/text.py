"""A program that prints plain text: its exit code decides, its last words are what it said, its cost is unknown."""

from aigon.agents._program import from_text
from aigon.core.agent import Exited, Seen


def seen(exited: Exited) -> Seen:
    """The turn by its exit code."""
    return from_text(exited)
