"""Agent types and the adapters that start their programs and read them.

An agent type is a YAML file. Shipped ones are in `templates/agents/`; a plug-in keeps its own next to its module. A
project's own in `.aigon/agents/` and a person's own in the folder `agents` next to their configuration replace a
shipped one of their name. `aigon.model.turns` lists what an adapter module may have.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from aigon.agents.adapters import _program
from aigon.errors import AigonError, usage
from aigon.files.resources import Registry, find_agent_types, read_document
from aigon.model.agents import AgentType, read_agent_type
from aigon.model.requests import JudgeAnswer
from aigon.model.turns import Agent, FindProgram, Launch, ProgramExit, Turn, TurnRequest
from aigon.text.documents import suggest

READERS = Registry("aigon.agents", __name__, "reader of an agent's output", {"command": "command text"})


class Adapter(Struct, frozen=True):
    """An agent type and the module, or object, that reads its output. What it does not have follows from the type."""

    kind: AgentType
    module: Any

    def explain_unready(self, agent: Agent, find: FindProgram, env: Mapping[str, str]) -> str:
        """Return what is missing and how to get it; empty if the agent can start."""
        own = getattr(self.module, "explain_unready", None)
        return str(own(agent, find, env)) if own else _program.explain_unready(self.kind, agent, find)

    def build_launch(self, agent: Agent, ask: TurnRequest) -> Launch:
        """Return the command line of one turn."""
        own = getattr(self.module, "build_launch", None)
        launch: Launch = own(agent, ask) if own else _program.build_launch(self.kind, agent, ask)
        return launch

    def read_turn(self, agent: Agent, ask: TurnRequest, exited: ProgramExit) -> Turn:
        """Return what a turn was, read from what the program left."""
        if own := getattr(self.module, "read_turn", None):
            turn: Turn = own(agent, ask, exited)
            return turn
        return _program.build_turn(agent, ask, exited, self.module.read_output(exited))

    def find_credentials(self, agent: Agent, env: Mapping[str, str]) -> tuple[str, ...]:
        """Return what logs the agent in besides what its type names."""
        own = getattr(self.module, "find_credentials", None)
        return tuple(own(agent, env)) if own else ()

    def build_consultation(self, agent: Agent) -> Launch:
        """Return the command line that answers the question on standard input."""
        own = getattr(self.module, "build_consultation", None)
        launch: Launch = (own or _program.build_consultation)(self.kind, agent)
        return launch

    def read_consultation(self, agent: Agent, exited: ProgramExit) -> JudgeAnswer:
        """Return the text of the answer, or why there is none."""
        return _program.read_consultation(self.kind, agent, exited, self.module.read_output(exited))


def load_types(folders: Iterable[Path] = ()) -> dict[str, AgentType]:
    """Return every agent type by name, later `folders` over earlier ones.

    A plug-in that cannot be loaded is left out. Raises AigonError (exit 2) for a malformed type.
    """
    files: dict[str, Path] = {}
    for name in READERS.plugins():
        with suppress(AigonError):
            files[name] = _find_plugin_file(name)
    for folder in (None, *folders):
        files |= find_agent_types(folder)
    return {name: _read_type(name, file) for name, file in sorted(files.items())}


def find_type(name: str, folders: Iterable[Path] = ()) -> AgentType:
    """Return the agent type with this name or alias. Raises a usage error that lists the known ones."""
    every = tuple(folders)
    for folder in (*every[::-1], None):
        if file := find_agent_types(folder).get(name):
            return _read_type(name, file)
    if name in READERS.plugins():
        return _read_type(name, _find_plugin_file(name))
    known = load_types(every)
    aliases = {alias: kind for kind in reversed(known.values()) for alias in kind.aliases}
    if name in aliases:
        return aliases[name]
    raise usage(f"There is no agent called {name!r}", hint=suggest(name, known, aliases))


def find_adapter(name: str) -> Adapter:
    """Return the adapter of the shipped type `name`. Raises a usage error that lists the known ones."""
    return _load_adapter(find_type(name))


def adapter_for(agent: Agent) -> Adapter:
    """Return the adapter that `agent` is run with."""
    return _load_adapter(agent.kind or find_type(agent.adapter))


def _load_adapter(kind: AgentType) -> Adapter:
    return Adapter(kind, READERS.load(kind.reads))


def parse_type(name: str, content: bytes, file: str) -> AgentType:
    """Return the type in a YAML document. Raises AigonError (exit 2) if it is malformed or no module reads it."""
    kind = read_agent_type(name, content, file)
    if kind.reads in READERS.names():
        return kind
    what = f"There is no reader of an agent's output called {kind.reads!r}"
    raise usage(what, where=f"{file}: reads", hint=READERS.suggest(kind.reads))


@cache
def _read_type(name: str, file: Path) -> AgentType:
    return parse_type(name, read_document(file), str(file))


def _find_plugin_file(name: str) -> Path:
    """Return the YAML file next to the module of a plug-in. Raises AigonError (exit 2) if either cannot be loaded."""
    file = Path(READERS.load(name).__file__).with_name(f"{name}.yaml")
    if not file.is_file():
        raise usage(f"The plug-in agent {name!r} has no {file.name} next to its module", where=str(file))
    return file
