"""The tool `bash`: run each command in its own process group, with a time limit, confined where the kernel allows it.

The folder and the exported variables of a command are those of the next one. Nothing else outlives it.
"""

import os
import shlex
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aigon.agents.api_agent import inside
from aigon.agents.api_agent.settings import Settings
from aigon.agents.api_agent.tool import ToolFailure, ToolOutput, require_text
from aigon.isolation.enclosure import ROOM_FOLDERS
from aigon.process import run
from aigon.secrets import redaction

SHARED = ("/tmp", "/var/tmp")
DEFINITION = {"type": "bash_20250124", "name": "bash"}
LADDER: run.EndingSteps = ((signal.SIGTERM, 2.0), (signal.SIGKILL, 5.0))
"""What a command gets when its time is up. The program around it ends on the first signal, with all there is."""
_CACHES = {"XDG_CACHE_HOME": "cache", "npm_config_cache": "cache/npm"}
"""Variables that lead tools to a cache which they may write to."""
_PRELUDE = """\
unset BASH_ENV
trap '{{ export -p >{env}; pwd >{cwd}; }} 2>/dev/null' EXIT
if [ -r {env} ]; then . {env} 2>/dev/null; cd "$(cat {cwd})" 2>/dev/null || cd {workspace}; fi
"""


def list_writable(settings: Settings, scratch: Path) -> tuple[Path, ...]:
    """Return what commands may write to: workspace, its git directories, temporary folders, and what a person adds.

    A temporary folder that holds the workspace, the checkout or the person's home counts as none: the command has
    `scratch` then.
    """
    own = [Path(os.path.realpath(path)) for path in (settings.workspace, settings.checkout, Path.home())]
    shared = {Path(os.path.realpath(path)) for path in (tempfile.gettempdir(), *SHARED)}
    free = [path for path in sorted(shared) if not any(each.is_relative_to(path) for each in own)]
    places = (settings.workspace, *list_git_directories(settings.workspace), scratch, *free, *settings.writable)
    return tuple(dict.fromkeys(Path(os.path.realpath(path)) for path in places if path.exists()))


def list_git_directories(workspace: Path) -> Iterator[Path]:
    """The workspace's git directory, and the one it shares with others in a linked worktree (gitrepository-layout)."""
    pointer = workspace / ".git"
    if pointer.is_dir():
        yield pointer
    elif pointer.is_file():
        own = workspace / pointer.read_text(errors="replace").removeprefix("gitdir:").strip()
        yield own
        common = own / "commondir"
        if common.is_file():
            yield own / common.read_text(errors="replace").strip()


def resolve_in_workspace(workspace: Path, name: str) -> Path:
    """The real path that `name`, absolute or relative, has in `workspace`. Raises Wrong where it leads out of it."""
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


@dataclass(frozen=True, slots=True)
class Shell:
    """`writable` are the places a command is confined to, None where it cannot be; `scratch` is a folder of its own."""

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
                return ToolOutput("The shell begins anew in the workspace")
        return self._run(require_text(given, "command"))

    def _run(self, command: str) -> ToolOutput:
        if "\0" in command:
            raise ToolFailure("A command cannot hold a NUL character")
        script = self.scratch / "command"
        script.write_text(command + "\n", encoding="utf-8", errors="surrogateescape")
        self._write_prelude()
        argv = [sys.executable, "-I", "-S", inside.__file__, self._plan(), shutil.which("bash") or "bash", str(script)]
        ran = run.run(run.Command(argv, self.workspace, self._env(), deadline=self.timeout, redact=self.redact,
                                          ladder=LADDER))  # fmt: skip
        text = ran.stdout.decode("utf-8", "replace").replace(f"{script}: ", "")
        if ran.exit_code is None:
            raise ToolFailure(f"The command did not run: {ran.start_error or 'it was ended from outside'}")
        if ran.timed_out:
            return ToolOutput(f"{text}\n[ended after {self.timeout:g} s, with everything it started]", ran.exit_code)
        return ToolOutput(f"{text}\n[exit {ran.exit_code}]" if ran.exit_code else text, ran.exit_code)

    def _write_prelude(self) -> None:
        paths = {"env": self.scratch / "env", "cwd": self.scratch / "cwd", "workspace": self.workspace}
        text = _PRELUDE.format(**{name: shlex.quote(str(path)) for name, path in paths.items()})
        (self.scratch / "prelude").write_text(text)

    def _plan(self) -> str:
        import json

        return json.dumps({"writable": None if self.writable is None else [str(path) for path in self.writable]})

    def _env(self) -> dict[str, str]:
        """Return the person's environment without credentials; temporary files go to the scratch folder."""
        env = redaction.drop_credentials(os.environ)
        temporary = dict.fromkeys((name for name in ROOM_FOLDERS if name.startswith("T")), str(self.scratch / "tmp"))
        caches = {name: str(self.scratch / folder) for name, folder in _CACHES.items()} if self._caches_closed else {}
        return {**env, **temporary, **caches, "BASH_ENV": str(self.scratch / "prelude"), "PWD": str(self.workspace)}

    @property
    def _caches_closed(self) -> bool:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        return self.writable is not None and not any(cache.is_relative_to(place) for place in self.writable)
