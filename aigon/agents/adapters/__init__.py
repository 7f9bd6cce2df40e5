"""Kinds of agents: one YAML file each, and a module here that reads what its program prints.

Shipped kinds are in `templates/agents/`; a project's own in `.aigon/agents/` and a person's own in the folder `agents`
beside their configuration come in by the same door and replace a shipped one of their name. What a module may have
stands in `aigon.model.turns`.
"""

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import ModuleType

from aigon.agents.adapters import _program
from aigon.errors import usage
from aigon.files.resources import agent_kinds, document
from aigon.model import agent_types
from aigon.model.agent_types import AgentType
from aigon.model.judging import JudgeAnswer
from aigon.model.turns import Agent, FindProgram, Launch, ProgramExit, Turn, TurnRequest


@dataclass(frozen=True, slots=True)
class Adapter:
    """A kind, and the module that reads its output: what a module does not have follows from the kind."""

    kind: AgentType
    module: ModuleType

    def explain_unready(self, agent: Agent, find: FindProgram, env: Mapping[str, str]) -> str:
        """Empty when the agent can start, else what is missing and how to get it."""
        own = getattr(self.module, "explain_unready", None)
        return str(own(agent, find, env)) if own else _program.explain_unready(self.kind, agent, find)

    def build_launch(self, agent: Agent, ask: TurnRequest) -> Launch:
        """The command line of one turn."""
        own = getattr(self.module, "build_launch", None)
        launch: Launch = own(agent, ask) if own else _program.build_launch(self.kind, agent, ask)
        return launch

    def read_turn(self, agent: Agent, ask: TurnRequest, exited: ProgramExit) -> Turn:
        """What that turn was, read from what the program left."""
        own = getattr(self.module, "read_turn", None)
        turn: Turn = (
            own(agent, ask, exited) if own else _program.build_turn(agent, ask, exited, self.module.read_output(exited))
        )
        return turn

    def find_credentials(self, agent: Agent, env: Mapping[str, str]) -> tuple[str, ...]:
        """What logs the agent in beside what its kind names."""
        own = getattr(self.module, "find_credentials", None)
        return tuple(own(agent, env)) if own else ()

    @property
    def can_consult(self) -> bool:
        """Whether it can be asked a question, in read-only use."""
        return self.kind.judge is not None

    def build_consultation(self, agent: Agent) -> Launch:
        """The command line that answers what stands on standard input."""
        own = getattr(self.module, "build_consultation", None)
        launch: Launch = own(self.kind, agent) if own else _program.build_consultation(self.kind, agent)
        return launch

    def read_consultation(self, agent: Agent, exited: ProgramExit) -> JudgeAnswer:
        """The text of the answer, or why there is none."""
        return _program.read_consultation(self.kind, agent, exited, self.module.read_output(exited))


@cache
def list_readers() -> tuple[str, ...]:
    """The modules that read an output, sorted: those here without a leading underscore."""
    return tuple(sorted(found.name for found in pkgutil.iter_modules(__path__) if not found.name.startswith("_")))


def load_types(folders: Iterable[Path] = ()) -> dict[str, AgentType]:
    """Every kind by name, later `folders` over earlier ones. Raises AigonError (exit 2) for a malformed one."""
    files = dict(agent_kinds())
    for folder in folders:
        files |= agent_kinds(folder)
    return {name: _kind(name, file) for name, file in sorted(files.items())}


def find_type(name: str, folders: Iterable[Path] = ()) -> AgentType:
    """The kind called `name`, or called so for short. Raises a usage error that lists the known ones."""
    every = tuple(folders)
    file = next(
        (found[name] for found in (*(agent_kinds(f) for f in every[::-1]), agent_kinds()) if name in found), None
    )
    if file:
        return _kind(name, file)
    known = load_types(every)
    if found := next((one for one in known.values() if name in one.aliases), None):
        return found
    near = get_close_matches(name, (*known, *(alias for one in known.values() for alias in one.aliases)), n=1)
    meant = f"Did you mean {near[0]}? " if near else ""
    raise usage(f"There is no agent called {name!r}", hint=f"{meant}Known: {', '.join(known)}")


def find_adapter(name: str) -> Adapter:
    """The adapter of the shipped kind `name`. Raises a usage error that lists the known ones."""
    return _adapter(find_type(name))


def adapter_for(agent: Agent) -> Adapter:
    """The adapter that `agent` is run with."""
    return _adapter(agent.kind) if agent.kind else find_adapter(agent.adapter)


def _adapter(of: AgentType) -> Adapter:
    return Adapter(of, importlib.import_module(f"{__name__}.{of.reads}"))


@cache
def _kind(name: str, file: Path) -> AgentType:
    return check_reader(agent_types.read_agent_type(name, document(file), str(file)), str(file))


def check_reader(found: AgentType, file: str) -> AgentType:
    """`found`, if there is a module that reads its output. Raises AigonError (exit 2) that names `file`."""
    if found.reads not in list_readers():
        near = get_close_matches(found.reads, list_readers(), n=1)
        hint = (f"Did you mean {near[0]!r}? " if near else "") + f"Known: {', '.join(list_readers())}"
        raise usage(
            f"There is no reader of an agent's output called {found.reads!r}", where=f"{file}: reads", hint=hint
        )
    return found
