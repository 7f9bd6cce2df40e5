"""What there is to do over all features, and what watchers and starts took up."""

import pytest

from aigon.commands.queue import describe_entry
from aigon.files.home import ensure_home
from aigon.git.person import Checkout
from aigon.journal.queue import QueueEntry, append_entry
from aigon.queue.backlog import QueueTask, list_tasks, read_queue_status
from aigon.views.tasks import render_queue_tasks
from tests.lab import Lab
from tests.queue.test_start import write_spec

NAMES = ("a.md", "b.md")


def test_criteria_are_listed_by_feature_and_those_that_wait_are_blocked(lab: Lab) -> None:
    write_spec(lab, "02", "later", "depends_on: [1]")
    write_spec(lab, "01", "first", "kind: build", "T1: one", "T2: two")
    lab.commit("a backlog")
    with Checkout.open(lab.root) as main:
        tasks = [(each.id, each.status, each.note) for each in list_tasks(main)]
    assert tasks == [("01.1", "pending", ""), ("01.2", "pending", ""), ("02.1", "blocked", "waits for 01")]


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_lists_of_tasks_fit_the_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    long = QueueTask("01.1", "words " * 40, "blocked", "01", "mine", "because " * 40)
    tasks = [long, QueueTask("01.2", "x", "done", "01")]
    lines = render_queue_tasks(tasks).splitlines()
    assert len(lines) == 3 and lines[0].endswith("  [mine]")
    assert max(map(len, lines)) <= columns


def test_the_newest_step_of_each_task_and_the_last_of_all_are_told(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIGON_STATE_HOME", lab.env["AIGON_STATE_HOME"])
    entries = [
        QueueEntry("watch", NAMES[0], "taken", "1", feature="01"),
        QueueEntry("watch", NAMES[1], "waiting", "2", reason="say what has to be true"),
        QueueEntry("watch", NAMES[0], "ended", "3", feature="01", outcome="needs_human", reason="Needs a human: look"),
        QueueEntry("start", "07", "ended", "4", feature="07", outcome="met"),
    ]
    with Checkout.open(lab.root) as main:
        for each in entries:
            append_entry(ensure_home(main.common_dir), each)
        status = read_queue_status(main, 2)
    assert (status.running, status.steps) == ((), tuple(entries[2:]))
    assert [describe_entry(each) for each in status.entries] == [
        "a.md (feature 01): Needs a human: look",
        "b.md: waits for you: say what has to be true",
        "07: proven",
    ]
