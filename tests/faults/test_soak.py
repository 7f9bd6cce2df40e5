"""A short soak; the long one is `python -m tests.faults.soak`. And what it would see."""

from pathlib import Path

import pytest

from tests.faults.soak import soaked
from tests.faults.soak_measures import Flat, flat, own_times, samples


@pytest.mark.slow
def test_over_resumes_and_faults_no_iteration_is_lost_and_nothing_grows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIGON_FRESH_PROCESSES", "1")
    soak = soaked(tmp_path, 30, 11, turns=4)
    assert soak.reasons == []
    assert soak.number >= 8
    assert flat("descriptors", [one.descriptors for one in samples(soak.lab)], 1.0).good
    assert flat("memory", [one.memory for one in samples(soak.lab)], 1.2).good


def test_flat_compares_the_ends() -> None:
    assert flat("x", [1.0] * 50 + [1.4] * 50, 1.5) == Flat("x", 1.0, 1.4, 1.5)
    assert flat("x", [1.0] * 50 + [1.4] * 50, 1.5).good
    assert not flat("x", [1.0] * 50 + [1.6] * 50, 1.5).good


def test_own_time_is_without_turn_and_checks() -> None:
    def at(second: float, event: str, **more: object) -> dict[str, object]:
        return {"at": f"2026-01-01T00:00:{second:06.3f}+00:00", "event": event, **more}

    turn = at(12, "turn_ended", turn={"duration": 5.0})
    events = [
        at(0, "run_started"), at(10, "iteration_finished"), turn, at(16, "check_started"), at(18, "check_finished"),
        at(19, "iteration_finished"), at(20, "turn_ended", turn={"duration": 1.0}), at(21, "run_started"),
        at(22, "iteration_finished"),
    ]  # fmt: skip
    assert own_times(events) == [2.0]
