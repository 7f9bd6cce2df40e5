"""The tools `bash` and the editor, which work in the workspace.

Each command runs in its own process group, with a time limit, confined if the kernel can. Its folder and the exported
variables are those of the next one. Nothing else outlives it. The editor shows and changes files of the workspace only.
"""

import json
import os
import shlex
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from aigon.agents.api_agent import inside
from aigon.agents.api_agent.settings import LONGEST_SHOWN, Settings, ToolFailure, ToolOutput, clip_text, require_text
from aigon.isolation.enclosure import ROOM_FOLDERS
from aigon.process import run
from aigon.secrets import redaction

SHARED = ("/tmp", "/var/tmp")
SHELL: dict[str, object] = {"type": "bash_20250124", "name": "bash"}
_ENDING_STEPS: run.EndingSteps = ((signal.SIGTERM, 2.0), (signal.SIGKILL, 5.0))
"""What a command gets when its time is up. The program around it ends on the first signal, with all there is."""
_CACHES = {"XDG_CACHE_HOME": "cache", "npm_config_cache": "cache/npm"}
"""Variables that lead tools to a cache which they may write to."""
_PRELUDE = """\
unset BASH_ENV
trap '{{ export -p >{env}; pwd >{cwd}; }} 2>/dev/null' EXIT
if [ -r {env} ]; then . {env} 2>/dev/null; cd "$(cat {cwd})" 2>/dev/null || cd {workspace}; fi
"""
EDITOR: dict[str, object] = {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"}
LARGEST = 10 * 1024 * 1024
"""Bytes of a file that is read whole."""
ENTRIES = 500
_AROUND = 4
"""Lines shown before and after a change."""


def list_writable(settings: Settings, scratch: Path) -> tuple[Path, ...]:
    """Return what commands may write to: workspace, its git directories, temporary folders, and what a person adds.

    A temporary folder that holds the workspace, the checkout or the person's home is left out: the command has
    `scratch` then.
    """
    own = [Path(os.path.realpath(path)) for path in (settings.workspace, settings.checkout, Path.home())]
    shared = {Path(os.path.realpath(path)) for path in (tempfile.gettempdir(), *SHARED)}
    free = [path for path in sorted(shared) if not any(each.is_relative_to(path) for each in own)]
    places = (settings.workspace, *list_git_directories(settings.workspace), scratch, *free, *settings.writable)
    return tuple(dict.fromkeys(Path(os.path.realpath(path)) for path in places if path.exists()))


def list_git_directories(workspace: Path) -> Iterator[Path]:
    """Yield the git directory, and the one that a linked worktree shares with others (gitrepository-layout)."""
    pointer = workspace / ".git"
    if pointer.is_dir():
        yield pointer
    elif pointer.is_file():
        own = workspace / pointer.read_text(errors="replace").removeprefix("gitdir:").strip()
        yield own
        common = own / "commondir"
        if common.is_file():
            yield own / common.read_text(errors="replace").strip()


class Shell(Struct, frozen=True):
    """`writable` are the places a command is confined to, None if it cannot be; `scratch` is a folder of its own."""

    workspace: Path
    scratch: Path
    writable: tuple[Path, ...] | None
    timeout: float = 300.0
    redact: Callable[[bytes], bytes] = field(default=lambda output: output)

    def __call__(self, given: Mapping[str, Any]) -> ToolOutput:
        """Run `command`; with `restart`, forget the folder and the variables first."""
        if given.get("restart"):
            for name in ("env", "cwd"):
                (self.scratch / name).unlink(missing_ok=True)
            if "command" not in given:
                return ToolOutput("The shell restarts in the workspace")
        command = require_text(given, "command")
        if "\0" in command:
            raise ToolFailure("A command cannot hold a NUL character")
        script = self._write_script(command)
        plan = json.dumps({"writable": None if self.writable is None else [str(path) for path in self.writable]})
        argv = [sys.executable, "-I", inside.__file__, plan, shutil.which("bash") or "bash", str(script)]
        ran = run.run(
            run.Command(
                argv, self.workspace, self._env(), deadline=self.timeout, redact=self.redact, ladder=_ENDING_STEPS
            )
        )
        text = ran.stdout.decode("utf-8", "replace").replace(f"{script}: ", "")
        if ran.exit_code is None:
            raise ToolFailure(f"The command did not run: {ran.start_error or 'it was ended from outside'}")
        if ran.timed_out:
            return ToolOutput(f"{text}\n[ended after {self.timeout:g} s, with everything it started]", ran.exit_code)
        return ToolOutput(f"{text}\n[exit {ran.exit_code}]" if ran.exit_code else text, ran.exit_code)

    def _write_script(self, command: str) -> Path:
        """Write the command, and what bash reads before it: the folder and the variables of the last one."""
        script = self.scratch / "command"
        script.write_text(command + "\n", encoding="utf-8", errors="surrogateescape")
        paths = {"env": self.scratch / "env", "cwd": self.scratch / "cwd", "workspace": self.workspace}
        prelude = _PRELUDE.format(**{name: shlex.quote(str(path)) for name, path in paths.items()})
        (self.scratch / "prelude").write_text(prelude)
        return script

    def _env(self) -> dict[str, str]:
        """Return the person's environment without credentials; temporary files go to the scratch folder."""
        env = redaction.drop_credentials(os.environ)
        env |= {name: str(self.scratch / "tmp") for name in ROOM_FOLDERS if name.startswith("T")}
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        if self.writable is not None and not any(cache.is_relative_to(place) for place in self.writable):
            env |= {name: str(self.scratch / folder) for name, folder in _CACHES.items()}
        return env | {"BASH_ENV": str(self.scratch / "prelude"), "PWD": str(self.workspace)}


class Editor(Struct, frozen=True):
    """The editor of one workspace."""

    workspace: Path

    def __call__(self, given: Mapping[str, Any]) -> ToolOutput:
        """Carry out one command. Raises ToolFailure for what cannot be done."""
        commands: Mapping[str, Callable[[Path, Mapping[str, Any]], str]] = {
            "view": _view, "create": _create, "str_replace": _replace, "insert": _insert,
        }  # fmt: skip
        command = require_text(given, "command")
        if command not in commands:
            raise ToolFailure(f"There is no command {command!r}. There are: {', '.join(commands)}")
        path = _resolve(self.workspace, require_text(given, "path"))
        try:
            return ToolOutput(commands[command](path, given))
        except OSError as error:
            raise ToolFailure(f"{given['path']}: {error.strerror or error}") from None


def _resolve(workspace: Path, name: str) -> Path:
    """Return the real path that `name`, absolute or relative, has in `workspace`. Raises ToolFailure outside of it."""
    root = Path(os.path.realpath(workspace))
    try:
        found = Path(os.path.realpath(workspace / name))
    except ValueError:
        raise ToolFailure("A path cannot hold a NUL character") from None
    if not found.is_relative_to(root):
        raise ToolFailure(f"{name} is not in the workspace {workspace}, and this tool stays in it")
    if ".git" in found.relative_to(root).parts:
        raise ToolFailure(f"{name} belongs to git; use git itself")
    return found


def _view(path: Path, given: Mapping[str, Any]) -> str:
    if path.is_dir():
        return _list_folder(path)
    lines = _read_lines(path)
    count, asked = len(lines), given.get("view_range")
    first, last = 1, count
    if asked is not None:
        if not (isinstance(asked, list) and len(asked) == 2 and all(type(each) is int for each in asked)):
            raise ToolFailure("`view_range` has to be two line numbers")
        first, last = asked[0], count if asked[1] == -1 else asked[1]
        if not (1 <= first <= last and first <= max(count, 1)):
            raise ToolFailure(f"`view_range` has to be in lines 1 to {count}")
    return clip_text(_number_lines(lines[first - 1 : last], first)) if lines else "(the file is empty)"


def _list_folder(folder: Path) -> str:
    """Return what is in a folder and in the folders in it, without hidden entries."""
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
    text = require_text(given, "file_text")
    if path.is_dir():
        raise ToolFailure(f"{given['path']} is a folder")
    existed = path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(path, text)
    return f"{'Replaced' if existed else 'Created'} {given['path']}, {len(_split_lines(text))} lines"


def _replace(path: Path, given: Mapping[str, Any]) -> str:
    text, old, new = "".join(_read_lines(path)), require_text(given, "old_str"), require_text(given, "new_str", "")
    if old not in text and "\r\n" in text:
        old, new = (each.replace("\r\n", "\n").replace("\n", "\r\n") for each in (old, new))
    times = text.count(old) if old else 0
    if times != 1:
        why = f"occurs {times} times" if times else "does not occur"
        raise ToolFailure(f"`old_str` {why} in {given['path']}; it has to be there exactly once, to the last blank")
    _write(path, text.replace(old, new))
    line = text[: text.index(old)].count("\n") + 1
    return _show_around(path, line, line + new.count("\n"))


def _insert(path: Path, given: Mapping[str, Any]) -> str:
    lines, new = _read_lines(path), require_text(given, "insert_text" if "insert_text" in given else "new_str")
    after = given.get("insert_line")
    if not isinstance(after, int) or isinstance(after, bool) or not 0 <= after <= len(lines):
        raise ToolFailure(f"`insert_line` has to be a number from 0 to {len(lines)}")
    before = [_end_line(line) for line in lines[:after]]
    added = _end_line(new) if after < len(lines) or not new or not lines else new
    _write(path, "".join([*before, added, *lines[after:]]))
    return _show_around(path, after + 1, after + len(_split_lines(added)))


def _end_line(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def _read_lines(path: Path) -> list[str]:
    if not path.is_file():
        raise ToolFailure("This is a folder" if path.is_dir() else "There is no such file")
    if path.stat().st_size > LARGEST:
        raise ToolFailure("The file is too large for this tool; use bash")
    return _split_lines(path.read_bytes().decode("utf-8", "surrogateescape"))


def _split_lines(text: str) -> list[str]:
    """Return the lines with their ends. Only a line feed ends one."""
    lines = text.split("\n")
    return [line + "\n" for line in lines[:-1]] + [line for line in lines[-1:] if line]


def _write(path: Path, text: str) -> None:
    """Into the file as it is, so that its mode stays. A link in its place since it was looked at is not followed."""
    if path.exists() and not path.is_file():
        raise ToolFailure("This is no ordinary file")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    with os.fdopen(descriptor, "wb") as file:
        file.write(_encode(text))


def _encode(text: str) -> bytes:
    """Return the bytes. What is no text in UTF-8 goes back as it was if all of it comes from a file."""
    from_file = all(0xDC80 <= ord(c) <= 0xDCFF for c in text if 0xD800 <= ord(c) <= 0xDFFF)
    return text.encode("utf-8", "surrogateescape" if from_file else "replace")


def _number_lines(lines: list[str], first: int) -> str:
    shown = "".join(f"{number:6}\t{line}" for number, line in enumerate(lines, first)).removesuffix("\n")
    return _encode(shown).decode("utf-8", "replace")


def _show_around(path: Path, first: int, last: int) -> str:
    lines, begin = _read_lines(path), max(1, first - _AROUND)
    shown = _number_lines(lines[begin - 1 : last + _AROUND], begin)
    return "Changed. Now there is:\n" + clip_text(shown, LONGEST_SHOWN // 4)
