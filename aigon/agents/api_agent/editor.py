"""The tool that looks at files and changes them, in the workspace only."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aigon.agents.api_agent.clip import SHOWN, clipped
from aigon.agents.api_agent.places import inside
from aigon.agents.api_agent.tool import Output, Wrong, text_of

DEFINITION = {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"}
LARGEST = 10 * 1024 * 1024
"""Bytes of a file that is read whole."""
ENTRIES = 500
_AROUND = 4
"""Lines shown before and after a change."""


@dataclass(frozen=True, slots=True)
class Editor:
    """The editor of one workspace."""

    workspace: Path

    def __call__(self, given: Mapping[str, Any]) -> Output:
        """Carry out one command. Raises Wrong for what cannot be done."""
        commands: Mapping[str, Callable[[Path, Mapping[str, Any]], str]] = {
            "view": _view, "create": _create, "str_replace": _replace, "insert": _insert,
        }  # fmt: skip
        command = text_of(given, "command")
        if command not in commands:
            raise Wrong(f"There is no command {command!r}. There are: {', '.join(commands)}")
        path = inside(self.workspace, text_of(given, "path"))
        try:
            return Output(commands[command](path, given))
        except OSError as error:
            raise Wrong(f"{given['path']}: {error.strerror or error}") from None


def _view(path: Path, given: Mapping[str, Any]) -> str:
    if path.is_dir():
        return _listing(path)
    text = _read(path)
    lines = _lines(text)
    first, last = _range(given.get("view_range"), len(lines))
    return clipped(_numbered(lines[first - 1 : last], first), SHOWN) if lines else "(the file is empty)"


def _listing(folder: Path) -> str:
    """What is in a folder and in the folders in it, without hidden entries."""
    found: list[str] = []
    for root, folders, files in os.walk(folder):
        here = Path(root).relative_to(folder)
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "node_modules")
        found += [f"{here / name}/" for name in folders] + [str(here / name) for name in files if name[0] != "."]
        if here != Path():
            folders.clear()
    more = f"\n[... {len(found) - ENTRIES} more ...]" if len(found) > ENTRIES else ""
    return "\n".join(sorted(found)[:ENTRIES]) + more or "(the folder is empty)"


def _create(path: Path, given: Mapping[str, Any]) -> str:
    text = text_of(given, "file_text")
    if path.is_dir():
        raise Wrong(f"{given['path']} is a folder")
    existed = path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(path, text)
    return f"{'Replaced' if existed else 'Created'} {given['path']}, {len(_lines(text))} lines"


def _replace(path: Path, given: Mapping[str, Any]) -> str:
    text, old, new = _read(path), text_of(given, "old_str"), text_of(given, "new_str", "")
    if old not in text and "\r\n" in text:
        old, new = (each.replace("\r\n", "\n").replace("\n", "\r\n") for each in (old, new))
    times = text.count(old) if old else 0
    if times != 1:
        why = f"stands {times} times" if times else "does not stand"
        raise Wrong(f"`old_str` {why} in {given['path']}; it has to be there exactly once, to the last blank")
    _write(path, text.replace(old, new))
    line = text[: text.index(old)].count("\n") + 1
    return _around(path, line, line + new.count("\n"))


def _insert(path: Path, given: Mapping[str, Any]) -> str:
    lines, new = _lines(_read(path)), text_of(given, "insert_text" if "insert_text" in given else "new_str")
    after = given.get("insert_line")
    if not isinstance(after, int) or isinstance(after, bool) or not 0 <= after <= len(lines):
        raise Wrong(f"`insert_line` has to be a number from 0 to {len(lines)}")
    before = [_ended(line) for line in lines[:after]]
    added = _ended(new) if after < len(lines) or not new or not lines else new
    _write(path, "".join([*before, added, *lines[after:]]))
    return _around(path, after + 1, after + len(_lines(added)))


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def _read(path: Path) -> str:
    if not path.is_file():
        raise Wrong("This is a folder" if path.is_dir() else "There is no such file")
    if path.stat().st_size > LARGEST:
        raise Wrong("The file is too large for this tool; use bash")
    return path.read_bytes().decode("utf-8", "surrogateescape")


def _write(path: Path, text: str) -> None:
    """Into the file as it is, so that its mode stays. A link in its place since it was looked at is not followed."""
    if path.exists() and not path.is_file():
        raise Wrong("This is no ordinary file")
    data = text.encode("utf-8", "surrogateescape" if _escaped(text) else "replace")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def _escaped(text: str) -> bool:
    """Whether what is no text in UTF-8 comes from a file, so that it can go back as it was."""
    return all(0xDC80 <= ord(c) <= 0xDCFF for c in text if 0xD800 <= ord(c) <= 0xDFFF)


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").replace("\n", "\n\0").split("\0") if text else []


def _range(given: object, count: int) -> tuple[int, int]:
    """The first and the last line that are asked for; -1 is the last there is."""
    if given is None:
        return 1, count
    if not (isinstance(given, list) and len(given) == 2 and all(type(each) is int for each in given)):
        raise Wrong("`view_range` has to be two line numbers")
    first, last = given[0], count if given[1] == -1 else given[1]
    if not (1 <= first <= last and first <= max(count, 1)):
        raise Wrong(f"`view_range` has to be in lines 1 to {count}")
    return first, last


def _numbered(lines: list[str], first: int) -> str:
    shown = "".join(f"{number:6}\t{line}" for number, line in enumerate(lines, first))
    return shown.encode("utf-8", "surrogateescape" if _escaped(shown) else "replace").decode("utf-8", "replace")


def _around(path: Path, first: int, last: int) -> str:
    lines = _lines(_read(path))
    begin = max(1, first - _AROUND)
    return "Changed. Now there is:\n" + clipped(_numbered(lines[begin - 1 : last + _AROUND], begin), SHOWN // 4)
