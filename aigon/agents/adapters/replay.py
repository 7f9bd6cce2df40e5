"""Recorded attempts, played back by a real process: an agent for demonstrations and tests that costs nothing.

A recording is a folder with one folder per attempt, `1`, `2`, ...; each may hold

    files/      copied over the workspace
    delete      paths to remove from the workspace, one per line
    says.txt    printed

The attempt played is the number of the iteration; after the last one there is nothing left to replay. Nothing is
written outside the workspace.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from aigon.agents.adapters import _player, _program
from aigon.model.turns import Agent, FindProgram, Launch, ProgramExit, TurnReport, TurnRequest


def explain_unready(agent: Agent, _find: FindProgram, _env: Mapping[str, str]) -> str:
    """Return what is missing. A relative recording starts at the main checkout, which is known only at launch."""
    if not agent.recording:
        return f"The agent {agent.name} has no recording. Give it the folder of one: it holds an attempt in 1/files/"
    folder = Path(agent.recording)
    if folder.is_absolute() and not _player.list_attempts(folder):
        return f"There is no recorded attempt in {folder}. An attempt is a folder such as {folder}/1/files/"
    return ""


def build_launch(agent: Agent, ask: TurnRequest) -> Launch:
    """Return the player, run by aigon's interpreter and isolated, so that the workspace cannot change what runs."""
    recording = str(Path(ask.checkout, agent.recording))
    argv = (sys.executable, "-I", str(Path(_player.__file__).resolve()), recording)
    return Launch(argv=argv, env=_program.build_environment(agent, ask), stdin="nothing")


def read_output(exited: ProgramExit) -> TurnReport:
    """Return the turn as it ended. It cost nothing, and says so."""
    end, detail = _program.describe_own_ending(exited)
    return TurnReport(end, detail, _program.last_words(exited.stdout), cost=0.0)
