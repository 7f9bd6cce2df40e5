"""aigon as a library, called as a server would: from a thread, without a terminal, for any repository."""

import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from aigon.api import AigonError, open_project
from aigon.errors import Exit
from aigon.journal.events import RunFinished, RunStarted
from tests.lab import Lab

IN_PLACE = True
ROOT = Path(__file__).parents[2]
T = TypeVar("T")
SLOW = """
while [ ! -e "$GO" ]; do sleep 0.1; done
echo done > done.txt
"""


def in_a_thread(call: Callable[[], T]) -> T:
    """What `call` returns from a thread of its own; its exception is raised here."""
    results: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(100)
    if errors:
        raise errors[0]
    return results[0]


def test_a_thread_validates_starts_follows_and_reports(home: Lab) -> None:
    home.agent("echo done > done.txt")
    home.spec("done <!-- verify: test -f done.txt -->")
    home.commit("spec")
    project = open_project(home.root / ".aigon")

    assert [(each.id, each.title, each.stage) for each in in_a_thread(project.features)] == [
        ("42", "Dark mode", "in-progress")
    ]
    assert in_a_thread(project.status)[0].run.status == "not_started"
    before = in_a_thread(lambda: project.validate("42", skip_validation=True))
    assert (before.outcome, before.exit_code) == ("stopped", 3)

    started = in_a_thread(lambda: project.start("42", skip_validation=True, max_iterations=2))
    events = in_a_thread(lambda: list(project.follow(started.run_id)))
    assert isinstance(events[0], RunStarted) and events[0].run_id == started.run_id
    assert isinstance(events[-1], RunFinished) and events[-1].exit_code == 0

    (run,) = in_a_thread(project.runs)
    assert (run.status, run.iterations, run.criteria_passed, run.criteria_total) == ("met", 1, 1, 1)
    assert list(project.follow(run)) == events
    assert in_a_thread(lambda: project.status("42"))[0].run.status == "met"
    assert [card.title for column in in_a_thread(project.board) for card in column.cards] == ["Dark mode"]
    assert "Dark mode" in in_a_thread(lambda: project.report("42", "md")).text


def test_a_run_outlives_its_caller_and_is_followed_until_it_is_stopped(home: Lab) -> None:
    home.agent(f"GO={home.home / 'go'}\n{SLOW}")
    home.spec("done <!-- verify: test -f done.txt -->")
    home.commit("spec")
    project = open_project(home.root)
    started = project.start("42", skip_validation=True)
    assert project.run(started.run_id).status == "running"
    seen: list[object] = []
    for event in project.follow(started.run_id, is_cancelled=lambda: bool(seen)):
        seen.append(event)
    assert isinstance(seen[0], RunStarted) and not any(isinstance(event, RunFinished) for event in seen)
    assert [asked.run_id for asked in in_a_thread(lambda: project.stop("42", now=True))] == [started.run_id]
    *_, end = project.follow(started.run_id)
    assert isinstance(end, RunFinished) and end.exit_code == Exit.INTERRUPTED
    assert project.run(started.run_id).status == "interrupted"
    assert not list(home.home.glob("state/repos/*/starting-*"))


def test_a_run_broken_off_is_not_running_because_a_later_one_is(home: Lab) -> None:
    home.agent(f"[ -e {home.home / 'second'} ] || exit 0\nGO={home.home / 'go'}\n{SLOW}")
    home.spec("done <!-- verify: test -f done.txt -->")
    home.commit("spec")
    project = open_project(home.root)
    first = project.start("42", skip_validation=True, max_iterations=1)
    *_, end = project.follow(first.run_id)
    assert isinstance(end, RunFinished) and end.exit_code == Exit.STOPPED
    (home.home / "second").touch()
    second = project.start("42", skip_validation=True)
    archived = project.run(first.run_id).journal
    lines = archived.read_bytes().splitlines(keepends=True)
    archived.write_bytes(b"".join(line for line in lines if b'"run_finished"' not in line))
    assert project.run(first.run_id).status == "broken_off"
    assert not any(isinstance(event, RunFinished) for event in project.follow(first.run_id))
    assert project.run(second.run_id).status == "running"
    project.stop("42", now=True)
    assert isinstance(list(project.follow(second.run_id))[-1], RunFinished)


def test_a_program_does_not_decide_for_a_person_unless_it_says_so(home: Lab) -> None:
    home.spec("done <!-- verify: test -f done.txt -->")
    home.commit("spec")
    home.agent("true")
    with pytest.raises(AigonError, match="--accept-spec needs a person's answer") as refused:
        open_project(home.root).start("42", resume=True, accept_spec=True)
    assert refused.value.code == Exit.NEEDS_HUMAN


def test_refusals_are_errors_with_the_exit_code_of_the_command(home: Lab) -> None:
    project = open_project(home.root)
    home.spec("done <!-- verify: test -f done.txt -->")
    home.commit("spec")
    home.write("stray.txt", "x\n")
    home.agent("true")
    with pytest.raises(AigonError, match="uncommitted") as refused:
        project.start("42")
    assert refused.value.code == Exit.ENVIRONMENT and refused.value.hint
    for call in (lambda: project.status("99"), lambda: project.validate("99"), lambda: project.run("no-such-run")):
        with pytest.raises(AigonError) as unknown:
            call()
        assert unknown.value.code == Exit.USAGE
    with pytest.raises(AigonError) as idle:
        project.stop("42")
    assert idle.value.code == Exit.ENVIRONMENT
    assert project.runs() == ()
    with pytest.raises(AigonError) as outside:
        open_project(home.home)
    assert outside.value.code == Exit.ENVIRONMENT


def test_the_example_of_the_docs_runs(home: Lab) -> None:
    home.agent("echo done > done.txt")
    home.spec("done <!-- verify: test -f done.txt -->")
    home.config(profile="generic")
    home.commit("spec")
    (example,) = re.findall(r"(?ms)^```python\n(.*?)^```$", (ROOT / "docs/api.md").read_text(encoding="utf-8"))
    done = subprocess.run([sys.executable, "-c", example], cwd=home.root, env=home.env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "42 Dark mode in-progress" and lines[1] == "run_started"
    assert lines[-3:-1] == ["run_finished", "met 1 of 1 criteria"] and "Dark mode" in lines[-1]
