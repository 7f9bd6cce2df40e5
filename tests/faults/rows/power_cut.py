"""What a power cut leaves of a checkpoint: a run rewound to where its journal had the intention and no more."""

from pathlib import Path

from tests.lab import BRANCH, DONE_WHEN, Lab
from tests.loop.processes import LOOP, journal

AGENT = """
    echo turn >> "$HOME/turns"; cp .git/index "$HOME/index"
    echo one > one.txt; touch done.txt
"""


def intended(lab: Lab, *, moved: bool) -> str:
    """A checkpoint that was intended when the power went, and whose branch had `moved` or not; its commit."""
    lab.config(proof="in-place")
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent(AGENT)
    ran = lab.aigon(*LOOP)
    assert ran.code == 0, ran.err
    commit = lab.git("rev-parse", "HEAD")
    lines = journal(lab).read_bytes().splitlines(keepends=True)
    last = max(i for i, line in enumerate(lines) if b'"event":"checkpoint_intended"' in line)
    journal(lab).write_bytes(b"".join(lines[: last + 1]))
    if not moved:
        lab.git("update-ref", f"refs/heads/{BRANCH}", "HEAD^")
        lab.path(".git/index").write_bytes((lab.home / "index").read_bytes())
    return commit


def loose(lab: Lab, name: str) -> Path:
    """The file of an object."""
    return lab.path(".git/objects") / name[:2] / name[2:]


def new_objects(lab: Lab, commit: str) -> list[Path]:
    """The files of what `commit` holds beyond its parent, itself included."""
    listed = lab.git("rev-list", "--objects", f"{commit}^..{commit}").splitlines()
    return [file for file in (loose(lab, line.split(" ")[0]) for line in listed) if file.exists()]


def empty(file: Path) -> None:
    """What ext4 and others leave of a file whose name was on the disk before its content."""
    file.chmod(0o644)
    file.write_bytes(b"")
