"""Watching folders: what is taken up and what is not, limits, stops, kills, and what is left for people."""

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from aigon.config.loading import load_configuration, open_work_tree
from aigon.errors import AigonError
from aigon.git.person import Checkout
from aigon.job import bookkeeping
from aigon.process.stop import Stop
from aigon.queue.folders import find_agents_files, list_committed_files, resolve_folders
from aigon.queue.watch import Watcher, WatchOptions
from tests.lab import Lab, finish, until
from tests.loop.test_done_pr import GH, gh
from tests.loop.test_held_up import claude, starts
from tests.queue.vaults import GREETER, count_turns, hold, make_vault, write_task

WATCH = ("watch", "--once", "--max-cost", "5")


def test_a_committed_task_is_built_in_a_worktree_and_nothing_else_is_touched(lab: Lab) -> None:
    make_vault(lab, logs="Ralph_Logs")
    write_task(lab, "greeter", GREETER)
    write_task(lab, "newsletter", text="- people can sign up")
    lab.commit("tasks")
    write_task(lab, "greeter-2", GREETER)  # not committed
    before = lab.git("rev-parse", "HEAD"), lab.git("symbolic-ref", "HEAD"), lab.git("status", "--porcelain")
    ran = lab.aigon(*WATCH)
    assert ran.code == 4, ran.out + ran.err
    assert "Needs_Action/greeter.md starts as feature 01 with mine" in ran.out
    assert before == (lab.git("rev-parse", "HEAD"), lab.git("symbolic-ref", "HEAD"), lab.git("status", "--porcelain"))
    status = lab.aigon("feature-status", "01").out
    assert "in-evaluation" in status and "proven" in status and count_turns(lab) == 1
    assert "# Step 1" in lab.read("Ralph_Logs/greeter/step_01.md")
    page = lab.read(".aigon/approvals/task-newsletter.md")
    assert "say what has to be true" in page and "- [ ] people can sign up" in page
    again = lab.aigon(*WATCH)
    assert (again.code, count_turns(lab)) == (4, 1) and "starts" not in again.out


@pytest.mark.slow
def test_a_task_goes_on_when_its_bytes_change_and_not_before(lab: Lab) -> None:
    make_vault(lab)
    write_task(lab, "wall", "impossible <!-- verify: test -f never -->", head="mode: ralph\nmax_iterations: 1")
    lab.commit("tasks")
    assert lab.aigon(*WATCH, "--json").code == 3
    turns = count_turns(lab)
    assert lab.aigon(*WATCH).code == 0 and count_turns(lab) == turns
    write_task(lab, "wall", "possible <!-- verify: test -f tried.txt -->")
    lab.commit("a lower goal")
    ran = lab.aigon(*WATCH)
    assert ran.code == 0 and "goes on as feature 01" in ran.out, ran.out + ran.err
    assert lab.aigon("feature-done", "01").code == 0
    assert lab.path("docs/specs/features/05-done/feature-01-wall.md").exists()


@pytest.mark.slow
def test_a_killed_watcher_starts_nothing_twice_and_loses_nothing(lab: Lab) -> None:
    make_vault(lab)
    write_task(lab, "greeter", GREETER)
    lab.commit("tasks")
    hold(lab)
    process = lab.start("watch", "--max-cost", "5")
    until(lambda: count_turns(lab) == 1, 60)
    assert "in use by another aigon" in lab.aigon(*WATCH).err
    assert "aigon watch, pid" in " ".join(lab.aigon("doctor").out.split())
    os.kill(process.pid, signal.SIGKILL)
    finish(process)
    hold(lab, release=True)
    ran = lab.aigon(*WATCH)
    assert ran.code == 0, ran.out + ran.err
    assert lab.aigon("worktrees", "--json").json["worktrees"][1:] == []
    assert count_turns(lab) == 2 and "proven" in lab.aigon("feature-status", "01").out


@pytest.mark.slow
def test_a_stop_file_ends_the_loops_and_holds_the_watcher_until_it_is_gone(lab: Lab) -> None:
    make_vault(lab)
    write_task(lab, "greeter", GREETER)
    lab.commit("tasks")
    hold(lab)
    process = lab.start("watch", "--max-cost", "5", "--interval", "1s")
    until(lambda: count_turns(lab) == 1, 60)
    lab.write("EMERGENCY_STOP_RALPH", "")
    until(lambda: "stopped" in lab.aigon("feature-status", "01").out, 60)
    hold(lab, release=True)
    lab.path("EMERGENCY_STOP_RALPH").unlink()
    until(lambda: "proven" in lab.aigon("feature-status", "01").out, 60)
    asked = lab.aigon("stop", "watch")
    assert (asked.code, asked.out.startswith("Asked aigon watch to finish")) == (0, True)
    assert finish(process).code == 130
    idle = lab.aigon("stop", "watch")
    assert idle.code == 7 and "No `aigon watch` runs in this repository" in idle.err, idle.err


