"""Results of `aigon doctor` and `aigon doctor --repair`."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

from aigon.errors import Exit

AgentState = Literal["ready", "not ready", "not installed"]


class AgentHealth(Struct, frozen=True):
    """One agent. `kind` is the name of its agent type; `configured`: the project's configuration has it.

    `path` is where its program is, `version` what that said, `tested` the version that aigon was tried with and
    `source` whether it was tried at all. `problems` keep it from working, `remarks` do not. `seen` are the names of
    credentials that exist, and `login` is how to get some; `as_root` what is known of running it as root.
    """

    name: str
    title: str
    kind: str
    state: AgentState
    configured: bool = False
    program: str = ""
    path: str = ""
    version: str = ""
    tested: str = ""
    source: str = "measured"
    problems: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    install: str = ""
    login: str = ""
    as_root: str = ""


class MachineFact(Struct, frozen=True):
    """One fact about the machine: in words, as data, and what is wrong with it (`code` is its exit code)."""

    name: str
    title: str
    text: str
    data: Mapping[str, object] = field(default_factory=dict)
    problem: str = ""
    remark: str = ""
    code: Exit = Exit.ENVIRONMENT


class Diagnosis(Struct, frozen=True):
    """All of it. `taken` is the agent that a run would use, `choice` says why, `note` how to add one."""

    agents: tuple[AgentHealth, ...]
    machine: tuple[MachineFact, ...]
    taken: str = ""
    choice: str = ""
    note: str = ""

    @property
    def exit_code(self) -> Exit:
        """7 if the machine has a problem, else 2 if the configuration has one, 6 if no agent is ready, or 0."""
        codes = {fact.code for fact in self.machine if fact.problem}
        for code in (Exit.ENVIRONMENT, Exit.USAGE):
            if code in codes:
                return code
        return Exit.MET if any(agent.state == "ready" for agent in self.agents) else Exit.UNAVAILABLE


class RepairedRecord(Struct, frozen=True):
    """A record or view that was rebuilt or set aside; `kept_as` is where the damaged one is, "" if it was not kept."""

    what: str
    path: str
    kept_as: str
    how: str


class UnrepairedRecord(Struct, frozen=True):
    """A record beyond repair, `why`, and what a person can `do`. `hinders`: no run begins before that is done."""

    what: str
    path: str
    why: str
    do: str = ""
    hinders: bool = True


class RepairReport(Struct, frozen=True):
    """All repairs; `ended` counts processes that killed loops had left."""

    repaired: tuple[RepairedRecord, ...] = ()
    unmended: tuple[UnrepairedRecord, ...] = ()
    ended: int = 0

    @property
    def exit_code(self) -> Exit:
        """7 if something still keeps runs from starting, else 0."""
        return Exit.ENVIRONMENT if any(each.hinders for each in self.unmended) else Exit.MET
