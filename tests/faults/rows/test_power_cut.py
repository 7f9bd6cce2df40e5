"""What a resume makes of a checkpoint that a power cut took parts of: found, said, and never called proven."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.rows.power_cut import empty, intended, loose, new_objects
from tests.lab import BRANCH, Lab, Ran
from tests.loop.processes import RESUME, events, turns

Harm = Callable[[Lab, str], object]


def remove(files: list[Path]) -> None:
    """Take them away."""
    for file in files:
        file.unlink()


def make_empty(files: list[Path]) -> None:
    """Leave their names."""
    for file in files:
        empty(file)


def blob(lab: Lab, commit: str) -> Path:
    """The object of one file of the commit."""
    return loose(lab, lab.git("rev-parse", f"{commit}:one.txt"))


def own_index(lab: Lab) -> Path:
    """aigon's private index."""
    return next((lab.home / "state").glob("repos/*/git/index"))


def cut(file: Path, size: int) -> None:
    """Leave the first bytes of a file."""
    file.write_bytes(file.read_bytes()[:size])


def is_met(lab: Lab, ran: Ran, before: str) -> None:
    """Fail unless the same turn's work was judged, committed and proven, in a repository that is whole."""
    assert ran.code == 0, ran.err
    assert turns(lab) == 1
    assert lab.git("show", "HEAD:one.txt") == "one"
    assert lab.git("rev-parse", "HEAD^") == before
    tip = lab.git("rev-parse", "HEAD")
    lab.git("rev-list", "--objects", "--quiet", tip)
    assert lab.git("status", "--porcelain") == ""
    assert [e["checkpoint"] for e in events(lab) if e["event"] == "iteration_finished"][-1] == tip


SILENT: dict[str, Harm] = {
    "objects gone": lambda lab, commit: remove(new_objects(lab, commit)),
    "objects empty": lambda lab, commit: make_empty(new_objects(lab, commit)),
    "private index cut": lambda lab, _: cut(own_index(lab), 40),
    "private index empty": lambda lab, _: cut(own_index(lab), 0),
}
QUICK = ("objects empty", "a blob gone", "ref empty")


def marked(harms: dict[str, Harm]) -> list[object]:
    """All but a few are slow."""
    slow = pytest.mark.slow
    return [pytest.param(harm, id=name, marks=() if name in QUICK else slow) for name, harm in harms.items()]


@pytest.mark.parametrize("harm", marked(SILENT))
def test_before_the_branch_moved_the_work_tree_is_judged_again(lab: Lab, harm: Harm) -> None:
    commit = intended(lab, moved=False)
    before = lab.git("rev-parse", "HEAD")
    harm(lab, commit)
    is_met(lab, lab.aigon(*RESUME), before)


REFUSED: dict[str, Harm] = {
    "objects gone": lambda lab, commit: remove(new_objects(lab, commit)),
    "objects empty": lambda lab, commit: make_empty(new_objects(lab, commit)),
    "tree gone": lambda lab, commit: loose(lab, lab.git("rev-parse", f"{commit}^{{tree}}")).unlink(),
    "a blob gone": lambda lab, commit: blob(lab, commit).unlink(),
    "a blob empty": lambda lab, commit: make_empty([blob(lab, commit)]),
    "ref empty": lambda lab, _: lab.path(f".git/refs/heads/{BRANCH}").write_bytes(b""),
}


@pytest.mark.parametrize("harm", marked(REFUSED))
def test_a_branch_that_names_lost_objects_is_refused_with_a_command_that_helps(lab: Lab, harm: Harm) -> None:
    commit = intended(lab, moved=True)
    before = lab.git("rev-parse", "HEAD^")
    harm(lab, commit)
    ran = lab.aigon(*RESUME)
    assert ran.code == 7 and "Traceback" not in ran.err and BRANCH in ran.err and "proven" not in ran.out, ran.err
    (hint,) = (line for line in ran.err.splitlines() if "do:" in line)
    command = hint.split("do:")[1]
    subprocess.run(["bash", "-c", command], cwd=lab.root, env=lab.env, check=True)
    is_met(lab, lab.aigon(*RESUME), before)


@pytest.mark.slow
def test_an_index_without_a_byte_is_refused_and_the_command_that_is_offered_helps(lab: Lab) -> None:
    intended(lab, moved=True)
    lab.path(".git/index").write_bytes(b"")
    ran = lab.aigon(*RESUME)
    assert ran.code == 7 and "index" in ran.err, ran.err
    (hint,) = (line for line in ran.err.splitlines() if "do:" in line)
    subprocess.run(["bash", "-c", hint.split("do:")[1]], cwd=lab.root, env=lab.env, check=True)
    ran = lab.aigon(*RESUME)
    assert ran.code == 0 and turns(lab) == 1, ran.err
    lab.sound()


@pytest.mark.slow
def test_an_index_that_was_cut_is_made_right(lab: Lab) -> None:
    intended(lab, moved=True)
    cut(lab.path(".git/index"), 40)
    ran = lab.aigon(*RESUME)
    assert ran.code == 0 and turns(lab) == 1, ran.err
    lab.sound()