def test_without_a_cost_limit_or_a_fit_folder_nothing_is_watched(lab: Lab) -> None:
    make_vault(lab)
    assert "needs a cost limit" in lab.aigon("watch", "--once").err
    lab.path("linked").symlink_to(lab.path("Needs_Action"))
    for name, text in {
        "none": "does not exist",
        "..": "inside the repository",
        "linked": "no link",
        ".": "inside",
    }.items():
        with pytest.raises(AigonError, match=text):
            resolve_folders(lab.root, [name])
    assert lab.aigon("watch", "--once", "--max-cost", "1", env={"AIGON_RUN": "1"}).code == 4


def test_links_large_and_malformed_files_are_said_and_none_is_started(lab: Lab) -> None:
    make_vault(lab)
    lab.path("Needs_Action/link.md").symlink_to("/etc/passwd")
    lab.write("Needs_Action/large.md", b"---\nmode: ralph\n---\n" + b"x" * (1 << 21))
    lab.write("Needs_Action/latin.md", b"---\nmode: ralph\n---\n# \xff\xfe\n")
    write_task(lab, "odd", GREETER, head="mode: ralf")
    write_task(lab, "later", GREETER, head="mode: ralph\ndepends_on: [77]")
    lab.commit("tasks")
    plan = lab.aigon("watch", "--dry-run", "--max-cost", "1", "--json").json
    assert plan["tasks"] == [{"task": "Needs_Action/later.md", "title": "Task: later", "waits": "waits for 77"}]
    ran = lab.aigon(*WATCH)
    assert (ran.code, count_turns(lab)) == (4, 0)
    assert (
        "Needs_Action/link.md is ignored: it is a link" in ran.out and "large.md is ignored: it has 2.0 MiB" in ran.out
    )
    assert "Needs_Action/odd.md waits for you: it cannot be read" in ran.out


def test_a_plan_without_a_task_says_what_a_task_is(lab: Lab) -> None:
    make_vault(lab)
    write_task(lab, "plain", GREETER, head="")
    lab.commit("tasks")
    ran = lab.aigon("watch", "--dry-run", "--max-cost", "1")
    assert ran.out == "Nothing would start. A task is a committed file with `mode: ralph` in Needs_Action.\n", ran.err


def test_what_an_agent_wrote_is_no_task_even_once_it_is_merged(lab: Lab) -> None:
    lab.agent("cat > /dev/null; touch done.txt; mkdir -p Needs_Action; echo x > Needs_Action/evil.md; git add -A;"
              " git commit -qm mine")  # fmt: skip
    lab.spec("it works <!-- verify: test -f done.txt -->")
    lab.write("Needs_Action/good.md", "x\n")
    lab.commit("a spec")
    assert lab.aigon("feature-implement", "42", "--loop").code == 0
    assert lab.aigon("feature-done", "42").code == 0
    with Checkout.open(lab.root) as main:
        home = next((lab.home / "state").glob("**/features")).parent
        tasks = list(list_committed_files(bookkeeping.open_own_git(main), str(main.head), ["Needs_Action"]))
        assert [task.path for task in tasks] == ["Needs_Action/evil.md", "Needs_Action/good.md"]
        assert find_agents_files(main, home, tasks, ["Needs_Action"]) == {"Needs_Action/evil.md"}


def test_what_only_a_merge_brought_is_found_and_odd_names_hide_nobody(lab: Lab) -> None:
    make_vault(lab)
    lab.write("Needs_Action/odd\n:100644 100644 x.md", "x\n")
    lab.commit("by a person")
    lab.git("checkout", "-qb", "side")
    lab.write("Needs_Action/a.md", "side\n")
    lab.commit("a side")
    lab.git("checkout", "-q", "main")
    lab.write("Needs_Action/a.md", "main\n")
    lab.write("Needs_Action/b.md", "x\n")
    lab.commit("work\n\nAigon-Run: 1")
    lab.git("merge", "-q", "--no-commit", "-s", "ours", "side")
    lab.write("Needs_Action/a.md", "both\n")
    lab.commit("merge\n\nAigon-Run: 2")
    with Checkout.open(lab.root) as main:
        tasks = list(list_committed_files(bookkeeping.open_own_git(main), str(main.head), ["Needs_Action"]))
        assert find_agents_files(main, lab.home, tasks, ["Needs_Action"]) == {"Needs_Action/a.md", "Needs_Action/b.md"}


