"""Statistics against numbers counted by hand, on the journals of twelve features."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pytest
from msgspec.structs import replace

from aigon.files.checksums import format_line
from aigon.journal.decisions import HumanDecision
from aigon.journal.events import (
    Choices,
    Event,
    IterationStarted,
    MoneySpent,
    RolledBack,
    RunFinished,
    RunStarted,
    TurnEnded,
)
from aigon.journal.records import Records
from aigon.journal.replay import dumps
from aigon.journal.spending import Spend
from aigon.journal.statistics import Statistics, StepResult, gather_statistics
from aigon.model.criteria import Promise, Verdict
from aigon.model.outcomes import Met, NeedsHuman, Outcome, Stopped, get_exit_code, get_status
from aigon.model.turns import Turn
from tests.journal.tried import looked


def minute(number: int) -> str:
    return f"2026-11-20T10:{number:02}:00.000+00:00"


def began(feature: str, **more: object) -> RunStarted:
    """A run of two criteria begins, at 10:00."""
    start = RunStarted(minute(0), f"20261120-{feature}", feature, "s", "", "claude", "solo", "b", "c" * 40, "c" * 40,
                       "p", "s", 2, 5, choices=Choices(judge="agent"), kind="build", profile="python")  # fmt: skip
    return replace(start, **more)


def turn(number: int, agent: str = "claude", step: int = 1, cost: float | None = 0.5, **more: object) -> list[Event]:
    """A turn of a minute."""
    model = {"claude": "sonnet", "codex": "gpt"}.get(agent, "") if step == 1 else "opus"
    ended = replace(Turn(number, agent, model, "finished", 0, cost=cost, duration=60.0), **more)
    start = IterationStarted(minute(number), number, agent, model, step - 1, 2, 100)
    return [start, TurnEnded(minute(number), ended)]


def ended(at: int, outcome: Outcome) -> RunFinished:
    return RunFinished(minute(at), outcome, get_status(outcome), int(get_exit_code(outcome)), "", "c" * 40)


def proven(feature: str, iterations: int, agent: str = "claude", **more: object) -> list[Event]:
    """A run that is proven after so many iterations, each of which but the last fails in a way of its own."""
    events: list[Event] = [began(feature, agent=agent, **more), looked(0)]
    for number in range(1, iterations + 1):
        last = number == iterations
        events += [*turn(number, agent), looked(number, met=2 if last else 1, name="" if last else f"f{number}")]
    return [*events, ended(iterations + 1, Met())]


def stalled(feature: str = "8") -> list[Event]:
    """Four iterations: criterion 1 passes in the second and fails in the third, and one failure comes three times."""
    promise = Promise("COMPLETE", kept=False)
    return [
        began(feature), looked(0),
        *turn(1), looked(1, name="same"),
        *turn(2), looked(2, met=1, name="other", promises=(promise,)),
        *turn(3, step=2), looked(3, name="same"),
        *turn(4, step=2), looked(4, name="same", promises=(promise, Promise("TESTS_PASS", kept=True))),
        ended(5, Stopped("stall", "no progress")),
    ]  # fmt: skip


def escalated() -> list[Event]:
    """Proven on the second step, by a resume after a pause of ten minutes; a turn was broken off, one rate-limited."""
    return [
        began("9"), looked(0),
        *turn(1), looked(1, name="a"),
        IterationStarted(minute(3), 2, "claude", "sonnet", 0, 2, 100),
        began("9", at=minute(13), resumed=True), looked(1, name="a"),
        *turn(2, cost=None, end="usage_limit"),
        *turn(2, step=2), MoneySpent(minute(14), 2, "judge", 0.25, "reported"), looked(2, met=2),
        ended(15, Met(iteration=2)),
    ]  # fmt: skip


def judged(feature: str, *statuses: str) -> list[Event]:
    """The judge decides both criteria after one turn."""
    verdicts = tuple(Verdict(n, status, "judge") for n, status in enumerate(statuses, 1))  # type: ignore[arg-type]
    look = looked(1, content=f"content-{feature}", name="judged")
    return [began(feature, kind="research"), looked(0), *turn(1, cost=None), replace(look, verdicts=verdicts),
            ended(2, NeedsHuman((1,), "criterion 1"))]  # fmt: skip


def write(home: Path, feature: str, *runs: Sequence[Event]) -> Records:
    records = Records(home / "features" / feature)
    records.folder.mkdir(parents=True)
    names = [*(f"journal-2026112{n}-x.jsonl" for n in range(len(runs) - 1)), "journal.jsonl"]
    for name, events in zip(names, runs, strict=True):
        (records.folder / name).write_bytes(b"".join(format_line(dumps(event)) for event in events))
    return records


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Twelve features, fourteen runs: eight proven, two stalled, two for people, one taken back, one unfinished."""
    for feature, iterations in zip("1234", (1, 1, 2, 3), strict=True):
        write(tmp_path, feature, proven(feature, iterations))
    for feature, iterations in (("5", 2), ("6", 9)):
        write(tmp_path, feature, proven(feature, iterations, "codex", choices=None, kind="", profile=""))
    write(tmp_path, "7", proven("7", 1)[:-2])
    write(tmp_path, "8", stalled(), proven("8", 2, earlier_iterations=0))
    write(tmp_path, "9", escalated())
    for feature, statuses in (("10", ("met", "unmet")), ("11", ("unmet", "unclear"))):
        records = write(tmp_path, feature, judged(feature, *statuses))
        records.decide(
            [HumanDecision(n, "t", "approve", "why", f"content-{feature}", "c", "Ada", minute(3)) for n in (1, 2)]
        )
    undone = [
        *stalled("12")[:-1],
        RolledBack(minute(6), 2, "c" * 40, "d" * 40, "r", "w"),
        ended(7, Stopped("stall", "x")),
    ]
    write(tmp_path, "12", undone, [])
    return tmp_path


