"""The tool `bash`: run each command in its own process group, with a time limit, confined if the kernel can.

The folder and the exported variables of a command are those of the next one. Nothing else outlives it.
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
from aigon.agents.api_agent.settings import Settings
from aigon.agents.api_agent.tool import ToolFailure, ToolOutput, require_text
from aigon.isolation.enclosure import ROOM_FOLDERS
from aigon.process import run
from aigon.secrets import redaction

SHARED = ("/tmp", "/var/tmp")
DEFINITION: dict[str, object] = {"type": "bash_20250124", "name": "bash"}
_ENDING_STEPS: run.EndingSteps = ((signal.SIGTERM, 2.0), (signal.SIGKILL, 5.0))
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
