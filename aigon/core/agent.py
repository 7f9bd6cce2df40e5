"""What an agent adapter is given and what it gives back: values only, the process is run by `aigon.run`.

An adapter is a module in `aigon/agents/` with three functions:

    ready(agent, find, env) -> str          "" when it can start, else what is missing and how to get it
    launch(agent, ask) -> Launch            the command line of one turn
    turn(agent, ask, exited) -> Turn        what that turn was, read from what the program left

One that can also be asked a question, as the judge `agent` does, has two more:

    consult(agent) -> Launch                the command line that answers what stands on standard input
    consulted(agent, exited) -> Answer      the text of the answer, or why there is none

`consult` is read-only use: the program gets no tool, no settings, memory or hooks of the person or the project, and
`agent.args` are left out, since they could give it any of these. It runs in an empty folder.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

Find = Callable[[str], str | None]
"""Where a program is: its absolute path, or None."""


@dataclass(frozen=True, slots=True)
class Agent:
    """A configured agent. `command` is for the command adapter, `recording` a folder for the replay adapter."""

    name: str
    adapter: str
    model: str = ""
    effort: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    recording: str = ""


@dataclass(frozen=True, slots=True)
class Ask:
    """One turn's question. Paths are absolute; `checkout` is the main checkout, `workspace` where the agent works."""

    number: int
    feature_id: str
    run_id: str
    workspace: str
    checkout: str
    spec_file: str
    prompt_file: str
    prompt_chars: int = 0


@dataclass(frozen=True, slots=True)
class Launch:
    """A command line. `stdin` says what the program reads: the prompt's text, or nothing at all."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: Literal["prompt", "nothing"] = "prompt"


@dataclass(frozen=True, slots=True)
class Exited:
    """What is left of a program that ran. `exit_code` is negative for a signal, None when it never started."""

    exit_code: int | None
    stdout: bytes = b""
    stderr: bytes = b""
    timed_out: bool = False
    killed: bool = False
    start_error: str = ""
    duration: float = 0.0
