"""Agents: types of them, and those that work on a feature in worktrees of their own.

A type says how an agent's program is found, started, given a model and paid for. It is one YAML file
(`templates/agents/`, a project's own in `.aigon/agents/`, a person's in their configuration). The adapter module that
`reads` names reads what the program prints.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from aigon.errors import usage
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


MAX_LABEL_CHARS = 40
"""A label is a part of branch, folder and project names, of which Docker Compose allows 63 characters."""


class RequestedAgent(Struct, frozen=True):
    """An agent as a person named it (`claude:opus`): the agent, the model asked for ("" for its own), the label."""

    name: str
    agent: str
    model: str
    label: str


class Candidate(Struct, frozen=True):
    """A worktree of a feature and the agent that works there; `path` is absolute.

    `feature` is the ID, `agent` as a person named it (`claude:opus`), `label` unique within the feature (`cc-opus`),
    `slot` a number from 1 that no other worktree of the repository has: it gives ports and names. `ready` names the
    set-up that was done in the worktree; "" before the first.
    """

    feature: str
    slug: str
    label: str
    agent: str
    mode: Literal["worktree", "arena"]
    slot: int
    branch: str
    path: str
    ready: str = ""


def parse_requested_agent(name: str, short: str, known: Iterable[str] = ()) -> RequestedAgent:
    """Parse `claude:opus` as the agent `claude` with the model `opus`. `short` is the agent's short name.

    A name in `known` is an agent's as a whole. Raises AigonError (exit 2) for half a name.
    """
    agent, colon, model = (name, "", "") if name in known else name.partition(":")
    if not agent or (colon and not model):
        raise usage(f"'{name}' names no agent", where="--agent", hint="Such as claude, or claude:opus for its model")
    text = f"{short or agent}-{model}" if model else short or agent
    ascii_ = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    label = re.sub(r"[^a-z0-9]+", "-", ascii_.lower()).strip("-")[:MAX_LABEL_CHARS].strip("-") or "agent"
    return RequestedAgent(name, agent, model, label)


def assign_distinct_labels(agents: Sequence[RequestedAgent]) -> tuple[RequestedAgent, ...]:
    """Return the agents with distinct labels. Raises AigonError (exit 2) if one is named twice."""
    labelled: dict[str, RequestedAgent] = {}
    for each in agents:
        if any((other.agent, other.model) == (each.agent, each.model) for other in labelled.values()):
            raise usage(
                f"{each.name} is named twice",
                where="--agent",
                hint=f"Give each a model ({each.agent}:MODEL), or configure it a second time under another name",
            )
        label, number = each.label, 2
        while label in labelled:
            label, number = f"{each.label}-{number}", number + 1
        labelled[label] = replace(each, label=label)
    return tuple(labelled.values())


def format_branch_name(feature: str, label: str, slug: str) -> str:
    """Return the branch of a candidate: `feature-42-cc-dark-mode`."""
    return f"feature-{feature}-{label}-{slug}"


def format_run_command(feature: str, label: str = "", option: str = "--resume") -> str:
    """Return the command that lets the agent called `label` ("" in solo mode) begin a feature or go on with it."""
    return f"aigon feature-implement {feature} {option}{f' --agent {label}' if label else ''}"


def describe_missing_failing_criterion(feature: str, label: str, spec: str) -> str:
    """Return what a person does after a run in which every criterion passed before anything was built."""
    again = format_run_command(feature, label)
    refactoring = f"for a refactoring: {again} --accept-passing"
    return f"add a criterion that fails now to {spec}, then {again} --accept-spec; {refactoring}"


def find_candidate(candidates: Sequence[Candidate], wanted: str) -> Candidate | None:
    """Return the only candidate that a person calls by its label, or else by the agent's name."""
    matches = [one for one in candidates if one.label == wanted] or [one for one in candidates if one.agent == wanted]
    return matches[0] if len(matches) == 1 else None
