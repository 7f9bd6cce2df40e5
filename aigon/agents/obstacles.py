"""Find what keeps an agent from working here, as far as files and variables tell, and choose an agent for a run whose
command line names none. Nothing is started or shown."""

import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct

from aigon.agents.adapters import adapter_for
from aigon.agents.credentials import (
    LARGEST_LOGIN,
    describe_withheld,
    has_api_key,
    is_login_empty,
    is_login_expired,
    list_withheld_secrets,
)
from aigon.checks.project import find_node
from aigon.config.models import Config
from aigon.errors import AigonError
from aigon.files import atomic
from aigon.model.agents import AgentType
from aigon.model.outcomes import AgentHealth
from aigon.model.turns import Agent

_FOLDERS = {"~/.config/": "XDG_CONFIG_HOME", "~/.local/share/": "XDG_DATA_HOME", "~/.local/state/": "XDG_STATE_HOME"}
"""Folders of the person's home that a variable moves elsewhere (XDG Base Directory Specification)."""


class Obstacles(Struct, frozen=True):
    """The obstacles of one agent: `path` of its program, "" if it has none or it is not there.

    `problems` keep it from working; `seen` are the credentials that are there, by the names of variables and files, but
    for files that hold none.
    """

    path: str
    problems: tuple[str, ...]
    seen: tuple[str, ...]


def find_obstacles(agent: Agent, root: Path, env: Mapping[str, str]) -> Obstacles:
    """Return what keeps `agent` from working. Relative programs are those of `root`."""
    theirs = {**env, **agent.env}
    find = partial(find_program, root, theirs)
    kind = agent.kind or AgentType(agent.adapter, agent.adapter)
    path = find(kind.program) if kind.program else None
    adapter = adapter_for(agent)
    lacks = adapter.explain_unready(agent, find, theirs)
    credentials = find_credentials(kind, theirs)
    if lacks or not path:  # what is not there has no other problems that matter
        return Obstacles(path or "", (lacks,) if lacks else (), credentials)
    credentials = (*credentials, *adapter.find_credentials(agent, theirs))
    problems = [f"aigon runs as root, and it {kind.as_root}"] if refuses_root(kind, theirs) else []
    wanted = kind.needs.get("node", "")
    # Which version is there shows only when it is run.
    if wanted and (node := find_node(path)) and not shutil.which(node, path=theirs.get("PATH")):
        problems.append(f"it needs Node {wanted} or newer, and there is no `{node}`")
    if login := _explain_login(kind, credentials, theirs, agent, list_withheld_secrets(env, agent, kind)):
        problems.append(login)
    return Obstacles(path, tuple(problems), credentials)


def find_program(root: Path, env: Mapping[str, str], name: str) -> str | None:
    """Return where a program is. A path means a file of the main checkout, runnable or not."""
    if "/" not in name:
        return shutil.which(name, path=env.get("PATH"))
    file = root / os.path.expanduser(name)  # noqa: PTH111 - a user that does not exist must not raise
    return str(file) if file.is_file() else None


