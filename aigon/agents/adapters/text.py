"""A program that prints plain text: its exit code decides, its last words are what it said, its cost is unknown."""

from aigon.agents.adapters._program import describe_own_ending, last_words
from aigon.model.turns import ProgramExit, TurnReport


def read_output(exited: ProgramExit) -> TurnReport:
    """Return the turn by its exit code."""
    return TurnReport(*describe_own_ending(exited), last_words(exited.stdout) or last_words(exited.stderr))
