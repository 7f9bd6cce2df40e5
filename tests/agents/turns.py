"""One turn as a real process, the way a run makes it: the prompt on standard input, the workspace as directory."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from aigon.model.turns import Agent, Launch, ProgramExit, Turn, TurnRequest

PROMPT = "Make the tests pass.\n"


class Adapter(Protocol):
    """What a turn needs of an adapter, or of a module that is one by itself."""

    def build_launch(self, agent: Agent, ask: TurnRequest, /) -> Launch: ...

    def read_turn(self, agent: Agent, ask: TurnRequest, exited: ProgramExit, /) -> Turn: ...


@dataclass(frozen=True, slots=True)
class Place:
    """A main checkout and, elsewhere, a workspace; `ask` is about the iteration `number`."""

    checkout: Path
    workspace: Path

    def ask(self, number: int = 1) -> TurnRequest:
        return TurnRequest(
            number=number,
            feature_id="42",
            run_id="run-1",
            workspace=str(self.workspace),
            checkout=str(self.checkout),
            spec_file=str(self.workspace / "spec.md"),
            prompt_file=str(self.checkout / "prompt.md"),
            prompt_chars=len(PROMPT),
            limit=5,
            step="2/3",
            promises=("COMPLETE", "TESTS_PASS"),
        )


def place(folder: Path) -> Place:
    """Both folders, made."""
    made = Place(folder / "checkout", folder / "workspace")
    made.checkout.mkdir()
    made.workspace.mkdir()
    return made


def program(path: Path, script: str) -> Path:
    """An executable shell script."""
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def play(adapter: Adapter, agent: Agent, ask: TurnRequest, env: Mapping[str, str] | None = None) -> Turn:
    """The turn of a program that is really run, in an environment of PATH, `env` and what the adapter asks for."""
    launch = adapter.build_launch(agent, ask)
    done = subprocess.run(
        launch.argv,
        input=PROMPT.encode() if launch.stdin == "prompt" else b"",
        capture_output=True,
        cwd=ask.workspace,
        env={"PATH": os.environ["PATH"], **(env or {}), **launch.env},
        timeout=60,
        check=False,
    )
    return adapter.read_turn(agent, ask, ProgramExit(done.returncode, done.stdout, done.stderr, duration=0.5))
