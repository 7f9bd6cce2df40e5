"""What a refusal is: one message for people, the same as data, the documented exit code, and nothing changed."""

import hashlib
import json
import re
import time
from collections.abc import Mapping
from pathlib import Path

from aigon.journal.sinks import PAUSE_SECONDS
from tests.lab import Lab, Ran

MESSAGE = re.compile(r"aigon: (?P<what>[^\n]+)\.\n(?:  where: (?P<where>.+)\n)?(?:  do:    (?P<do>(?:.|\n)+)\n)?")
KEPT = ("config", "index", "HEAD", "packed-refs", "info/exclude", "hooks", "logs/HEAD")


def files_of(root: Path) -> dict[str, str]:
    """Mode and content of every file and link of the work tree, git's own folder left out."""
    return {
        path.relative_to(root).as_posix(): f"{path.lstat().st_mode:o} {_content(path)}"
        for path in root.rglob("*")
        if ".git" not in path.relative_to(root).parts and (path.is_symlink() or path.is_file())
    }


def _content(path: Path) -> str:
    return str(path.readlink()) if path.is_symlink() else hashlib.sha256(path.read_bytes()).hexdigest()


def print_of(lab: Lab) -> list[object]:
    """Everything that a refused command must leave as it was, down to the bytes of git's own files."""
    seen = lab.fingerprint()
    own = {name: _content(lab.path(".git") / name) for name in KEPT if (lab.path(".git") / name).is_file()}
    return [seen, own, files_of(lab.root)]


def is_still(lab: Lab) -> bool:
    """Whether a loop that runs there writes nothing, for ten times as long as it waits for a pause of events."""
    before = print_of(lab)
    time.sleep(10 * PAUSE_SECONDS)
    return print_of(lab) == before


def explained(ran: Ran, code: int) -> dict[str, str]:
    """What, where and do of a refusal with --json. Fails unless it is one message, for people and as data alike."""
    assert ran.code == code, ran.out + ran.err
    found = MESSAGE.fullmatch(ran.err)
    assert found, ran.err
    assert "Traceback" not in ran.err
    parts = found.groupdict("")
    last = json.loads(ran.out.splitlines()[-1])  # of NDJSON the run_finished, else the one document
    assert last["error"] == {"what": parts["what"], "where": parts["where"], "hint": parts["do"], "exit_code": code}
    assert last.get("exit_code", code) == code
    return parts


def refused(
    lab: Lab,
    *arguments: str,
    code: int,
    what: str,
    where: str,
    do: str,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> None:
    """Run a command that has to refuse with this message, and leave everything as it was."""
    before = print_of(lab)
    error = explained(lab.aigon(*arguments, "--json", cwd=cwd, env=env), code)
    assert what in error["what"], error
    assert where in error["where"] and bool(where) == bool(error["where"]), error
    assert do in error["do"] and do, error
    assert print_of(lab) == before
