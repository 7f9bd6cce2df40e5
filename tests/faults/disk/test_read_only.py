"""A file system that becomes read-only, at phases of a run: exit 7, plain words, and it goes on once it is writable."""

from pathlib import Path

import pytest

from tests.faults.disk.scene import AGENT, PLACES, Scene
from tests.faults.disk.small import in_private_mounts

READ_ONLY = ("is read-only",)
PHASES = (
    "run_started",
    "iteration_started.before",
    "iteration_started.between",
    "turn_ended.before",
    "turn_ended",
    "check_finished@3",
    "checkpoint_intended.before",
    "checkpoint_intended",
    "iteration_finished.before@2",
    "run_finished.before",
)


# Not the records: with the journal open the system refuses to make them read-only.
@pytest.mark.slow
@pytest.mark.parametrize("place", [place for place in PLACES if place != "records"])
@pytest.mark.parametrize("phase", PHASES)
@in_private_mounts
def test_a_disk_that_becomes_read_only_loses_nothing(tmp_path: Path, place: str, phase: str) -> None:
    scene = Scene(tmp_path, place)
    ran = scene.held(phase, scene.disk.freeze)
    if ran.code == 0:
        assert place in ("temporary", "logs"), ran.out + ran.err
    else:
        scene.refused(ran, *READ_ONLY)
    scene.disk.thaw()
    scene.goes_on()


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
@in_private_mounts
def test_a_read_only_disk_is_seen_before_a_turn_is_paid_for(tmp_path: Path, place: str) -> None:
    scene = Scene(tmp_path, place, agent=f"touch {tmp_path}/paid\n{AGENT}")
    scene.disk.freeze()
    ran = scene.run()
    scene.refused(ran, *READ_ONLY)
    assert place == "temporary" or scene.lab.git("branch", "--show-current") == "main", "HEAD is where it was"
    assert not (tmp_path / "paid").exists()
    scene.disk.thaw()
    scene.goes_on()
