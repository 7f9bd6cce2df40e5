"""`feature-done` that is killed between two steps: run again it goes on, or says plainly how things stand."""

import signal

import pytest

from tests.lab import BRANCH, DONE_WHEN, Lab, finish, reuse, until
from tests.loop.processes import left_behind
from tests.loop.test_done import DONE, meanwhile

KILL = "kill -9 $(cut -d' ' -f4 /proc/$PPID/stat)"
"""In a hook: its parent is git, and git's is aigon."""


def make_proven(lab: Lab) -> None:
    """A feature that is proven, and a target that has moved on; a look lasts as long as `hold` is in the home."""
    lab.config(proof="in-place")
    command = f'{DONE_WHEN} && touch "$HOME/looked" && while test -e "$HOME/hold"; do sleep 0.05; done'
    lab.spec(f"it works <!-- verify: {command} -->")
    lab.commit("spec")
    lab.agent("touch done.txt")
    ran = lab.aigon("feature-implement", "42", "--loop")
    assert ran.code == 0, ran.out + ran.err
    (lab.home / "looked").unlink()
    meanwhile(lab, "theirs.txt")


@pytest.fixture
def proven() -> Lab:
    """A feature that is proven, and a target that has moved on."""
    return reuse(make_proven)


def killed_while_it_looks(lab: Lab, *options: str) -> None:
    """Start it, and kill it while it proves the result."""
    (lab.home / "hold").touch()
    process = lab.start("feature-done", "42", *options)
    until((lab.home / "looked").exists)
    process.send_signal(signal.SIGKILL)
    finish(process)
    (lab.home / "hold").unlink()


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--squash",), ("--rebase",)])
def test_killed_while_it_looks_it_goes_on_when_it_is_run_again(proven: Lab, options: tuple[str, ...]) -> None:
    tip, main = proven.git("rev-parse", BRANCH), proven.git("rev-parse", "main")
    killed_while_it_looks(proven, *options)
    assert (proven.git("rev-parse", BRANCH), proven.git("rev-parse", "main")) == (tip, main)
    ran = proven.aigon("feature-done", "42", *options)
    assert ran.code == 0, ran.err
    assert proven.path(DONE).exists() and proven.path("theirs.txt").exists()
    proven.sound()


def test_killed_while_it_looks_it_leaves_no_folder_behind_once_it_is_run_again(proven: Lab) -> None:
    temporary = proven.home / "temporary"
    temporary.mkdir()
    proven.env["TMPDIR"] = str(temporary)
    killed_while_it_looks(proven)
    assert proven.aigon("feature-done", "42").code == 0
    assert list(temporary.glob("aigon-done-*")) == []
    assert not list((proven.home / "state").glob("repos/*/done-proof"))


@pytest.mark.slow
def test_what_a_person_changed_after_it_was_killed_is_not_lost(proven: Lab) -> None:
    killed_while_it_looks(proven)
    proven.write("README.md", "mine\n")
    ran = proven.aigon("feature-done", "42")
    assert ran.code == 7 and "was interrupted" in ran.err and "README.md" in ran.err
    assert proven.read("README.md") == "mine\n"
    proven.git("stash", "-q")
    assert proven.aigon("feature-done", "42").code == 0


def test_killed_in_the_middle_of_the_merge_it_goes_on(proven: Lab) -> None:
    hook = proven.write(".git/hooks/pre-merge-commit", f"#!/bin/sh\n{KILL}\nexit 1\n", executable=True)
    assert proven.aigon("feature-done", "42").code == -signal.SIGKILL
    until(lambda: not left_behind(proven))  # its git has nobody to write to any more: it may or may not note the merge
    assert proven.git("status", "--porcelain"), "what is merged is staged"
    hook.unlink()
    ran = proven.aigon("feature-done", "42")
    assert ran.code == 0, ran.err
    proven.sound()


def test_killed_after_the_merge_it_says_that_it_is_merged(proven: Lab) -> None:
    hook = proven.write(".git/hooks/post-merge", f"#!/bin/sh\n{KILL}\n", executable=True)
    before = proven.git("rev-parse", "main")
    assert proven.aigon("feature-done", "42").code == -signal.SIGKILL
    until(lambda: proven.git("rev-parse", "main") != before)
    hook.unlink()
    ran = proven.aigon("feature-done", "42", "--json")
    assert ran.code == 0 and "merged before" in ran.json["proof"], ran.err
    assert ran.json["commit"] == proven.git("rev-parse", "main")
    again = proven.aigon("feature-done", "42")
    assert again.code == 2 and "done already" in again.err
    proven.sound()


@pytest.mark.slow
def test_killed_before_a_rebase_the_branch_is_found_again(proven: Lab) -> None:
    hook = proven.write(".git/hooks/pre-rebase", f"#!/bin/sh\n{KILL}\nexit 1\n", executable=True)
    assert proven.aigon("feature-done", "42", "--rebase").code == -signal.SIGKILL
    assert proven.git("branch", "--show-current") == ""
    hook.unlink()
    ran = proven.aigon("feature-done", "42", "--rebase")
    assert ran.code == 0, ran.err
    proven.sound()


def test_stopped_by_a_person_while_it_looks_it_leaves_everything_as_it_was(proven: Lab) -> None:
    before = proven.fingerprint()
    (proven.home / "hold").touch()
    process = proven.start("feature-done", "42")
    until((proven.home / "looked").exists)
    process.send_signal(signal.SIGINT)
    ran = finish(process)
    (proven.home / "hold").unlink()
    assert ran.code == 130 and "nothing was merged" in ran.err
    assert proven.fingerprint() == before
