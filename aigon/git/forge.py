"""Where a forge shows a repository's commits and files, told from the address that git fetches from."""

import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote

Kind = Literal["github", "gitlab", "bitbucket", "gitea"]
_KINDS: tuple[tuple[str, Kind], ...] = (
    ("github", "github"),
    ("gitlab", "gitlab"),
    ("bitbucket", "bitbucket"),
    ("codeberg", "gitea"),
    ("gitea", "gitea"),
    ("forgejo", "gitea"),
)
"""What the host of a forge is called, as a whole label of its name (`gitlab.example.org`), and whose paths it has."""
_URL = re.compile(r"(?:https?|ssh|git)://(?:[^@/\s]*@)?([A-Za-z0-9.-]+)(?::\d+)?/([^\s?#]+)")
_SCP = re.compile(r"(?:[^@/\s:]+@)?([A-Za-z0-9.-]+):([^\s?#/][^\s?#]*)")
_COMMIT = {"github": "commit", "gitlab": "-/commit", "bitbucket": "commits", "gitea": "commit"}
_FILE = {"github": "blob", "gitlab": "-/blob", "bitbucket": "src", "gitea": "src/commit"}


@dataclass(frozen=True, slots=True)
class Forge:
    """A repository on a forge; `web` is where people see it, without a slash at the end."""

    kind: Kind
    web: str

    def commit(self, commit: str) -> str:
        """The address of a commit."""
        return f"{self.web}/{_COMMIT[self.kind]}/{quote(commit, safe='')}"

    def file(self, commit: str, path: str, line: int = 0) -> str:
        """The address of a file as a commit has it, at a line where one is named."""
        place = quote(_bytes(path), safe="/")
        at = f"#{'lines-' if self.kind == 'bitbucket' else 'L'}{line}" if line else ""
        return f"{self.web}/{_FILE[self.kind]}/{quote(commit, safe='')}/{place}{at}"


def _bytes(path: str) -> bytes:
    """As git has it: bytes that are not UTF-8 stand in it as half a surrogate pair."""
    try:
        return path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return path.encode("utf-8", "replace")


def forge(address: str) -> Forge | None:
    """The forge that git's `address` belongs to, without a login in it; None for one that is not known."""
    found = _URL.fullmatch(address.strip()) or (None if "://" in address else _SCP.fullmatch(address.strip()))
    if not found:
        return None
    host, path = found[1].lower(), found[2].strip("/").removesuffix(".git")
    kind = next((kind for name, kind in _KINDS if name in host.split(".")), None)
    return Forge(kind, f"https://{host}/{quote(path, safe='/~')}") if kind and "/" in path else None
