"""How much room a turn needs, by what those before it took."""

import pytest
from msgspec.structs import replace

from aigon.errors import Exit
from aigon.job.assessment import Demand
from aigon.job.options import Limits
from aigon.journal.events import Event, IterationFinished, TurnEnded
from aigon.journal.replay import decode, encode
from aigon.journal.state import State, replay
from aigon.loop.decide import decide
from aigon.model.outcomes import Outcome, Stopped
from aigon.model.resources import (
    FULL_DISK_BYTES,
    Probe,
    ResourceUse,
    Volume,
    describe_disk_shortage,
    find_full_volume,
    format_bytes,
    keep_lowest,
    measure_disk_use,
    update_peak_uses,
)
from aigon.model.turns import Turn

GB = 1_000_000_000
DISK = Volume("/work", "the workspace", "/mnt", 10 * GB, 1_000_000)


def turn(number: int, *took: ResourceUse) -> TurnEnded:
    return TurnEnded("", Turn(number, "mine", "", "finished"), took)


def look(number: int, *took: ResourceUse) -> IterationFinished:
    return IterationFinished("", number, "", "", (), (), (), "", (), "", took=took)


def stop(state: State, probe: Probe, limits: Limits | None = None) -> Outcome | None:
    return decide(Demand(()), limits or Limits(), state, probe)


def free(amount: int, place: str = "/work") -> Probe:
    return Probe(volumes=(replace(DISK, place=place, free=amount),))


GREEDY = replay([turn(3, ResourceUse("disk", 1_200_000_000, "/work")), look(3, ResourceUse("disk", GB, "/work"))])


def test_no_turn_begins_if_less_is_free_than_the_greediest_took() -> None:
    outcome = stop(GREEDY, free(1_400_000_000))
    assert isinstance(outcome, Stopped) and outcome.code == Exit.ENVIRONMENT
    assert outcome.reason == (
        "1.4 GB of disk are free on /mnt (the workspace), guards.byHistory wants 1.5 GB: iteration 3 took 1.2 GB there"
    )
    assert stop(GREEDY, free(1_500_000_000)) is None


def test_what_was_taken_elsewhere_is_no_need_here() -> None:
    assert stop(GREEDY, free(1_400_000_000, "/other")) is None


def test_the_history_can_be_left_out_but_a_full_disk_ends_every_run() -> None:
    limits = Limits(by_history=False)
    assert stop(GREEDY, free(FULL_DISK_BYTES), limits) is None
    outcome = stop(GREEDY, free(FULL_DISK_BYTES - 1), limits)
    assert isinstance(outcome, Stopped) and "so it is full" in outcome.reason


def test_memory_is_measured_by_the_greediest_too_within_the_limit_that_bounds_it() -> None:
    state = replay([look(0, ResourceUse("memory", 2 * GB))])
    outcome = stop(state, Probe(memory_free=GB, memory_limit="the control group /sys/fs/cgroup/aigon"))
    assert isinstance(outcome, Stopped) and outcome.guard == "memory"
    said = "1 GB of memory are free within the control group /sys/fs/cgroup/aigon, guards.byHistory wants 2.5 GB"
    assert outcome.reason == f"{said}: the look at the base took 2 GB"


def test_used_up_inodes_end_the_run_and_unknown_ones_do_not() -> None:
    assert "inodes" in describe_disk_shortage((replace(DISK, files=99),), 0, {})
    assert describe_disk_shortage((replace(DISK, files=None),), 0, {}) == ""
    greed = update_peak_uses({}, [ResourceUse("files", 1000, "/work")], 2)
    assert describe_disk_shortage((replace(DISK, files=1249),), 0, greed).endswith(
        "iteration 2 made 1000 there (inodes)"
    )
    assert describe_disk_shortage((replace(DISK, files=1250),), 0, greed) == ""


def test_the_greediest_is_remembered_over_less_greedy_ones_and_over_a_resume() -> None:
    events: list[Event] = [
        turn(1, ResourceUse("disk", 5, "/work")),
        look(1, ResourceUse("disk", 9, "/work")),
        turn(2, ResourceUse("disk", 7, "/work")),
    ]
    state = replay([decode(encode(event)) for event in events])
    assert (state.greed["disk", "/work"].amount, state.greed["disk", "/work"].number) == (9, 1)


def test_a_journal_that_does_not_say_what_was_taken_is_read() -> None:
    document = {
        name: value for name, value in encode(turn(1, ResourceUse("disk", 5, "/work"))).items() if name != "took"
    }
    assert decode(document) == turn(1)


def test_what_was_taken_is_the_fall_to_the_lowest_and_not_what_is_gone_in_the_end() -> None:
    low = keep_lowest(DISK, replace(DISK, free=7 * GB, files=999_000))
    now = keep_lowest(low, replace(DISK, free=9 * GB))
    assert measure_disk_use((DISK,), (now,)) == (
        ResourceUse("disk", 3 * GB, "/work"),
        ResourceUse("files", 1000, "/work"),
    )
    assert measure_disk_use((DISK,), (replace(DISK, free=11 * GB, files=None),)) == ()


def test_a_look_is_broken_by_a_file_system_that_was_full_or_not_writable_meanwhile() -> None:
    fine = replace(DISK, place="/tmp")
    assert find_full_volume((fine, DISK)) is None
    for bad in (replace(DISK, free=0), replace(DISK, files=3), replace(DISK, problem="it is read-only")):
        assert find_full_volume((fine, keep_lowest(bad, DISK))) is not None


@pytest.mark.parametrize(("count", "text"), [(999, "999 bytes"), (1_200_000_000, "1.2 GB"), (5 * 10**8, "500 MB")])
def test_sizes_are_written_for_people(count: int, text: str) -> None:
    assert format_bytes(count) == text
