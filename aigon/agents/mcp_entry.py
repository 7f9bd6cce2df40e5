"""Write aigon's entry where agents read which MCP servers they have, and leave the rest of the file as it is."""

import json
import os
from collections.abc import Sequence
from json.decoder import scanstring  # type: ignore[attr-defined]
from pathlib import Path
from typing import Any

from aigon.agents.install_commands import InstallTarget, locate_file
from aigon.files.atomic import write_atomic
from aigon.model.agents import AgentType, CommandFileResult, CommandFileState, ServerFile
from aigon.text.patterns import compile_re

NAME = "aigon"
"""What the server is called in every configuration."""
TOKEN = "AIGON_MCP_TOKEN"
_INDENT = compile_re(r"\n([ \t]+)\S")


def render_entry(folders: Sequence[str], address: str) -> str:
    """Return a JSON configuration with aigon as its only server: started for `folders`, or at an HTTP `address`."""
    entry: dict[str, object] = {"command": NAME, "args": ["mcp", *folders]}
    if address:
        entry = {
            "type": "http",
            "url": f"http://{address}/mcp",
            "headers": {"Authorization": f"Bearer ${{{TOKEN}}}"},
        }
    return json.dumps({"mcpServers": {NAME: entry}}, indent=2)


def install_entries(kinds: Sequence[AgentType], place: InstallTarget) -> tuple[CommandFileResult, ...]:
    """Write the entry of every type that reads one, or remove it; return what became of each.

    An entry that a person changed stays. Raises AigonError (exit 7) for a file of a repository if there is none.
    """
    found: dict[Path, CommandFileResult] = {}
    for kind in kinds:
        if kind.mcp:
            path, inside = locate_file(kind.mcp.path, f"{kind.title} reads its servers", place)
            if path not in found:  # two agents may read the same file
                state, why = _change(path, inside, kind.mcp, place)
                found[path] = CommandFileResult(kind.name, "mcp", NAME, kind.mcp.path, state, why=why)
    return tuple(found.values())


def _change(path: Path, inside: Path, file: ServerFile, place: InstallTarget) -> tuple[CommandFileState, str]:
    """Return what became of a file, and why it could not be changed."""
    if path.is_symlink() or not Path(os.path.realpath(path.parent)).is_relative_to(os.path.realpath(inside)):
        return "refused", "it is a link or lies elsewhere"
    try:
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        state, new = (_edit_toml if path.suffix == ".toml" else _edit_json)(old, file, remove=place.remove)
        if new != old and not place.dry:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink() if place.remove and not new.strip() else write_atomic(path, new.encode())
    except OSError as error:
        return "refused", (error.strerror or str(error)).lower()
    except (ValueError, RecursionError):
        return "refused", f"it cannot be read as {path.suffix[1:].upper()}; add by hand: {file.entry}"
    return state, ""


def _judge(before: object, file: ServerFile, *, remove: bool) -> CommandFileState:
    """Return what is to become of a file with the entry `before`, None for none."""
    if before is None:
        return "absent" if remove else "new"
    if before != file.server:
        return "edited"
    return "removed" if remove else "unchanged"


def _edit_json(text: str, file: ServerFile, *, remove: bool) -> tuple[CommandFileState, str]:
    """Return what becomes of the entry, and the file's text with it: only its own lines change. Raises ValueError."""
    if not text.strip():
        whole = f"{json.dumps({file.key: {NAME: file.server}}, indent=2)}\n"
        return ("absent", text) if remove else ("new", whole)
    document = json.loads(text)
    servers = document.get(file.key, {}) if isinstance(document, dict) else None
    if not isinstance(servers, dict):
        raise ValueError(file.key)
    state = _judge(servers.get(NAME), file, remove=remove)
    top = len(text) - len(text.lstrip())
    inner = _find_members(text, top)[file.key][1] if file.key in document else -1
    if state == "new":
        if inner < 0:
            return state, _insert(text, top, file.key, {NAME: file.server})
        return state, _insert(text, inner, NAME, file.server)
    if state == "removed":
        if len(servers) > 1:
            return state, _cut(text, inner, NAME)
        return state, _cut(text, top, file.key) if len(document) > 1 else ""
    return state, text


def _find_members(text: str, start: int) -> dict[str, tuple[int, int, int]]:
    """Return of each member of the object at `start` where its key begins, its value begins, and its value ends."""
    found, at = {}, _skip(text, start + 1)
    while text[at] != "}":
        at = _skip(text, at + 1) if text[at] == "," else at
        key, end = scanstring(text, at + 1)
        value = _skip(text, _skip(text, end) + 1)
        _, after = json.JSONDecoder().raw_decode(text, value)
        found[key] = at, value, after
        at = _skip(text, after)
    return found


def _skip(text: str, at: int) -> int:
    return len(text) - len(text[at:].lstrip())


def _insert(text: str, start: int, key: str, value: object) -> str:
    """Return the text with a member at the end of the object at `start`, laid out as its neighbours are."""
    members = list(_find_members(text, start).values())
    unit = found[1] if (found := _INDENT.search(text)) else "  "
    if members:
        first, (*_, end) = members[0][0], members[-1]
        gap = text[start + 1 : first]
        before, after = text[:end] + ",", text[end:]
    else:
        line = text[: start + 1].rpartition("\n")[2]
        outer = line[: len(line) - len(line.lstrip())]
        gap = f"\n{outer}{unit}"
        before, after = text[: start + 1], f"\n{outer}{text[_skip(text, start + 1) :]}"
    if "\n" not in gap:
        return f"{before} {json.dumps(key)}: {json.dumps(value)}{after}"
    margin = gap.rpartition("\n")[2]
    shown = json.dumps(value, indent=unit).replace("\n", f"\n{margin}")
    return f"{before}{gap}{json.dumps(key)}: {shown}{after}"


def _cut(text: str, start: int, key: str) -> str:
    """Return the text without one of several members of the object at `start`."""
    members = _find_members(text, start)
    names = list(members)
    place = names.index(key)
    if place:
        return text[: members[names[place - 1]][2]] + text[members[key][2] :]
    return text[: members[key][0]] + text[members[names[1]][0] :]


def _edit_toml(text: str, file: ServerFile, *, remove: bool) -> tuple[CommandFileState, str]:
    """Return what becomes of the entry, and the file's text with it. Raises ValueError for a file that is no TOML."""
    import tomlkit

    document = tomlkit.parse(text)
    is_list = "name" in file.server
    servers: Any = document.get(file.key)
    if not isinstance(servers, list if is_list else dict) and servers is not None:
        raise ValueError(file.key)
    listed: Any = servers or ([] if is_list else {})
    mine = next((each for each in listed if each.get("name") == NAME), None) if is_list else listed.get(NAME)
    state = _judge(None if mine is None else mine.unwrap(), file, remove=remove)
    if state == "new":
        table = tomlkit.item(dict(file.server))
        if is_list:
            document.setdefault(file.key, tomlkit.aot()).append(table)
        else:
            document.setdefault(file.key, tomlkit.table(is_super_table=True))[NAME] = table
    elif state == "removed":
        _ = listed.remove(mine) if is_list else listed.pop(NAME)
        if not listed:
            del document[file.key]
    return state, tomlkit.dumps(document) if state in ("new", "removed") else text
