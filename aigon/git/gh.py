"""GitHub's own program `gh`, run as the person who is logged in: it opens pull requests."""

import os
import shutil
from pathlib import Path

from aigon.errors import AigonError, environment
from aigon.git.person import LOCAL_VARIABLES
from aigon.process import run


def require() -> str:
    """The program. Raises AigonError (exit 7) where it is not installed."""
    if program := shutil.which("gh"):
        return program
    raise environment(
        "gh, which opens pull requests, is not installed",
        where="--pr",
        hint="Install it (https://cli.github.com), then `gh auth login`; or push the branch and open one by hand",
    )


def ask(root: Path, *arguments: str, stdin: str | None = None) -> str:
    """What `gh` prints, run in the checkout at `root`. Raises AigonError (exit 7) with its own words."""
    given = {name: value for name, value in os.environ.items() if name not in LOCAL_VARIABLES}
    env = {**given, "GH_PROMPT_DISABLED": "1", "NO_COLOR": "1"}
    data = stdin.encode("utf-8", "replace") if stdin is not None else None
    code, out, err = run.output((require(), *arguments), cwd=root, env=env, stdin=data)
    if code:
        raise _failed(arguments, (err or out).decode(errors="replace").strip(), code)
    return out.decode(errors="replace").strip()


def _failed(arguments: tuple[str, ...], said: str, code: int) -> AigonError:
    what = f"gh {' '.join(arguments[:2])} failed"
    return environment(what, where="--pr", hint=said or f"It exited with {code}; `gh auth status` may say why")
