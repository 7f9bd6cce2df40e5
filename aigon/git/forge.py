"""Links to commits and files on a forge, and `gh`, which opens pull requests there."""

import os
import shutil
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from msgspec import Struct

from aigon.errors import environment
from aigon.git.person import LOCAL_VARIABLES
from aigon.process.start import capture_output
from aigon.text.patterns import compile_re

Kind = Literal["github", "gitlab", "bitbucket", "gitea"]
_KINDS: tuple[tuple[str, Kind], ...] = (
    ("github", "github"),
    ("gitlab", "gitlab"),
    ("bitbucket", "bitbucket"),
    ("codeberg", "gitea"),
    ("gitea", "gitea"),
    ("forgejo", "gitea"),
)
"""A label of a host's name (`gitlab.example.org`), and the kind of forge whose paths it has."""
_URL = compile_re(r"(?:https?|ssh|git)://(?:[^@/\s]*@)?([A-Za-z0-9.-]+)(?::\d+)?/([^\s?#]+)")
_SCP = compile_re(r"(?:[^@/\s:]+@)?([A-Za-z0-9.-]+):([^\s?#/][^\s?#]*)")
ISSUE = compile_re(r"(?P<web>https://[^/\s]+/[\w.-]+/[\w.-]+)/issues/(?P<number>\d+)")
"""The address of an issue."""
_COMMIT = {"github": "commit", "gitlab": "-/commit", "bitbucket": "commits", "gitea": "commit"}
_FILE = {"github": "blob", "gitlab": "-/blob", "bitbucket": "src", "gitea": "src/commit"}


class Forge(Struct, frozen=True):
    """A repository on a forge; `web` is the address for people, without a slash at the end."""

    kind: Kind
    web: str

    def commit(self, commit: str) -> str:
        return f"{self.web}/{_COMMIT[self.kind]}/{quote(commit, safe='')}"

    def file(self, commit: str, path: str, line: int = 0) -> str:
        """Return the address of a file in a commit, at a line if one is given."""
        try:
            place = quote(path, safe="/", errors="surrogateescape")
        except UnicodeEncodeError:
            place = quote(path, safe="/", errors="replace")
        at = f"#{'lines-' if self.kind == 'bitbucket' else 'L'}{line}" if line else ""
        return f"{self.web}/{_FILE[self.kind]}/{quote(commit, safe='')}/{place}{at}"


def find_forge(address: str) -> Forge | None:
    """Return the forge of git's `address`, without a login; None if it is not known."""
    match = _URL.fullmatch(address.strip()) or (None if "://" in address else _SCP.fullmatch(address.strip()))
    if not match:
        return None
    host, path = match[1].lower(), match[2].strip("/").removesuffix(".git")
    kind = next((kind for name, kind in _KINDS if name in host.split(".")), None)
    return Forge(kind, f"https://{host}/{quote(path, safe='/~')}") if kind and "/" in path else None


def refer_to_issue(source: str, address: str) -> str:
    """Return `#12` for the address of an issue in the repository at git's `address`, `owner/name#12` for another.

    "" if `source` is no address of an issue.
    """
    match = ISSUE.fullmatch(source)
    if not match:
        return ""
    forge = find_forge(address)
    own = forge is not None and forge.web.casefold() == match["web"].casefold()
    return f"{'' if own else match['web'].split('/', 3)[3]}#{match['number']}"


def require_gh(where: str = "--pr") -> str:
    """Return the program `gh`, which `where` needs. Raises AigonError (exit 7) if it is not installed."""
    if program := shutil.which("gh"):
        return program
    instead = "; or push the branch and open one by hand" if where == "--pr" else ""
    raise environment(
        f"gh, which {'opens pull requests' if instead else 'speaks to GitHub'}, is not installed",
        where=where,
        hint=f"Install it (https://cli.github.com), then `gh auth login`{instead}",
    )


def run_gh(root: Path, *arguments: str, stdin: str | None = None, where: str = "--pr") -> str:
    """Run `gh` in the checkout at `root` and return what it prints. Raises AigonError (exit 7) with its own words."""
    given = {name: value for name, value in os.environ.items() if name not in LOCAL_VARIABLES}
    env = {**given, "GH_PROMPT_DISABLED": "1", "NO_COLOR": "1"}
    data = stdin.encode("utf-8", "replace") if stdin is not None else None
    code, out, err = capture_output((require_gh(where), *arguments), cwd=root, env=env, stdin=data)
    if code:
        said = (err or out).decode(errors="replace").strip()
        hint = said or f"It exited with {code}; `gh auth status` may say why"
        raise environment(f"gh {' '.join(arguments[:2])} failed", where=where, hint=hint)
    return out.decode(errors="replace").strip()
