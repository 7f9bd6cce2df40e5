"""The command line and the environment of one loop of an arena."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import asdict

from aigon.job.options import DEFAULTS, Options, spell_option
from aigon.model.candidates import Candidate

OWN = (
    "feature", "loop", "resume", "agents", "worktree", "arena", "time_left", "line_up", "judge_model", "judge_agent",
    "sources",
)  # fmt: skip
"""Options that each loop gets in its own way, and not as they were given."""


def build_command_line(candidate: Candidate, options: Options, *, resume: bool) -> list[str]:
    """Return the command line that starts the loop of `candidate`."""
    how = ["--resume"] if resume else ["--loop"] if options.loop else []
    words = [*how, "--agent", candidate.agent, "--worktree", "--json", *forward_options(options)]
    return [sys.executable, "-P", "-m", "aigon", "feature-implement", *words, "--", candidate.feature]


def forward_options(options: Options) -> list[str]:
    """The options that hold for all loops, as words. Each loop reads variables itself."""
    words: list[str] = []
    for name, value in asdict(options).items():
        if name not in OWN and value != DEFAULTS[name] and options.sources.get(name) != "environment":
            words += spell_option(name, value)
    if options.accept_spec and not options.yes:
        words.append("--yes")  # who may accept it was asked before; a loop without a terminal cannot ask again
    return words


def build_environment(folder: Path, left: float | None) -> Mapping[str, str]:
    """This process's own, with the folder that all share, and the seconds that are `left` for the loop.

    The loop ends when this process is gone.
    """
    time = {} if left is None else {"AIGON_ARENA_LEFT": str(left)}
    return {**os.environ, "AIGON_ARENA": str(folder), "AIGON_ARENA_STDIN": "1", **time}
