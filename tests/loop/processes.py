"""Processes of a lab: is one there yet, is any left, what did they leave."""

import subprocess
from pathlib import Path

from tests.lab import Lab, until

RESUME = ("feature-implement", "42", "--resume")
LOOP = ("feature-implement", "42", "--loop")


def left_behind(lab: Lab) -> list[str]:
    """Command lines of living processes that were started in this lab."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and f"HOME={lab.home}\0".encode() in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found


def begun(lab: Lab, process: "subprocess.Popen[str]", name: str = "begun") -> None:
    """Wait until something in the lab has touched `name` in the person's home."""
    until(lambda: (lab.home / name).exists() or process.poll() is not None)
    assert process.poll() is None, process.communicate()


def go(lab: Lab) -> None:
    """Let the agents and checks that wait for it go on."""
    (lab.home / "go").touch()


def turns(lab: Lab) -> int:
    """How many turns agents began."""
    return (lab.home / "turns").read_text().count("turn")


def parked(lab: Lab) -> list[str]:
    """The refs under which something is parked."""
    return lab.git("for-each-ref", "--format=%(refname)", "refs/aigon/parked").splitlines()