def find_credentials(kind: AgentType, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the credentials that are there: variables and files that hold something. Never what is in them."""
    variables = [name for name in kind.credentials.env if env.get(name, "").strip()]
    files = [name for name, content in _read_logins(kind, env) if not is_login_empty(name, content)]
    return (*variables, *files)


def _read_logins(kind: AgentType, env: Mapping[str, str]) -> Iterator[tuple[str, bytes | None]]:
    """Yield the files with credentials that are there, and what they hold; None if one cannot be read."""
    for name in kind.credentials.files:
        path = _locate(name, env)
        if not os.path.isfile(path):  # noqa: PTH113 - False where looking is not allowed
            continue
        try:
            yield name, atomic.read_bounded(Path(path), LARGEST_LOGIN, "A file with a login", hint="")
        except (OSError, AigonError):
            yield name, None


def _locate(name: str, env: Mapping[str, str]) -> str:
    """Return where a file such as `~/.config/x` is; a variable that begins it, as in `$CODEX_HOME/x`, has to be set."""
    for begins, variable in _FOLDERS.items():
        if name.startswith(begins) and os.path.isabs(env.get(variable, "")):  # noqa: PTH117 - a text
            return f"{env[variable].rstrip('/')}/{name.removeprefix(begins)}"
    if name.startswith("$"):
        variable, _, rest = name[1:].partition("/")
        return f"{env[variable]}/{rest}" if env.get(variable) else ""
    home = env.get("HOME") or str(Path.home())
    return f"{home}/{name[2:]}" if name.startswith("~/") else name


def refuses_root(kind: AgentType, env: Mapping[str, str]) -> bool:
    """Return whether aigon runs as root and this type refuses: what it says of root does not begin with "works"."""
    return is_root(env) and bool(kind.as_root) and not kind.as_root.lower().startswith("works")


def is_root(env: Mapping[str, str]) -> bool:
    """Return whether aigon runs as root, outside of what says that it is a sandbox."""
    return os.geteuid() == 0 and env.get("IS_SANDBOX") != "1"


def _explain_login(
    kind: AgentType, credentials: Sequence[str], env: Mapping[str, str], agent: Agent, withheld: Sequence[str]
) -> str:
    """Return what is wrong with the login. One under another agent's name does not count: this agent cannot see it."""
    how = f": {kind.login}" if kind.login else ""
    logins = dict(_read_logins(kind, env))
    if not any(name in kind.credentials.env for name in credentials):
        now = time.time()
        if old := next((name for name, content in logins.items() if is_login_expired(content or b"", now)), ""):
            return f"the login in {old} has expired{how}"
    passed = agent.passed or any(name in agent.env for name in withheld)
    if credentials or passed or not (kind.credentials.env or kind.credentials.files):
        return ""
    if empty := next((name for name, content in logins.items() if is_login_empty(name, content)), ""):
        return f"{empty} holds no login{how}"
    return f"no login is seen{how}{f'; {describe_withheld(agent, withheld)}' if withheld else ''}"


IN_ORDER = ("claude", "codex", "opencode", "gemini")
"""Who is asked first; the others follow by name."""
LAST_IN_ORDER = "api"
NEVER_CHOSEN = ("command", "replay")
"""Types, or what reads them, that are nothing without a command or a recording of their own."""


class CandidateType(Struct, frozen=True):
    """A type whose program is there, and what keeps it from working."""

    kind: AgentType
    problems: tuple[str, ...]


def list_candidates(
    known: Mapping[str, AgentType], env: Mapping[str, str], root: Path | None = None
) -> tuple[CandidateType, ...]:
    """Return the types that could be taken and whose program is there, in their order. Nothing is run.

    One only read about is never taken, and the built-in one only with a key of the API.
    """
    found = []
    for kind in sorted(known.values(), key=rank_type):
        if kind.source == "docs" or {kind.name, kind.reads} & {*NEVER_CHOSEN}:
            continue
        if kind.name == LAST_IN_ORDER and not has_api_key(env):
            continue
        at = find_obstacles(Agent(kind.name, kind.name, kind=kind), root or Path.cwd(), env)
        if at.path or (not kind.program and not at.problems):
            found.append(CandidateType(kind, at.problems))
    return tuple(found)


def rank_type(kind: AgentType) -> tuple[bool, int, str]:
    """Return the sort key of an agent type."""
    place = IN_ORDER.index(kind.name) if kind.name in IN_ORDER else len(IN_ORDER)
    return kind.name == LAST_IN_ORDER, place, kind.name


def describe_choice(taken: AgentType, among: Iterable[CandidateType]) -> str:
    """Describe the choice: `agent: codex, the first that is ready (of claude, codex)`."""
    names = [one.kind.name for one in among]
    if len(names) < 2:
        return f"agent: {taken.name}, the only one that is here"
    return f"agent: {taken.name}, the first that is ready (of {', '.join(names)})"


def explain_none_ready(among: Iterable[CandidateType]) -> str:
    """Return what each agent that is here lacks, as a hint; empty if none is here."""
    return "; ".join(f"{one.kind.name}: {one.problems[0]}" for one in among if one.problems)


def choose_agent(
    config: Config, env: Mapping[str, str], agents: Sequence[AgentHealth], known: Mapping[str, AgentType], root: Path
) -> tuple[str, str]:
    """Return the name of the agent, "" for none, and the reason in words."""
    if given := env.get("AIGON_AGENT", "").split():
        name, why = given[0], "named by AIGON_AGENT"
    elif config.default_agent:
        name, why = config.default_agent, "the defaultAgent of the configuration"
    elif len(config.agents) == 1:
        name, why = next(iter(config.agents)), "the only one that is configured"
    elif config.agents:
        return "", "several agents are configured: name one with --agent, or as defaultAgent"
    else:
        among = list_candidates(known, env, root)
        first = next((one.kind for one in among if not one.problems), None)
        if first is None:
            return "", "no agent is ready: install one, or log in"
        return first.name, describe_choice(first, among)
    meant = next((one.name for one in known.values() if name in one.aliases), name)
    health = next((agent for agent in agents if agent.name in (name, meant)), None)
    if health is None:
        why += "; there is no such agent"
    elif health.state != "ready":
        why += f"; it is {health.state}"
    return name, f"agent: {name}, {why}"
