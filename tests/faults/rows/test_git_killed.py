"""kill -9 of git, alone and with the aigon that started it, at its renames, links and flushes in one checkpoint."""

from pathlib import Path

import pytest

from tests.faults.rows.traced_git import Point, disarm, kill_at, needs_strace, points, set_up
from tests.lab import LOG, Lab, Ran
from tests.loop.processes import LOOP, RESUME, left_behind, turns

pytestmark = needs_strace
LOCKED = Point("update-index", 1, "rename", 1)
"""Leaves a lock on aigon's private index."""
VERBS = ("add", "update-index")


def tree(lab: Lab) -> list[str]:
    """What the branch holds, but for the log, which has times in it, and the configuration, which names the lab."""
    return [
        line for line in lab.git("ls-tree", "-r", "HEAD").splitlines() if not line.endswith((LOG, ".aigon/config.json"))
    ]


def locks(lab: Lab) -> list[str]:
    """git's locks in the repository and in aigon's own git directories."""
    own = lab.home.glob("state/repos/*/git*/**/*.lock")
    return [str(path) for path in (*lab.path(".git").rglob("*.lock"), *own) if path.parent.name != "aigon"]


def killed(lab: Lab, point: Point, *, both: bool) -> Ran | None:
    """A run whose git was killed there; None for one that never came there.

    How many folders git makes for its objects depends on their names, and so on the times in the log.
    """
    kill_at(lab, point, both=both)
    ran = lab.aigon(*LOOP)
    disarm(lab)
    if (lab.home / "killed").exists():
        return ran
    assert ran.code == 0, f"git was never at {point}\n{ran.err}"
    return None


def is_taken_up(lab: Lab, point: Point, wanted: list[str], *, both: bool = False) -> bool:
    """Fail unless the kill is explained, nothing is damaged, and a resume ends where an undisturbed run does.

    False where git never came to that point.
    """
    old = lab.git("rev-parse", "HEAD")
    ran = killed(lab, point, both=both)
    if ran is None:
        return False
    if not both:
        assert ran.code == 7 and "Traceback" not in ran.err and "git" in ran.err and "--resume" in ran.err, ran.err
    lab.git("fsck", "--full", "--strict")
    new = lab.git("rev-parse", "HEAD")
    assert new == old or lab.git("rev-parse", "HEAD^") == old
    again = lab.aigon(*RESUME)
    assert again.code == 0, f"{point}\n{again.err}"
    assert (tree(lab), turns(lab), locks(lab), left_behind(lab)) == (wanted, 1, [], []), str(point)
    lab.sound()
    return True


def undisturbed(folder: Path) -> tuple[list[str], list[Point]]:
    """The tree that a run comes to when nothing happens, and where its git could have been killed."""
    folder.mkdir()
    lab = set_up(Lab(folder).init())
    assert lab.aigon(*LOOP).code == 0
    disarm(lab)
    return tree(lab), sorted(points(lab.home), key=str)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], list[Point]]:
    """What `undisturbed` gives, once for all."""
    return undisturbed(tmp_path_factory.mktemp("git") / "whole")


def test_a_git_that_is_killed_in_a_checkpoint_is_named_and_leaves_nothing_in_the_way(
    lab: Lab, whole: tuple[list[str], list[Point]]
) -> None:
    assert is_taken_up(set_up(lab), LOCKED, whole[0])


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("both", [False, True], ids=["git", "git and aigon"])
@pytest.mark.parametrize("verb", VERBS)
def test_a_kill_at_every_rename_link_and_flush_of_git_loses_nothing(
    tmp_path: Path, whole: tuple[list[str], list[Point]], verb: str, both: bool
) -> None:
    wanted, all_points = whole
    mine = [point for point in all_points if point.verb == verb]
    reached = 0
    for point in mine:
        folder = tmp_path / str(point)
        folder.mkdir()
        reached += is_taken_up(set_up(Lab(folder).init()), point, wanted, both=both)
    assert reached > len(mine) / 2
