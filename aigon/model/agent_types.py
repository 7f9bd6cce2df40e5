"""Agent types: how an agent's program is found, started, given a model and paid for.

A type is one YAML file (`templates/agents/`, a project's own in `.aigon/agents/`, a person's in their configuration).
The adapter module that `reads` names reads what the program prints.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from aigon.text.documents import parse_yaml

ARGUMENT_GROUPS = ("approval", "model", "effort", "budget", "session", "args")
"""Optional parts of a command line; `{model}` as a whole word of `argv` says where one goes."""
PLACEHOLDERS = ("prompt", "prompt_file", "output", "workspace", "model", "effort", "usd", "session")
"""Placeholders inside a word, as `{prompt_file}`."""
CostReporting = Literal["reported", "tokens", "unknown"]


class Credentials(Struct, frozen=True):
    """Places of a login or a key: variables, and files (`~/` is the person's home). Contents are never read.

    Of the variables that look like credentials or belong to a provider, the agent sees those in `env`, those that
    match a glob in `more`, and those of `when` if a variable is switched on or a model is used (`model:bedrock/*`).
    """

    env: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    when: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class EscalationStep(Struct, frozen=True):
    """One escalation step: for how many turns (0: all that follow), model, effort, length of the feedback."""

    turns: int = 0
    model: str = ""
    effort: str = ""
    digest: Literal["short", "full"] = "short"


class CommandFiles(Struct, frozen=True):
    """Folders from which this agent reads commands of a person's own.

    `path` begins with `~/` for the person's home, else it is relative to the repository; `{name}` is the command's.
    In a command, `arguments` becomes all that was typed and `argument` its first word.
    """

    path: str
    format: Literal["markdown", "toml", "skill"] = "markdown"
    arguments: str = "$ARGUMENTS"
    argument: str = "$1"
    invoked: str = "/{name}"


class ServerFile(Struct, frozen=True):
    """The file of this agent's MCP servers: a path as in `CommandFiles`, their key, and aigon's entry as JSON.

    In TOML an entry with a `name` is one of an array of tables.
    """

    path: str
    entry: str = '{"command": "aigon", "args": ["mcp"]}'
    key: str = "mcpServers"

    @property
    def server(self) -> Mapping[str, object]:
        """The entry as data."""
        found: Mapping[str, object] = json.loads(self.entry)
        return found


class JudgeCommand(Struct, frozen=True):
    """The command that answers one question on standard input, without tools that change anything.

    `argv` follows `program`, `env` comes over the type's. `alone`: no file in the person's home, which an agent may
    have written, adds to the question.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    alone: bool = False


class AgentType(Struct, frozen=True):
    """One type of agent. `argv` follows `program`; a word that is exactly `{approval}`, `{model}`, ... is that group.

    `env` are variables that are set unless the person sets them, `unset` are removed; `home` is what a sandbox lets it
    write outside of the workspace (a folder with a trailing `/` is made if missing); `leaves` are exclude lines for
    what the program leaves in the work tree; `permission_flags` replace `approval` if a person gives them; without the
    words of `own_sandbox_off` the program starts a sandbox of its own, which cannot start inside of Landlock; `tested`
    is the version that the adapter was written against and `source` whether it was run or only read about; `cost` says
    what the program reports of its cost: dollars, tokens, nothing.
    """

    name: str
    title: str
    program: str = ""
    aliases: tuple[str, ...] = ()
    tested: str = ""
    source: Literal["measured", "docs"] = "measured"
    version: tuple[str, ...] = ("--version",)
    install: str = ""
    login: str = ""
    needs: Mapping[str, str] = field(default_factory=dict)
    as_root: str = ""
    credentials: Credentials = Credentials()
    argv: tuple[str, ...] = ()
    approval: tuple[str, ...] = ()
    approval_as_root: tuple[str, ...] | None = None
    permission_flags: tuple[str, ...] = ()
    own_sandbox_off: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    effort: tuple[str, ...] = ()
    budget: tuple[str, ...] = ()
    session: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    home: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()
    reads: str = ""
    cost: CostReporting = "unknown"
    ladder: tuple[EscalationStep, ...] = ()
    commands: CommandFiles | None = None
    mcp: ServerFile | None = None
    judge: JudgeCommand | None = None
    note: str = ""

    def is_permitted_by(self, args: Sequence[str]) -> bool:
        """Return whether a person's own flags about permissions are among `args`."""
        return any(word.split("=")[0] in self.permission_flags for word in args)

    def starts_sandbox(self, args: Sequence[str]) -> bool:
        """Return whether the program starts a sandbox of its own with these arguments."""
        off = any(word.rpartition("=")[2] in self.own_sandbox_off for word in args)
        return bool(self.own_sandbox_off) and self.is_permitted_by(args) and not off

    @property
    def wants_stdin(self) -> bool:
        """True if the prompt goes in by standard input, since no word of the command line has it or its file."""
        return not any("{prompt}" in word or "{prompt_file}" in word for word in self.argv)


def read_agent_type(name: str, content: bytes, file: str) -> AgentType:
    """Return the type in a YAML document. Raises AigonError (exit 2) that names the file and key of an error."""
    document = parse_yaml(content, file)
    agent_type = document.build(AgentType, name=name)
    known = {*ARGUMENT_GROUPS, *PLACEHOLDERS}
    for key, node in document.pairs().items():
        if key in ("argv", "approval", "approval_as_root", "model", "effort", "budget", "session"):
            for word in node.texts():
                for unknown in sorted({*re.findall(r"(?<!\{)\{([a-z_]+)\}", word)} - known):
                    raise node.wrong(f"has an unknown placeholder {{{unknown}}}", f"Known: {', '.join(sorted(known))}")
    return agent_type if agent_type.reads else replace(agent_type, reads=name.replace("-", "_"))


CommandFileState = Literal["new", "updated", "unchanged", "edited", "foreign", "refused", "removed", "absent"]
"""`edited`: a person changed the file; `foreign`: it is not aigon's; both are left. `refused`: it cannot be written."""


class CommandFileResult(Struct, frozen=True):
    """One file: `path` as people know it, `beside` a newer version next to it, `why` it could not be written.

    `usage` is what a person types in the agent.
    """

    agent: str
    command: str
    usage: str
    path: str
    state: CommandFileState
    beside: str = ""
    why: str = ""

    @property
    def wrote(self) -> bool:
        """True if the file itself was written."""
        return self.state in ("new", "updated", "removed")
