"""What keeps an agent from working here, as far as a look at files and variables tells. Nothing is started or read."""

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from aigon.agents import adapter_of
from aigon.core.agent import Agent
from aigon.core.agent_env import kept_from, listed
from aigon.core.agent_kind import Kind
from aigon.core.credential_names import holds_secret
from aigon.run.judge_settings import program
from aigon.run.node_of import node_of

_FOLDERS = {"~/.config/": "XDG_CONFIG_HOME", "~/.local/share/": "XDG_DATA_HOME", "~/.local/state/": "XDG_STATE_HOME"}
"""Folders of the person's home that a variable moves elsewhere (XDG Base Directory Specification)."""


@dataclass(frozen=True, slots=True)
class Obstacles:
    """What was found of one agent: `path` of its program, "" where it has none or it is not there.

    `problems` keep it from working; `seen` are the credentials that are there, by the names of variables and files.
    """

    path: str
    problems: tuple[str, ...]
    seen: tuple[str, ...]


def obstacles(agent: Agent, root: Path, env: Mapping[str, str]) -> Obstacles:
    """What keeps `agent` from working. Relative programs are those of `root`."""
    theirs = {**env, **agent.env}
    find = partial(program, root, theirs)
    known = agent.kind or Kind(agent.adapter, agent.adapter)
    path = find(known.program) if known.program else None
    lacks = adapter_of(agent).ready(agent, find, theirs)
    if lacks or not path:  # what is not there has no other problems that matter
        return Obstacles(path or "", (lacks,) if lacks else (), seen(known, theirs))
    found = seen(known, theirs)
    kept = [name for name in kept_from(env, agent, known) if holds_secret(name)]
    problems = (_of_root(known, theirs), _of_node(known, path, theirs), _of_login(agent, known, found, kept))
    return Obstacles(path, tuple(problem for problem in problems if problem), found)


def seen(kind: Kind, env: Mapping[str, str]) -> tuple[str, ...]:
    """The credentials that are there: variables that hold something, files that exist. Never what is in them."""
    variables = [name for name in kind.credentials.env if env.get(name, "").strip()]
    return (*variables, *(name for name in kind.credentials.files if os.path.isfile(_place(name, env))))  # noqa: PTH113 - False where looking is not allowed


def _place(name: str, env: Mapping[str, str]) -> str:
    """Where a file such as `~/.config/x` is; a variable at its beginning, as in `$CODEX_HOME/x`, has to be set."""
    for begins, variable in _FOLDERS.items():
        if name.startswith(begins) and os.path.isabs(env.get(variable, "")):  # noqa: PTH117 - a text
            return os.path.join(env[variable], name.removeprefix(begins))  # noqa: PTH118 - a text
    if name.startswith("$"):
        variable, _, rest = name[1:].partition("/")
        return f"{env[variable]}/{rest}" if env.get(variable) else ""
    home = env.get("HOME") or str(Path.home())
    return f"{home}/{name[2:]}" if name.startswith("~/") else name


def refuses_root(kind: Kind, env: Mapping[str, str]) -> bool:
    """Whether aigon runs as root and this kind does not: what it says of root begins with anything but "works"."""
    return is_root(env) and bool(kind.as_root) and not kind.as_root.lower().startswith("works")


def is_root(env: Mapping[str, str]) -> bool:
    """Whether aigon runs as root, outside of what says that it is a sandbox."""
    return os.geteuid() == 0 and env.get("IS_SANDBOX") != "1"


def _of_root(kind: Kind, env: Mapping[str, str]) -> str:
    return f"aigon runs as root, and it {kind.as_root}" if refuses_root(kind, env) else ""


def _of_node(kind: Kind, path: str, env: Mapping[str, str]) -> str:
    """A Node that is not there at all; which one is there shows only when it is run."""
    wanted = kind.needs.get("node", "")
    if not wanted:
        return ""
    node = node_of(path)
    if node is None or shutil.which(node, path=env.get("PATH")):
        return ""
    return f"it needs Node {wanted} or newer, and there is no `{node}`"


def _of_login(agent: Agent, kind: Kind, found: tuple[str, ...], kept: Sequence[str]) -> str:
    """A login that is only under a name of somebody else's is none: the agent does not get to see it."""
    passed = any(name in agent.passed or name in agent.env for name in (*kept, *agent.passed))
    if found or passed or not (kind.credentials.env or kind.credentials.files):
        return ""
    how = f": {kind.login}" if kind.login else ""
    if not kept:
        return f"no login is seen{how}"
    return f"no login is seen{how}; kept from it: {listed(kept)} (agents.{agent.name}.pass lets one through)"
