"""Taking up a task, killed at each of its steps: the next watcher goes on with the same ID, branch and record."""

from pathlib import Path

import pytest

from aigon.agents.configured import resolve_agents
from aigon.files.home import ensure_home
from aigon.git import objects
from aigon.git.person import Checkout
from aigon.job import bookkeeping
from aigon.journal.queue import QueueEntry, append_entry, list_steps, locate_queue, read_queue
from aigon.journal.records import Records, list_candidates
from aigon.model.agents import Candidate
from aigon.queue import folders
from aigon.queue.folders import TaskFile, list_committed_files
from tests.lab import Lab
from tests.queue.vaults import GREETER, make_vault, write_task


class Killed(BaseException):
    """The watcher dies here."""


STEPS = {
    "before the record": (folders, "append_entry"),
    "before the tree": (objects, "write_tree_with"),
    "before the branch": (Checkout, "git"),
    "before the origin": (Records, "set_origin"),
    "before the candidate": (Records, "set_candidate"),
}


def take(main: Checkout) -> Candidate:
    """Take up the only task as a watcher does."""
    git = bookkeeping.open_own_git(main)
    task = next(each for each in list_committed_files(git, str(main.head), ["Needs_Action"]) if "greeter" in each.path)
    home = ensure_home(main.common_dir)
    begun = read_queue(home).get(task.path) or QueueEntry("watch", task.path, "taken", "", task.sha)
    (agent,) = resolve_agents(main.root, ["mine"])
    return folders.take_up(main, task, git.run("cat-file", "blob", task.sha), agent, begun, print)


@pytest.mark.parametrize("step", STEPS)
def test_a_task_that_was_being_taken_up_is_taken_up_once(lab: Lab, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    make_vault(lab)
    write_task(lab, "greeter", GREETER)
    lab.commit("a task")
    monkeypatch.setenv("AIGON_STATE_HOME", lab.env["AIGON_STATE_HOME"])

    def die(*_: object, **__: object) -> None:
        raise Killed

    with Checkout.open(lab.root) as main:
        ensure_home(main.common_dir)
        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(*STEPS[step], die)
            take(main)
    with Checkout.open(lab.root) as main:
        candidate, home = take(main), ensure_home(main.common_dir)
        assert (candidate.feature, candidate.branch) == ("01", "feature-01-mine-greeter")
        assert take(main) == candidate and list_candidates(home) == (candidate,)
        assert {each.feature for each in list_steps(home)} == {"01"}
        (branch,) = [name for name in main.git("branch", "--format=%(refname:short)").split() if "greeter" in name]
        assert "03-in-progress/feature-01-greeter.md" in main.git("ls-tree", "-r", "--name-only", branch)
    lab.sound()


def test_half_a_line_in_the_record_is_no_step_and_damage_is_said(tmp_path: Path) -> None:
    entry = QueueEntry("watch", "a.md", "taken", "2026-11-23T09:00:00+00:00")
    append_entry(tmp_path, entry)
    with locate_queue(tmp_path).open("ab") as file:
        file.write(b'12345678 {"source": "wat')
    append_entry(tmp_path, entry)
    assert list_steps(tmp_path) == [entry, entry]
    later = QueueEntry("watch", "a.md", "ended", "2020-01-01T00:00:00+00:00")  # the clock was set back
    append_entry(tmp_path, later)
    assert read_queue(tmp_path) == {"a.md": later}


def test_a_task_file_is_what_git_holds_of_it(lab: Lab) -> None:
    make_vault(lab)
    path = write_task(lab, "greeter", GREETER)
    lab.commit("a task")
    committed = path.read_bytes()
    path.write_bytes(committed + b"still being writ")
    with Checkout.open(lab.root) as main:
        git = bookkeeping.open_own_git(main)
        tasks = {each.path: each for each in list_committed_files(git, str(main.head), ["Needs_Action"])}
        assert git.run("cat-file", "blob", tasks["Needs_Action/greeter.md"].sha) == committed
        assert tasks["Needs_Action/README.md"] == TaskFile("Needs_Action/README.md", lab.git("rev-parse",
                                                           "HEAD:Needs_Action/README.md"))  # fmt: skip
