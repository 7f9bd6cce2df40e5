"""What the remote says of a fleet: the chain of lease commits of each cell."""

import itertools
import json
import subprocess
from pathlib import Path
from typing import Any


def git(repository: Path, *arguments: str) -> str:
    """Run git in a repository; its output."""
    argv = ["git", "-C", str(repository), *arguments]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.rstrip("\n")


def list_refs(remote: Path, pattern: str) -> dict[str, str]:
    """The refs that match, by their last part."""
    rows = git(remote, "for-each-ref", "--format=%(refname) %(objectname)", pattern).splitlines()
    return {row.split()[0].rpartition("/")[2]: row.split()[1] for row in rows}


def read_chain(remote: Path, commit: str) -> list[dict[str, Any]]:
    """What the lease commits of a cell say, oldest first."""
    bodies = git(remote, "log", "--reverse", "--format=%b%x00", commit).split("\0")
    return [json.loads(body) for body in bodies if body.strip()]


def find_faults(remote: Path, commit: str) -> list[str]:
    """What in the chain of a cell is not as one holder after the other leaves it."""
    faults = []
    chain = read_chain(remote, commit)
    if git(remote, "rev-list", "--merges", commit):
        faults.append("a lease has two parents")
    for before, after in itertools.pairwise(chain):
        step = after["epoch"] - before["epoch"]
        if step not in (0, 1) or (step == 0 and (after["owner"] != before["owner"] or before["state"] == "ended")):
            faults.append(f"{before} came before {after}")
    if len({each["nonce"] for each in chain}) < len(chain):
        faults.append("a nonce was used twice")
    ends = [each["summary"]["status"] for each in chain if each["state"] == "ended"]
    if len([status for status in ends if status != "unfit"]) != 1:
        faults.append("the cell was not done exactly once")
    return faults
