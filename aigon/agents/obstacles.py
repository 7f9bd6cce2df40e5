"""What keeps an agent from working here, as far as a look at files and variables tells. Nothing is started or shown."""

import os
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from aigon.agents.adapters import adapter_for
from aigon.agents.credentials import LARGEST_LOGIN, is_login_empty, is_login_expired, join_names, list_withheld
from aigon.checks.interpreters import find_node
from aigon.errors import AigonError
from aigon.files import atomic
from aigon.model.agent_types import AgentType
from aigon.model.turns import Agent
from aigon.secrets.redaction import holds_secret

_FOLDERS = {"~/.config/": "XDG_CONFIG_HOME", "~/.local/share/": "XDG_DATA_HOME", "~/.local/state/": "XDG_STATE_HOME"}
"""Folders of the person's home that a variable moves elsewhere (XDG Base Directory Specification)."""


@dataclass(frozen=True, slots=True)
class Obstacles:
    """What was found of one agent: `path` of its program, "" where it has none or it is not there.

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
    known = agent.kind or AgentType(agent.adapter, agent.adapter)
    path = find(known.program) if known.program else None
    lacks = adapter_for(agent).explain_unready(agent, find, theirs)
    if lacks or not path:  # what is not there has no other problems that matter
        return Obstacles(path or "", (lacks,) if lacks else (), find_credentials(known, theirs))
    found = (*find_credentials(known, theirs), *adapter_for(agent).find_credentials(agent, theirs))
    kept = [name for name in list_withheld(env, agent, known) if holds_secret(name)]
    problems = (
        _root_problem(known, theirs),
        _node_problem(known, path, theirs),
        _login_problem(agent, known, found, kept, theirs),
    )
    return Obstacles(path, tuple(problem for problem in problems if problem), found)


def find_program(root: Path, env: Mapping[str, str], name: str) -> str | None:
    """Return where a program is. A path means a file of the main checkout, runnable or not."""
    if "/" not in name:
        return shutil.which(name, path=env.get("PATH"))
    file = root / os.path.expanduser(name)  # noqa: PTH111 - a user that does not exist must not raise
    return str(file) if file.is_file() else None


def find_credentials(kind: AgentType, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the credentials that are there: variables and files that hold something. Never what is in them."""
    variables = [name for name in kind.credentials.env if env.get(name, "").strip()]
    return (*variables, *(name for name, empty in _credential_files(kind, env) if not empty))


def _credential_files(kind: AgentType, env: Mapping[str, str]) -> list[tuple[str, bool]]:
    """Return the files with credentials that are there, and whether each is known to hold none."""
    there = ((name, _locate(name, env)) for name in kind.credentials.files)
    return [(name, is_login_empty(name, _read_login(path))) for name, path in there if os.path.isfile(path)]  # noqa: PTH113 - False where looking is not allowed


def _read_login(path: str) -> bytes | None:
    """Return a file; None if it cannot be read, which says nothing of what it holds."""
    try:
        return atomic.read_bounded(Path(path), LARGEST_LOGIN, "A file with a login", hint="")
    except (OSError, AigonError):
        return None


def _locate(name: str, env: Mapping[str, str]) -> str:
    """Where a file such as `~/.config/x` is; a variable at its beginning, as in `$CODEX_HOME/x`, has to be set."""
    for begins, variable in _FOLDERS.items():
        if name.startswith(begins) and os.path.isabs(env.get(variable, "")):  # noqa: PTH117 - a text
            return os.path.join(env[variable], name.removeprefix(begins))  # noqa: PTH118 - a text
    if name.startswith("$"):
        variable, _, rest = name[1:].partition("/")
        return f"{env[variable]}/{rest}" if env.get(variable) else ""
    home = env.get("HOME") or str(Path.home())
    return f"{home}/{name[2:]}" if name.startswith("~/") else name


def refuses_root(kind: AgentType, env: Mapping[str, str]) -> bool:
    """Whether aigon runs as root and this kind does not: what it says of root begins with anything but "works"."""
    return is_root(env) and bool(kind.as_root) and not kind.as_root.lower().startswith("works")


def is_root(env: Mapping[str, str]) -> bool:
    """Whether aigon runs as root, outside of what says that it is a sandbox."""
    return os.geteuid() == 0 and env.get("IS_SANDBOX") != "1"


def _root_problem(kind: AgentType, env: Mapping[str, str]) -> str:
    return f"aigon runs as root, and it {kind.as_root}" if refuses_root(kind, env) else ""


def _node_problem(kind: AgentType, path: str, env: Mapping[str, str]) -> str:
    """Return the problem if there is no Node at all. Which version is there shows only when it is run."""
    wanted = kind.needs.get("node", "")
    if not wanted:
        return ""
    node = find_node(path)
    if node is None or shutil.which(node, path=env.get("PATH")):
        return ""
    return f"it needs Node {wanted} or newer, and there is no `{node}`"


def _login_problem(
    agent: Agent, kind: AgentType, found: tuple[str, ...], kept: Sequence[str], env: Mapping[str, str]
) -> str:
    """Return what is wrong with the login. One under another agent's name does not count: this agent cannot see it."""
    how = f": {kind.login}" if kind.login else ""
    if not any(name in kind.credentials.env for name in found) and (old := _find_expired(kind, env)):
        return f"the login in {old} has expired{how}"
    passed = any(name in agent.passed or name in agent.env for name in (*kept, *agent.passed))
    if found or passed or not (kind.credentials.env or kind.credentials.files):
        return ""
    if empty := next((name for name, holds_none in _credential_files(kind, env) if holds_none), ""):
        return f"{empty} holds no login{how}"
    if not kept:
        return f"no login is seen{how}"
    return f"no login is seen{how}; kept from it: {join_names(kept)} (agents.{agent.name}.pass lets one through)"


def _find_expired(kind: AgentType, env: Mapping[str, str]) -> str:
    """Return the first file with a login that is over and cannot be renewed by itself; empty without one."""
    now = time.time()
    return next(
        (
            name
            for name, _ in _credential_files(kind, env)
            if is_login_expired(_read_login(_locate(name, env)) or b"", now)
        ),
        "",
    )
