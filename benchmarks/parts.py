"""The parts of an iteration, as counts that do not drift with the machine: programs, flushes, replaced files, sleeps.

aigon runs with a git that notes its arguments and goes on, and with functions of the standard library that note that
they were called. `tests/loop/test_cost.py` holds the budget to these counts.
"""

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

BUDGET: Mapping[str, int] = {
    "git add": 1,
    "git diff-index": 1,
    "flush": 4,
    "replaced file": 3,
    "program": 4,
    "sleep": 0,
}
"""What an iteration may take, without a sandbox and with one criterion: programs of which all but two are git.

The flushes are three of the journal and the branch's; the replaced files, which file systems flush, are log, index and
branch.
"""
_GIT = """#!/bin/sh
printf '%s\\n' "$(printf '%s ' "$@" | tr '\\n' ' ')" >> "{folder}/gits"  # in one piece: two gits may run side by side
GIT_TRACE2_EVENT="{folder}/git-trace" exec "{git}" "$@"
"""
_PYTHON = """
import os, subprocess, time
def counted(name, call, counts=lambda *_, **__: True):
    def wrapper(*arguments, **options):
        if counts(*arguments, **options):
            fd = os.open({folder!r} + "/calls", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.write(fd, name.encode() + b"\\n")
            os.close(fd)
        return call(*arguments, **options)
    return wrapper
def replaces(source, target, **_):
    return os.path.isfile(target)
os.fsync, os.fdatasync = counted("flush", os.fsync), counted("flush", os.fdatasync)
os.rename = counted("replaced file", os.rename, replaces)
os.replace = counted("replaced file", os.replace, replaces)
time.sleep = counted("sleep", time.sleep)
subprocess.Popen.__init__ = counted("program", subprocess.Popen.__init__)
os.posix_spawnp = counted("program", os.posix_spawnp)
"""


class PartsMeter:
    """Counts the parts of what is run with the variables in `env`."""

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        self._folder = folder
        for name in ("bin", "python"):
            (folder / name).mkdir(parents=True)
        shim = folder / "bin" / "git"
        shim.write_text(_GIT.format(folder=folder, git=shutil.which("git", path=env["PATH"])))
        shim.chmod(0o755)
        (folder / "python" / "sitecustomize.py").write_text(_PYTHON.format(folder=str(folder)))
        self.env = {"PATH": f"{folder}/bin:{env['PATH']}", "PYTHONPATH": str(folder / "python")}

    def take(self) -> Counter[str]:
        """Return the counts since the last time."""
        counts = Counter(self._read("calls"))
        counts.update(f"git {_find_verb(line.split())}" for line in self._read("gits"))
        counts["flush"] += sum(self._list_flushes())
        for file in self._folder.iterdir():
            if file.is_file():
                file.unlink()
        return counts

    def _read(self, name: str) -> list[str]:
        file = self._folder / name
        return file.read_text().splitlines() if file.exists() else []

    def _list_flushes(self) -> Iterator[int]:
        """Yield git's own counts of hardware flushes, from its trace."""
        for event in map(json.loads, self._read("git-trace")):
            if event.get("category") == "fsync" and "flush" in event.get("key", ""):
                yield int(event["value"])


def _find_verb(words: list[str]) -> str:
    while words and words[0] in ("-c", "-C"):
        words = words[2:]
    return words[0] if words else ""


def divide(fewer: Counter[str], more: Counter[str], iterations: int) -> dict[str, float]:
    """Return what each of the `iterations` costs that `more` had beyond `fewer`."""
    return {part: (more[part] - fewer[part]) / iterations for part in sorted(more | fewer) if more[part] != fewer[part]}


def print_budget(counts: Mapping[str, float]) -> None:
    """Print the counts of an iteration beside the budget."""
    for part in sorted(BUDGET.keys() | counts.keys()):
        bound = BUDGET.get(part, 0)
        verdict = "ok" if counts.get(part, 0) <= bound else "OVER"
        print(f"{part:<20} {counts.get(part, 0):6.1f}  bound {bound}  {verdict}")
