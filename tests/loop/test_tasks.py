"""Task tracking over a whole run with a regression: the view, the command, the program that is told, the journal."""

import json
from typing import Any

import pytest

from aigon.journal.records import Records
from aigon.journal.state import replay
from aigon.journal.tasks import build_tasks_document
from tests.lab import Lab
from tests.loop.processes import LOOP, journal

VIEW = ".aigon/tasks-42.json"
REGRESSES = """
    case $AIGON_ITERATION in
        1) touch a ;;
        2) rm a; touch b ;;
        *) touch a$AIGON_ITERATION ;;
    esac
"""


def view(lab: Lab) -> list[dict[str, Any]]:
    tasks: list[dict[str, Any]] = json.loads(lab.read(VIEW))["tasks"]
    return tasks


def test_tasks_over_a_run_with_a_regression_are_the_fold_of_its_journal(lab: Lab) -> None:
    pytest.importorskip("toon_format", reason="the extra toon is not installed")
    lab.spec("a <!-- verify: test -f a -->", "b <!-- verify: test -f b -->", "ready <!-- verify: true -->")
    lab.agent(REGRESSES)
    lab.write("tell.sh", '#!/bin/sh\ncat >> "$HOME/told"\n', executable=True)
    lab.config(tasks={"command": ["./tell.sh"]}, proof="in-place", views={"toon": True})
    lab.commit("set up")
    assert lab.aigon(*LOOP, "--max-iterations", "3").code == 3
    tasks = view(lab)
    assert [(task["id"], task["status"], task["manual_review"]) for task in tasks] == [
        ("42.1", "pending", True),
        ("42.2", "completed", False),
        ("42.3", "completed", False),
    ]
    texts = [(note["iteration"], note["text"].partition(":")[0]) for note in tasks[0]["notes"]]
    assert texts == [
        (2, "was completed in iteration 1; unmet"),
        (3, "unmet"),
        (3, "unmet"),
    ]
    assert "(the run ended: Stopped by the guard iterations" in tasks[0]["notes"][-1]["text"]
    folded = replay(Records(journal(lab).parent).each()).tasks
    assert json.loads(lab.read(VIEW)) == json.loads(json.dumps(build_tasks_document(folded)))
    assert lab.state()["tasks"] == {"pending": 1, "in_progress": 0, "completed": 2}
    told = [json.loads(line) for line in (lab.home / "told").read_text().splitlines()]
    assert [each["tool"] for each in told[:3]] == ["TaskCreate"] * 3
    assert {each["task"]["id"]: each["task"] for each in told} == {task["id"]: task for task in tasks}
    assert {each["task"]["status"] for each in told if each["task"]["id"] == "42.1"} == {
        *("pending", "in_progress", "completed"),
    }
    shown = lab.aigon("tasks", "42", "--status", "pending")
    assert "42.1  pending" in shown.out and "42.2" not in shown.out and "1 pending and 2 completed" in shown.out
    assert lab.aigon("tasks", "42", "--format", "json").json == json.loads(lab.read(VIEW))
    table = lab.aigon("tasks", "42", "--format", "toon").out
    assert '"42.1",a,' in table and ",blocked," in table
    (run,) = lab.path(".aigon/runs").iterdir()
    assert (run / "prd.toon").read_text() == table
    assert '"42",Dark mode,' in lab.aigon("feature-status", "42", "--format", "toon").out


def test_a_program_that_fails_is_a_notice_and_an_edited_view_is_overwritten(lab: Lab) -> None:
    lab.spec("done <!-- verify: test -f done.txt -->")
    lab.agent("touch done.txt; echo '{}' > .aigon/tasks-42.json")
    lab.config(tasks={"command": "echo no such tracker; exit 3"}, proof="in-place")
    lab.commit("set up")
    ran = lab.aigon(*LOOP)
    assert ran.code == 0, ran.out + ran.err
    assert "tasks.command failed (no such tracker)" in ran.out
    assert [task["status"] for task in view(lab)] == ["completed"]
    assert lab.git("status", "--porcelain") == ""


def test_tasks_of_a_feature_that_has_not_run_are_pending(lab: Lab) -> None:
    lab.spec("done <!-- verify: test -f done.txt -->")
    lab.commit("set up")
    ran = lab.aigon("tasks", "42")
    assert (ran.code, ran.out) == (0, "42.1  pending      done\n1 pending\n")
    assert lab.aigon("tasks", "43").code == 2
