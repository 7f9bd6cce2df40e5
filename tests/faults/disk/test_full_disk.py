"""A disk that is full, at every phase of a run: exit 7, plain words, nothing lost; with room again it goes on."""

from pathlib import Path

import pytest

from tests.faults.disk.scene import AGENT, PLACES, WHEN, Scene
from tests.faults.disk.small import in_private_mounts

FULL = ("no space is left on", "so it is full")
PHASES = (
    "run_started.before",
    "run_started",
    "check_started",
    "iteration_finished.before",
    "iteration_started.before",
    "iteration_started.between",
    "iteration_started",
    "turn_ended.before",
    "turn_ended",
    "check_started@2",
    "check_finished@2",
    "check_started@3",
    "check_finished@3",
    "checkpoint_intended.before",
    "checkpoint_intended.between",
    "checkpoint_intended",
    "iteration_finished.before@2",
    "iteration_finished@2",
    "run_finished.before",
    "run_finished.between",
)
"""From the run's first record to its last; the second iteration is number 1, after the look at the base."""


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("phase", PHASES)
@in_private_mounts
def test_a_disk_that_becomes_full_loses_nothing(tmp_path: Path, place: str, phase: str) -> None:
    scene = Scene(tmp_path, place)
    ran = scene.held(phase, scene.disk.fill)
    assert scene.disk.filler.exists(), f"the phase was never reached\n{ran.code}{ran.out}{ran.err}"
    if ran.code == 0:  # what was still to be written there found room in a block that was there, or was nothing
        assert scene.events()[-1]["event"] == "run_finished", ran.out + ran.err
        # From the last commit on three lines are still to be written, which may fit into the journal's last block.
        last = phase.startswith(
            ("checkpoint_intended", "run_finished", "iteration_finished@2", "iteration_finished.before@2")
        )
        assert place in ("temporary", "logs") or last, ran.out + ran.err
        scene.intact()
        scene.disk.empty()
        return
    scene.refused(ran, *FULL)
    scene.disk.empty()
    scene.goes_on()


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
@in_private_mounts
def test_a_disk_that_is_full_before_the_run_costs_no_turn(tmp_path: Path, place: str) -> None:
    scene = Scene(tmp_path, place, agent=f"touch {tmp_path}/paid\n{AGENT}")
    scene.disk.fill()
    ran = scene.run()
    scene.refused(ran, *FULL)
    assert not (tmp_path / "paid").exists()
    scene.disk.empty()
    scene.goes_on()


FILLING = "dd if=/dev/zero of=FILLER bs=1M 2>/dev/null\n"


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
@in_private_mounts
def test_an_agent_that_fills_the_disk_is_not_failed_by_what_could_not_be_written(tmp_path: Path, place: str) -> None:
    scene = Scene(tmp_path, place, agent=AGENT + "[ -e $HOME/once ] || " + FILLING + "touch $HOME/once\n")
    ran = scene.run()
    if place == "temporary" and ran.code == 0:  # the proof needed nothing there
        return
    scene.refused(ran, *FULL)
    assert scene.lab.read("done.txt") == "made by an agent\n"
    scene.disk.empty()
    scene.goes_on()


@pytest.mark.parametrize(
    "place", ["workspace", *(pytest.param(place, marks=pytest.mark.slow) for place in PLACES if place != "workspace")]
)
@in_private_mounts
def test_a_check_that_fails_on_a_full_disk_is_no_failure_of_the_agent_s(tmp_path: Path, place: str) -> None:
    fills = f"if [ -e done.txt ] && [ ! -e {tmp_path}/once ]; then touch {tmp_path}/once; {FILLING.strip()}; exit 1; fi"
    scene = Scene(tmp_path, place, verify="bash check.sh")
    scene.lab.write("check.sh", fills.replace("FILLER", str(scene.disk.filler)) + f"\n{WHEN}\n")
    scene.lab.git("add", "check.sh")
    scene.lab.git("commit", "-qm", "a check", "check.sh")
    ran = scene.run()
    scene.refused(ran, *FULL)
    assert "nothing was decided" in ran.out + ran.err
    assert [event["number"] for event in scene.events() if event["event"] == "iteration_finished"] == [0]
    scene.disk.empty()
    ran = scene.run("--resume")
    assert ran.code == 0, ran.out + ran.err
    assert sum(event["event"] == "iteration_started" for event in scene.events()) == 1, "the turn was paid for once"
