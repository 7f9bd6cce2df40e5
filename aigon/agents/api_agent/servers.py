"""Which MCP servers a project has, from `.mcp.json`: programs to start (stdio) and addresses (http, sse).

The file is that of the main checkout, read before the session's first request: what it says is run with the person's
rights, so it must be people's word (docs/api-agent.md, MCP).
"""

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

FILE = ".mcp.json"
_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")


@dataclass(frozen=True, slots=True)
class Server:
    """One server; `command` is empty for one with an address."""

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    kind: Literal["stdio", "http", "sse"] = "stdio"
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


def servers(checkout: Path, note: Callable[[str], None]) -> tuple[Server, ...]:
    """The servers of a project; what is malformed is noted and left out."""
    file = checkout / FILE
    try:
        document = json.loads(file.read_bytes()) if file.is_file() else {}
        named = document.get("mcpServers", {}).items()
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        note(f"{FILE} is left out: {error}")
        return ()
    found = []
    for name, value in named:
        try:
            if not isinstance(value, dict) or value.get("disabled") is not True:
                found.append(_server(name, value))
        except ValueError as error:
            note(f"{FILE}: the server {name!r} is left out: {error}")
    return tuple(found)


def _server(name: str, value: object) -> Server:
    if not isinstance(value, dict):
        raise ValueError("it is not a JSON object")
    kind = value.get("type") or ("http" if "url" in value else "stdio")
    if kind in ("http", "streamable-http", "sse"):
        url = _text(value.get("url"), "url")
        return Server(name, kind="sse" if kind == "sse" else "http", url=url, headers=_texts(value, "headers"))
    if kind != "stdio":
        raise ValueError(f"its type {kind!r} is not known; there are stdio, http and sse")
    args = value.get("args") or []
    if not isinstance(args, list):
        raise ValueError("`args` has to be a list")
    command = _text(value.get("command"), "command")
    return Server(name, command, tuple(_text(each, "args") for each in args), _texts(value, "env"))


def _texts(value: Mapping[str, object], key: str) -> dict[str, str]:
    given = value.get(key) or {}
    if not isinstance(given, dict):
        raise ValueError(f"`{key}` has to be an object of texts")
    return {name: _text(each, key) for name, each in given.items()}


def _text(value: object, key: str) -> str:
    """A text with its `${VARIABLES}` and `${VARIABLES:-defaults}` filled in."""
    if not isinstance(value, str) or (key in ("url", "command") and not value):
        raise ValueError(f"`{key}` has to be a text")
    return _VARIABLE.sub(_value, value)


def _value(found: "re.Match[str]") -> str:
    value = os.environ.get(found[1]) or found[2]
    if value is None:
        raise ValueError(f"the variable {found[1]} is not set")
    return value
