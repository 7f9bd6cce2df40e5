"""Agent types and the adapters that start their programs and read them.

An agent type is a YAML file. Shipped ones are in `templates/agents/`; that of a plug-in is beside its module. A
project's own in `.aigon/agents/` and a person's own in the folder `agents` beside their configuration replace a shipped
one of their name. What an adapter module may have stands in `aigon.model.turns`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import ModuleType

from aigon.agents.adapters import _program
from aigon.errors import AigonError, usage
from aigon.files.registry import Registry
from aigon.files.resources import find_agent_types, read_document
from aigon.model import agent_types
from aigon.model.agent_types import AgentType
from aigon.model.judging import JudgeAnswer
from aigon.model.turns import Agent, FindProgram, Launch, ProgramExit, Turn, TurnRequest

READERS = Registry("aigon.agents", __name__, "reader of an agent's output")


@dataclass(frozen=True, slots=True)
class Adapter:
    """An agent type and the module that reads its output. What the module does not have follows from the type."""

    kind: AgentType
    module: ModuleType

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

    @property
    def can_consult(self) -> bool:
        """Whether it can answer a question without tools that change anything."""
        return self.kind.judge is not None

    def build_consultation(self, agent: Agent) -> Launch:
        """Return the command line that answers the question on standard input."""
        own = getattr(self.module, "build_consultation", None)
        launch: Launch = own(self.kind, agent) if own else _program.build_consultation(self.kind, agent)
        return launch

    def read_consultation(self, agent: Agent, exited: ProgramExit) -> JudgeAnswer:
        """Return the text of the answer, or why there is none."""
        return _program.read_consultation(self.kind, agent, exited, self.module.read_output(exited))


def load_types(folders: Iterable[Path] = ()) -> dict[str, AgentType]:
    """Return every agent type by name, later `folders` over earlier ones.

    A plug-in that cannot be loaded is left out. Raises AigonError (exit 2) for a malformed type.
    """
    files = _plugin_files() | find_agent_types()
    for folder in folders:
        files |= find_agent_types(folder)
    return {name: _read_type(name, file) for name, file in sorted(files.items())}


def find_type(name: str, folders: Iterable[Path] = ()) -> AgentType:
    """Return the agent type with this name or alias. Raises a usage error that lists the known ones."""
    every = tuple(folders)
    shipped = (*(find_agent_types(folder) for folder in every[::-1]), find_agent_types())
    if file := next((files[name] for files in shipped if name in files), None):
        return _read_type(name, file)
    if name in READERS.plugins():
        return _read_type(name, _plugin_file(name))
    known = load_types(every)
    if found := next((one for one in known.values() if name in one.aliases), None):
        return found
    near = get_close_matches(name, (*known, *(alias for one in known.values() for alias in one.aliases)), n=1)
    meant = f"Did you mean {near[0]}? " if near else ""
    raise usage(f"There is no agent called {name!r}", hint=f"{meant}Known: {', '.join(known)}")


def find_adapter(name: str) -> Adapter:
    """Return the adapter of the shipped type `name`. Raises a usage error that lists the known ones."""
    return _load_adapter(find_type(name))


def adapter_for(agent: Agent) -> Adapter:
    """Return the adapter that `agent` is run with."""
    return _load_adapter(agent.kind or find_type(agent.adapter))


def check_reader(found: AgentType, file: str) -> AgentType:
    """Return `found` if a module reads its output. Raises AigonError (exit 2) that names `file`."""
    if found.reads in READERS.builtins() or found.reads in READERS.plugins():
        return found
    what = f"There is no reader of an agent's output called {found.reads!r}"
    raise usage(what, where=f"{file}: reads", hint=READERS.suggest(found.reads))


def _load_adapter(kind: AgentType) -> Adapter:
    return Adapter(kind, READERS.load(kind.reads))


@cache
def _read_type(name: str, file: Path) -> AgentType:
    return check_reader(agent_types.read_agent_type(name, read_document(file), str(file)), str(file))


def _plugin_files() -> dict[str, Path]:
    files = {}
    for name in READERS.plugins():
        try:
            files[name] = _plugin_file(name)
        except AigonError:
            continue
    return files


def _plugin_file(name: str) -> Path:
    """Return the YAML file beside the module of a plug-in. Raises AigonError (exit 2) if either cannot be loaded."""
    module = READERS.load(name)
    file = Path(module.__file__).with_name(f"{name}.yaml")
    if not file.is_file():
        raise usage(f"The plug-in agent {name!r} has no {file.name} beside its module", where=str(file))
    return file
