"""Tasks are a fold of the journal."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from aigon.errors import AigonError
from aigon.journal.events import (
    CriterionJudged,
    Event,
    IterationStarted,
    RecordedTask,
    RolledBack,
    RunFinished,
    TurnEnded,
)
from aigon.journal.records import Records
from aigon.journal.sinks import JournalSink
from aigon.journal.state import State, replay
from aigon.journal.tasks import MAX_NOTES, Tasks, build_tasks_table
from aigon.model.criteria import Verdict, VerdictStatus
from aigon.model.outcomes import Met, Stopped
from aigon.model.requests import AgentRequest
from aigon.model.turns import Turn
from tests.journal.test_state import looked, started

A = RecordedTask(1, "T7: it adds", "runs `make`")
B = RecordedTask(2, "it subtracts", "a person")
BEGUN = replace(started(), tasks=(A, B))


def turn(number: int, *tasks: int) -> IterationStarted:
    return IterationStarted(f"t{number}", number, "mine", "", 0, 1, 100, tasks=tasks)


def look(number: int, *statuses: VerdictStatus) -> Event:
    verdicts = tuple(Verdict(n, s, "verify", reason="exit 1" * (s != "met")) for n, s in enumerate(statuses, 1))
    return replace(looked(number), at=f"t{number}", verdicts=verdicts)


def end(outcome: Met | Stopped) -> RunFinished:
    return RunFinished("t9", outcome, "x", 3, "", "c" * 40)


STOPPED = end(Stopped("iterations", "the limit of 3 iterations is reached"))
REGRESSION = (BEGUN, look(0, "unmet", "met"), turn(1, 1), look(1, "met", "unmet"), turn(2, 2), look(2, "met", "unmet"))


def fold(*events: Event) -> Tasks:
    return replay(events).tasks


def states(tasks: Tasks) -> list[tuple[str, str]]:
    return [(task.id, task.status) for task in tasks.all]


def test_a_task_follows_what_aigon_saw() -> None:
    every = [states(fold(*REGRESSION[:number])) for number in range(1, 7)]
    assert [[status for _, status in each] for each in every] == [
        ["pending", "pending"],
        ["pending", "completed"],
        ["in_progress", "completed"],
        ["completed", "pending"],
        ["completed", "in_progress"],
        ["completed", "pending"],
    ]
    first, second = fold(*REGRESSION).all
    assert (first.id, first.subject, first.description, first.notes) == ("42.1", A.subject, A.description, ())
    assert [(note.iteration, note.at, note.text) for note in second.notes] == [
        (1, "t1", "was completed in iteration 0; unmet: exit 1"),
        (2, "t2", "unmet: exit 1"),
    ]


def test_every_task_is_completed_or_flagged_at_the_end() -> None:
    first, second = fold(*REGRESSION, STOPPED).all
    assert (first.status, first.manual_review, second.status, second.manual_review) == (
        *("completed", False),
        *("pending", True),
    )
    assert second.notes[-1].text == (
        "unmet: exit 1 (the run ended: Stopped by the guard iterations: the limit of 3 iterations is reached)"
    )
    again = fold(*REGRESSION, STOPPED, replace(BEGUN, resumed=True))
    assert [task.manual_review for task in again.all] == [False, False]
    assert len(again.all[1].notes) == 3


def test_a_resume_keeps_the_tasks_whose_criterion_is_the_same() -> None:
    changed = replace(BEGUN, resumed=True, tasks=(A, replace(B, subject="it multiplies")))
    first, second = fold(*REGRESSION, changed).all
    assert (first.status, second.status, second.notes) == ("completed", "pending", ())
    assert states(fold(*REGRESSION, turn(3, 2), replace(BEGUN, resumed=True)))[1] == ("42.2", "pending")


def test_going_back_restores_the_tasks_of_that_iteration() -> None:
    back = RolledBack("t5", 0, "a" * 40, "b" * 40, "refs/x", "worse")
    assert states(fold(*REGRESSION, back)) == [("42.1", "pending"), ("42.2", "completed")]


def test_a_journal_of_an_older_version_has_tasks_from_its_verdicts_on() -> None:
    judged = CriterionJudged("t0", 0, Verdict(1, "unmet", "verify"), "it adds")
    tasks = fold(started(), judged, look(0, "unmet"), turn(1), look(1, "met"))
    assert [(task.subject, task.status) for task in tasks.all] == [("it adds", "completed")]


def test_proposals_are_listed_once_and_wait_for_a_person() -> None:
    asked = (AgentRequest("enqueue", text="more"), AgentRequest("enqueue", text="more"), AgentRequest("done", 1))
    ended = TurnEnded("t1", Turn(1, "mine", "", "finished"), requests=asked)
    tasks = fold(BEGUN, turn(1, 1), ended, look(1, "met", "met"), end(Met()))
    assert [(task.id, task.subject, task.source, task.manual_review) for task in tasks.all[2:]] == [
        ("42.p1", "more", "enqueued", True)
    ]
    assert fold(BEGUN, turn(1), ended, replace(BEGUN, resumed=True)).all[2].subject == "more"


def test_a_waived_criterion_is_skipped_in_the_table() -> None:
    waived = replace(looked(1), verdicts=(Verdict(1, "met", "waived"), Verdict(2, "met", "verify")))
    assert [row.status for row in build_tasks_table(fold(BEGUN, waived)).tasks] == ["skipped", "done"]


def test_only_the_newest_notes_are_kept() -> None:
    turns = [event for number in range(1, 60) for event in (turn(number, 1), look(number, "unmet"))]
    notes = fold(BEGUN, *turns).all[0].notes
    assert [note.iteration for note in notes] == list(range(60 - MAX_NOTES, 60))


def test_a_table_has_the_id_of_the_criterion_its_commit_and_its_iteration() -> None:
    first, second = build_tasks_table(fold(*REGRESSION, STOPPED)).tasks
    assert (first.id, first.title, first.status, first.iteration, first.commit_sha) == (
        *("T7", "it adds", "done"),
        *(1, "b" * 40),
    )
    assert (second.id, second.title, second.status, second.iteration) == ("42.2", "it subtracts", "blocked", None)


# read from a journal


def record(folder: Path, *events: Event) -> Records:
    journal = JournalSink(folder / "journal.jsonl")
    for event in events:
        journal(event, State())
    journal.close()
    return Records(folder)


def test_the_tasks_of_a_journal_are_the_fold(tmp_path: Path) -> None:
    assert Records(tmp_path).tasks() == Tasks()
    for number in range(1, len(REGRESSION) + 1):
        assert record(tmp_path / str(number), *REGRESSION[:number]).tasks() == fold(*REGRESSION[:number])
    back = RolledBack("t5", 0, "a" * 40, "b" * 40, "refs/x", "worse")
    assert record(tmp_path / "back", *REGRESSION, back).tasks() == fold(*REGRESSION, back)


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    records = record(tmp_path, *REGRESSION, turn(3, 2))
    with records.journal.open("ab") as file:
        file.write(b"00000000 {}\n")
    with pytest.raises(AigonError) as caught:
        records.tasks()
    assert (caught.value.code, caught.value.where) == (7, f"{records.journal}:{len(REGRESSION) + 2}")
