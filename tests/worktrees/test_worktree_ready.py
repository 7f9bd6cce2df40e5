"""What a worktree needs beside the files that git has: copies, links, a set-up command, once."""

import os
import signal
import stat
import threading
from pathlib import Path

import pytest

from aigon.errors import Exit
from aigon.git.person import Checkout
from tests.lab import Lab, until
from tests.worktrees.worktree_case import CLAUDE, Case, config, other, scrubbed_here


@pytest.fixture
def case(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Case:
    """A repository that ignores a few things."""
    scrubbed_here(lab, monkeypatch)
    lab.write(".gitignore", "*.local\n.env*\n!.env.example\n/data/\nnode_modules/\n")
    lab.write(".env.example", "A=\n")
    lab.write("app/main.txt", "x\n")
    lab.commit("files")
    return Case(lab, lab.root)


def test_ignored_files_are_copied_with_their_modes_and_links_stay_links(case: Case) -> None:
    case.lab.write(".env.test", "A=1\n").chmod(0o600)
    case.lab.write("app/run.local", "#!/bin/sh\n", executable=True)
    case.lab.write("data/deep/one.bin", b"\0\1")
    case.lab.path("data/link").symlink_to("deep/one.bin")
    root = Path(case.provide(settings=config(copy=[".env*", "app/*.local", "data"])).path)
    assert (root / ".env.test").read_text() == "A=1\n"
    assert stat.S_IMODE((root / ".env.test").stat().st_mode) == 0o600
    assert os.access(root / "app/run.local", os.X_OK)
    assert (root / "data/deep/one.bin").read_bytes() == b"\0\1"
    assert (root / "data/link").readlink() == Path("deep/one.bin")
    assert (root / ".env.example").read_text() == "A=\n"
    assert case.said == []
    with Checkout.open(root) as checkout:
        assert checkout.list_changed() == []


def test_a_copy_is_never_put_over_what_is_there(case: Case) -> None:
    case.lab.write(".env.test", "A=1\n")
    made = case.provide()
    (Path(made.path) / ".env.test").write_text("the agent's\n")
    case.provide(made, config(copy=[".env.test"]))
    assert (Path(made.path) / ".env.test").read_text() == "the agent's\n"


def test_what_git_would_commit_is_not_copied(case: Case) -> None:
    case.lab.write("notes.txt", "not ignored\n")
    refused = case.refused(settings=config(copy=["*.txt"]), code=Exit.USAGE)
    assert refused.where == "worktree.copy" and "notes.txt" in refused.what
    assert not (case.root.parent / "repo-worktrees" / CLAUDE.branch / "notes.txt").exists()


@pytest.mark.parametrize("pattern", ["/etc/passwd", "../secret", "a/../../b", "~/.netrc", ".git/config", "."])
@pytest.mark.parametrize("key", ["copy", "link"])
def test_nothing_outside_of_the_main_checkout_is_reached(case: Case, pattern: str, key: str) -> None:
    assert case.refused(settings=config(**{key: [pattern]}), code=Exit.USAGE).where == f"worktree.{key}"


def test_nothing_is_reached_through_a_link_that_leads_outside(case: Case) -> None:
    (case.lab.home / "x.local").write_text("a person's")
    case.lab.path("data").symlink_to(case.lab.home)
    case.provide(settings=config(copy=["data/x.local", "**/x.local"]))
    assert len(case.said) == 2 and "nothing in" in case.said[0]


def test_a_pattern_that_means_nothing_is_said(case: Case) -> None:
    made = case.provide(settings=config(copy=[".env.nothing"], link=["nowhere"]))
    assert [line.partition(":")[0] for line in case.said] == ["worktree.copy", "worktree.link"]
    assert made.ready


def test_a_link_is_ignored_although_the_rule_means_folders_alone(case: Case) -> None:
    case.lab.write("node_modules/left-pad/index.js", "x\n")
    root = Path(case.provide(settings=config(link=["node_modules"])).path)
    assert (root / "node_modules").is_symlink()
    assert (root / "node_modules/left-pad/index.js").read_text() == "x\n"
    assert "all see" in case.said[0]
    with Checkout.open(root) as checkout:
        assert checkout.list_changed() == []
    assert "/node_modules" in case.lab.read(".git/info/exclude").splitlines()
    assert case.lab.git("status", "--porcelain") == ""


def test_what_git_has_is_not_linked(case: Case) -> None:
    assert case.refused(settings=config(link=["app"]), code=Exit.USAGE).where == "worktree.link"
    assert "/app" not in case.lab.read(".git/info/exclude").splitlines()


def test_names_with_line_breaks_and_umlauts_are_copied_and_linked(case: Case) -> None:
    for name in ("o\ndd.local", "ünd.local", "a [b]*.local"):
        case.lab.write(name, name)
    case.lab.write("node_modules/[x]/!y z/f", "x\n")
    root = Path(case.provide(settings=config(copy=["*.local"], link=["node_modules/[x]/!y z"])).path)
    for name in ("o\ndd.local", "ünd.local", "a [b]*.local"):
        assert (root / name).read_text() == name
    assert (root / "node_modules/[x]/!y z/f").exists()
    with Checkout.open(root) as checkout:
        assert checkout.list_changed() == []


def test_what_is_there_is_not_replaced_by_a_link(case: Case) -> None:
    case.lab.write("node_modules/a", "main's\n")
    made = case.provide()
    (Path(made.path) / "node_modules").mkdir()
    case.provide(made, config(link=["node_modules"]))
    assert not (Path(made.path) / "node_modules").is_symlink()
    assert "is there already" in case.said[0]


def test_the_set_up_runs_in_the_worktree_with_its_own_settings_and_no_credentials(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", "secret-value-1")
    monkeypatch.setenv("MINE", "yes")
    script = 'pwd > out.local; echo "$MINE $MY_API_KEY $AIGON_SLOT $AIGON_PORT_BASE" >> out.local'
    root = Path(case.provide(other(CLAUDE, "cx", 2), config(setup=script)).path)
    assert (root / "out.local").read_text() == f"{root}\nyes  2 20040\n"
    assert case.said == [f"Setting up the worktree of cx: {script}"]


def test_a_set_up_may_be_a_list_of_words(case: Case) -> None:
    root = Path(case.provide(settings=config(setup=["touch", "a b.local"])).path)
    assert (root / "a b.local").exists()


def test_the_set_up_runs_once_and_again_when_it_says_something_else(case: Case) -> None:
    settings = config(setup="echo x >> count.local")
    made = case.provide(settings=settings)
    made = case.provide(made, settings)
    assert (Path(made.path) / "count.local").read_text() == "x\n"
    again = case.provide(made, config(setup="echo y >> count.local"))
    assert (Path(made.path) / "count.local").read_text() == "x\ny\n"
    assert again.ready != made.ready


def test_a_set_up_that_fails_is_shown_and_runs_again(case: Case) -> None:
    settings = config(setup="echo it broke; test -f fixed.local")
    refused = case.refused(settings=settings)
    assert "it exited with 1" in refused.what and "it broke" in refused.hint
    assert Path(refused.where).read_text() == "it broke\n"
    root = case.root.parent / "repo-worktrees" / CLAUDE.branch
    (root / "fixed.local").touch()
    assert case.provide(settings=settings).ready


def test_a_set_up_that_failed_in_a_worktree_made_anew_is_not_taken_for_done(case: Case) -> None:
    case.lab.write("node_modules/may", "")
    settings = config(setup=f"test -f {case.root}/node_modules/may && touch done.local")
    made = case.provide(settings=settings)
    case.lab.git("worktree", "remove", "--force", made.path)
    case.lab.path("node_modules/may").unlink()
    case.refused(made, settings)
    case.lab.write("node_modules/may", "")
    assert case.provide(made, settings) == made
    assert (Path(made.path) / "done.local").exists()


def test_a_set_up_has_its_time(case: Case) -> None:
    assert "worktree.setupTimeout" in case.refused(settings=config(setup="exec sleep 600", setupTimeout=0.5)).what


def test_a_set_up_that_cannot_be_started_says_so(case: Case) -> None:
    refused = case.refused(settings=config(setup=["no-such-program"]))
    assert "could not be started" in refused.what


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, Exit.INTERRUPTED), (signal.SIGTERM, Exit.TERMINATED), (signal.SIGHUP, Exit.TERMINATED)],
)
def test_a_signal_ends_a_set_up_with_all_that_it_started(case: Case, number: signal.Signals, code: Exit) -> None:
    started = case.root.parent / "repo-worktrees" / CLAUDE.branch / "started.local"

    def interrupt() -> None:
        until(started.exists)
        os.kill(os.getpid(), number)

    person = threading.Thread(target=interrupt)
    before = signal.getsignal(number)
    person.start()
    try:
        refused = case.refused(settings=config(setup="touch started.local; sleep 600"), code=code)
    finally:
        person.join()
        signal.signal(number, before)
    assert "interrupted" in refused.what


def test_a_project_that_ignores_aigons_folder_has_its_configuration_in_worktrees(case: Case) -> None:
    case.lab.write(".gitignore", ".aigon/\n")
    case.lab.git("rm", "-q", "--cached", ".aigon/config.json")
    case.lab.commit("ignore")
    case.lab.write(".aigon/validation.sh", "true\n", executable=True)
    case.lab.write(".aigon/runs/1/prompt.md", "old\n")
    made = case.provide()
    root = Path(made.path)
    assert (root / ".aigon/config.json").read_text() == "{}\n"
    assert os.access(root / ".aigon/validation.sh", os.X_OK)
    assert not (root / ".aigon/runs/1").exists()
    (root / ".aigon/validation.sh").write_text("exit 0 # the agent's\n")
    case.lab.write(".aigon/config.json", '{"profile": "generic"}\n')
    case.provide(made)
    assert "generic" in (root / ".aigon/config.json").read_text()
    assert (root / ".aigon/validation.sh").read_text() == "true\n"
    with Checkout.open(root) as checkout:
        aside = [file.read_text() for file in (checkout.git_dir / "aigon/displaced").iterdir()]
    assert "exit 0 # the agent's\n" in aside