def test_a_thousand_task_files_take_as_many_processes_as_ten(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    make_vault(lab)
    begun: list[object] = []

    class Counted(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            begun.append(arguments)
            super().__init__(*arguments, **options)

    def count(number: int) -> int:
        for each in range(number):
            lab.write(f"Needs_Action/{each:04}.md", f"# Task {each}\n\n- [ ] it is there <!-- verify: true -->\n")
        lab.commit("tasks")
        with Checkout.open(lab.root) as main:
            look = Looks(lab, main, monkeypatch)
            begun.clear()
            look()
        return len(begun)

    monkeypatch.setattr(subprocess, "Popen", Counted)
    assert count(10) == count(1_000) < 12


def test_the_folder_of_a_watcher_is_relative_to_the_main_checkout(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert resolve_folders(tmp_path, ["a/b/", "a/../a/b"]) == ("a/b",)


class Looks:
    """A watcher in this process that starts nothing: what it would start, and what it says."""

    def __init__(self, lab: Lab, main: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AIGON_STATE_HOME", lab.env["AIGON_STATE_HOME"])
        self.said: list[str] = []
        config = load_configuration(open_work_tree(lab.root))
        options = WatchOptions(("Needs_Action",), 5.0)
        self._watcher = Watcher(main, config, options, Stop(), lambda _, text, **__: self.said.append(text))

    def __call__(self) -> list[str]:
        return [due.task.path.removeprefix("Needs_Action/") for due, _ in self._watcher.plan()]


@pytest.mark.parametrize("normal", [False, True])
def test_files_without_the_mode_count_only_if_they_are_wanted(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, *, normal: bool
) -> None:
    make_vault(lab, normal=normal)
    write_task(lab, "greeter", GREETER)
    write_task(lab, "plain", GREETER, head="kind: build")
    lab.commit("tasks")
    with Checkout.open(lab.root) as main:
        assert Looks(lab, main, monkeypatch)() == ["greeter.md", "plain.md"][: 1 + normal]


def test_an_untracked_file_counts_once_it_is_whole(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    make_vault(lab, untracked=True)
    growing, gone, huge = (lab.path(f"Needs_Action/{name}.md") for name in ("growing", "gone", "huge"))
    text = write_task(lab, "growing", GREETER).read_bytes()
    gone.write_bytes(text)
    with huge.open("wb") as file:
        file.truncate(100 << 20)
    with Checkout.open(lab.root) as main:
        look = Looks(lab, main, monkeypatch)
        assert look() == []
        growing.write_bytes(text + b"- [ ] and more")
        gone.unlink()
        assert look() == []
        assert look() == ["growing.md"]
        os.utime(growing, (0, 0))  # the clock was set back, or a backup restored
        gone.write_bytes(b"---\nmode: ralph\n---\n# \xff\n")
        assert look() == [] and look() == ["growing.md"]


@pytest.mark.slow
def test_proven_work_becomes_a_pull_request_which_is_no_merge(lab: Lab) -> None:
    make_vault(lab, pr=True)
    lab.git("init", "-q", "--bare", str(lab.home / "remote.git"))
    lab.git("remote", "add", "forge", str(lab.home / "remote.git"))
    write_task(lab, "greeter", GREETER)
    write_task(lab, "later", GREETER, head="mode: ralph\ndepends_on: [greeter]")
    before = lab.commit("tasks")
    ran = lab.aigon(*WATCH, env=gh(lab, GH), timeout=120)
    assert ran.code == 3 and "forge.invalid/pull/7" in ran.out, ran.out + ran.err
    assert "Needs_Action/later.md waits for 01: a feature begins" in ran.out
    assert (lab.git("rev-parse", "main"), count_turns(lab)) == (before, 1)
    assert "feature-01-mine-greeter" in lab.git("ls-remote", "--heads", "forge")


@pytest.mark.slow
def test_a_file_without_the_mode_is_built_in_one_iteration(lab: Lab) -> None:
    make_vault(lab, normal=True)
    write_task(lab, "wall", "impossible <!-- verify: test -f never -->", head="kind: build")
    lab.commit("tasks")
    ran = lab.aigon(*WATCH)
    assert ran.code == 4 and "README.md waits for you: it has no acceptance criteria" in ran.out
    assert "the limit of 1 iteration is reached" in ran.out and count_turns(lab) == 1


@pytest.mark.slow
def test_all_loops_together_keep_to_one_cost_limit(lab: Lab) -> None:
    make_vault(lab)
    claude(lab, "echo x >> tried.txt; echo $OK")  # 0.50 each
    lab.config(watch={"folders": ["Needs_Action"]})
    for name in ("wall", "tower"):
        write_task(lab, name, "impossible <!-- verify: test -f never -->")
    lab.commit("tasks")
    limit = ("watch", "--once", "--parallel", "2", "--interval", "1s", "--max-cost")
    ran = lab.aigon(*limit, "1.5", timeout=120)
    assert ran.code == 5 and "the cost limit of $1.50 is reached" in ran.out, ran.out + ran.err
    assert 3 <= len(starts(lab)) <= 4, "each loop may end the turn that it is in"
    before = len(starts(lab))
    again = lab.aigon(*limit, "0.5", timeout=120)
    assert again.code == 5 and "goes on as feature" in again.out, again.out + again.err
    assert before < len(starts(lab)) <= before + 2


def test_a_folder_that_cannot_be_read_is_an_error_of_the_machine(lab: Lab) -> None:
    make_vault(lab)
    lab.path("Needs_Action").chmod(0)
    try:
        ran = lab.aigon_without_override("watch", "--once", "--max-cost", "1")
    finally:
        lab.path("Needs_Action").chmod(0o755)
    assert ran.code == 7 and "cannot be read" in ran.err, ran.err
