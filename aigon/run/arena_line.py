"""The command line and the environment of one loop of an arena."""

import os
import sys
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

from aigon.core.candidate import Candidate
from aigon.run.options import Options

OWN = ("feature", "loop", "resume", "agents", "worktree", "max_time", "arena")
"""Options that each loop gets in its own way, and not as they were given."""
SPELLED = {"promises": "--promise"}
"""Options that are not called as their fields are."""


def command_line(candidate: Candidate, options: Options, *, resume: bool, left: float | None) -> list[str]:
    """What starts the loop of `candidate`, which may take `left` seconds."""
    how = ["--resume"] if resume else ["--loop"] if options.loop else []
    time = [] if left is None else ["--max-time", f"{left:.1f}s"]
    words = [*how, "--agent", candidate.agent, "--worktree", "--json", *forwarded(options), *time]
    return [sys.executable, "-P", "-m", "aigon", "feature-implement", *words, "--", candidate.feature]


def forwarded(options: Options) -> list[str]:
    """Everything that a person said and that holds for all: what is not as it would be without a word."""
    words: list[str] = []
    for field in fields(options):
        value = getattr(options, field.name)
        if field.name not in OWN and value != field.default:
            words += _words(SPELLED.get(field.name, f"--{field.name.replace('_', '-')}"), value)
    if options.accept_spec and not options.yes:
        words.append("--yes")  # who may accept it was asked before; a loop without a terminal cannot ask again
    return words


def environment(folder: Path) -> Mapping[str, str]:
    """This process's own, with the folder that all share; the loop ends when this process is gone."""
    return {**os.environ, "AIGON_ARENA": str(folder), "AIGON_ARENA_STDIN": "1"}


def _words(name: str, value: object) -> list[str]:
    if value is True:
        return [name]
    if isinstance(value, tuple):
        return [word for one in value for word in (name, str(one))]
    return [name, str(value)]
