"""Frozen values that all other packages use. Nothing here touches files, time or processes.

criteria     acceptance criteria, verdicts, promises      checks       checks, findings, what a project answers
turns        turns of agents and what these used          agents       types of agents, agents in worktrees
failures     problems grouped, compared and in words      requests     what an agent asks, and a judge is asked
outcomes     how a run, or `aigon doctor`, ends           resources    disk and memory that a run needs
changes      diffs, edits and integrity concerns
"""

from msgspec import Struct


class Recorded(Struct, frozen=True, forbid_unknown_fields=True):
    """A value in a journal. A field that it does not know is refused: a newer aigon wrote it."""