def test_all_runs_come_to_what_was_counted_by_hand(home: Path) -> None:
    stats = gather_statistics(home)
    total = stats.total
    assert stats == Statistics(total)
    # Features 1 to 12. 8 has two runs, and the second of 12 has not begun.
    assert (total.features, total.features_proven, total.runs, total.proven) == (12, 8, 13, 8)
    # Iterations of the proven runs: 1 1 2 3 (claude), 2 9 (codex), 2 (8), 2 (9).
    assert total.iterations and total.per_criterion
    assert (total.iterations.n, total.iterations.mean, total.iterations.median, total.iterations.p90) == (8, 2.75, 2, 9)
    assert (total.per_criterion.mean, total.per_criterion.p90) == (1.375, 4.5)
    # 7 turns of 1 to 4, 11 of codex, 1 of 7, 4 and 2 of 8, 3 of 9 (one broken off), 2 judged, 4 of 12.
    assert total.turns == 7 + 11 + 1 + 4 + 2 + 3 + 2 + 4
    # Step 2 had two turns of 8 and of 12, and one of 9, which was proven on it.
    assert total.steps == {1: StepResult(29, 13, 7), 2: StepResult(5, 3, 1)}
    # 34 turns at $0.50, without the one broken off and the two judged; $0.25 for the judge.
    assert total.spend == Spend(0.5 * 31 + 0.25, 3)
    # A run ends a minute after its last iteration; 7 was heard of for a minute, 9 for 3 and 2 minutes, 12 until 10:07.
    assert total.seconds == 60 * ((2 + 2 + 3 + 4) + (3 + 10) + 1 + (5 + 3) + (3 + 2) + (2 + 2) + 7)
    assert total.stops == {"met": 8, "stopped: stall": 2, "needs_human": 2, "unfinished": 1}
    # Failures: 3 of features 1 to 4, 9 of codex, 4 and 1 of 8, 1 of 9, 2 judged, 4 of 12.
    assert (total.failures, total.repeated_failures) == (3 + 9 + 4 + 1 + 1 + 2 + 4, 2 + 2)
    assert total.ticks_taken_back == 2
    assert (total.promises_kept, total.promises_broken) == (2, 4)
    # Decided on: passed and failed in 10, failed in 11; what the judge left open is not overruled. All were approved.
    assert (total.judge_decisions, total.judge_overruled) == (3, 2)


def test_groups_have_the_turns_of_their_agent_model_or_step(home: Path) -> None:
    agents = {group.name: group for group in gather_statistics(home, "agent").groups}
    assert {name: (group.runs, group.proven, group.turns) for name, group in agents.items()} == {
        "claude": (11, 6, 23), "codex": (2, 2, 11),
    }  # fmt: skip
    assert agents["codex"].spend == Spend(5.5) and agents["codex"].seconds == 660.0 and agents["codex"].is_small
    steps = {group.name: group for group in gather_statistics(home, "step").groups}
    assert [(each.name, each.runs, each.proven) for each in steps.values()] == [("step 1", 13, 7), ("step 2", 3, 1)]
    assert steps["step 2"].iterations and steps["step 2"].iterations.n == 1
    models = {group.name: group.runs for group in gather_statistics(home, "model").groups}
    assert models == {"sonnet": 11, "gpt": 2, "opus": 3}


def test_groups_by_what_a_run_began_with_count_whole_runs(home: Path) -> None:
    kinds = {group.name: (group.runs, group.proven) for group in gather_statistics(home, "kind").groups}
    assert kinds == {"build": (9, 6), "not recorded": (2, 2), "research": (2, 0)}
    judges = {group.name: group.runs for group in gather_statistics(home, "judge").groups}
    assert judges == {"agent": 11, "not recorded": 2}
    profiles = gather_statistics(home, "profile").groups
    assert sum((group.seconds for group in profiles), 0.0) == gather_statistics(home).total.seconds


def test_runs_before_a_day_and_unreadable_journals_are_left_out(home: Path) -> None:
    assert gather_statistics(home, since=date(2026, 11, 21)).total.runs == 0
    assert gather_statistics(home, since=date(2026, 11, 20)).total.runs == 13
    folder = home / "features"
    (folder / "1/journal.jsonl").write_bytes(b"00000000 {}\n")
    newer = dumps(began("2")).replace('"slug"', '"snail"')
    (folder / "2/journal.jsonl").write_bytes(format_line(newer))
    whole = (folder / "3/journal.jsonl").read_bytes()
    (folder / "3/journal.jsonl").write_bytes(whole[:-20])
    (folder / "10/decisions.jsonl").write_bytes(b"00000000 {}\n")
    stats = gather_statistics(home)
    assert [text.partition(":")[0] for text in stats.unread] == [
        "1/journal.jsonl", "10/decisions.jsonl", "2/journal.jsonl",
    ]  # fmt: skip
    assert "another version" in stats.unread[2]
    assert stats.total.runs == 11 and stats.total.stops["unfinished"] == 2, "a torn line is the end of what is known"


def test_a_repository_without_runs_has_none(tmp_path: Path) -> None:
    assert gather_statistics(None).total.runs == gather_statistics(tmp_path, "kind").total.runs == 0
