"""States of the repository and the machine that aigon refuses by name: before any write, everything as it was."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.lab import BRANCH, DONE_WHEN, SPEC, Lab, finish, until
from tests.loop.untouched import explained, is_still, print_of, refused
from tests.stand_ins import without_agents

IN_PLACE = True
LOOP = ("feature-implement", "42", "--loop")


def hold_index(lab: Lab) -> Path:
    """Take git's lock on the index, as another git command would."""
    lock = lab.path(".git/index.lock")
    lock.write_bytes(b"")
    return lock


# --- uncommitted work


@pytest.mark.parametrize("path", ["README.md", "notes.txt", "a dir/ä\n.txt"], ids=["changed", "untracked", "odd name"])
def test_uncommitted_work_is_refused_with_the_two_commands_that_help(ready: Lab, path: str) -> None:
    ready.write(path, "half an idea\n")
    refused(ready, *LOOP, code=7, what="uncommitted changes", where=path[:3], do="git stash --include-untracked")
    refused(ready, *LOOP, code=7, what="uncommitted changes", where=path[:3], do='git commit -m "work in progress"')


def test_staged_work_is_refused_and_stays_staged(ready: Lab) -> None:
    ready.write("README.md", "half an idea\n")
    ready.git("add", "README.md")
    refused(ready, *LOOP, code=7, what="uncommitted changes", where="README.md", do="git stash")
    assert ready.git("status", "--porcelain") == "M  README.md"


def test_the_spec_and_aigons_own_files_are_taken_up_instead(ready: Lab) -> None:
    ready.write(SPEC, ready.path(SPEC).read_bytes() + b"\nMore prose.\n")
    ready.write(".gitignore", "# aigon's runtime files\n.aigon/runs/\n")
    ready.write(".aigon/profiles/README", "ours\n")
    ran = ready.aigon(*LOOP)
    assert ran.code == 0, ran.err
    assert ready.subjects()[2].startswith("docs(feature-42): update the spec")
    assert ready.git("diff", "--name-only", f"{BRANCH}~2", f"{BRANCH}~1").splitlines() == [
        ".aigon/profiles/README",
        ".gitignore",
        SPEC,
    ]
    ready.sound()


def test_a_line_of_a_persons_own_in_gitignore_is_not_taken_up(ready: Lab) -> None:
    ready.write(".gitignore", ".aigon/runs/\nbuild/\n")
    refused(ready, *LOOP, code=7, what="uncommitted changes", where=".gitignore", do="git stash")


@pytest.mark.parametrize("instead", ["nothing", "folder", "link"])
def test_a_gitignore_that_is_no_file_any_more_is_refused_as_a_change(ready: Lab, instead: str) -> None:
    ready.write(".gitignore", "build/\n")
    ready.commit("ignore")
    ready.path(".gitignore").unlink()
    if instead == "folder":
        ready.write(".gitignore/file", "x\n")
    elif instead == "link":
        ready.path(".gitignore").symlink_to("nowhere")
    refused(ready, *LOOP, code=7, what="uncommitted changes", where=".gitignore", do="git stash")


# --- where HEAD is


def test_a_detached_head_is_refused(ready: Lab) -> None:
    ready.git("switch", "-q", "--detach")
    refused(ready, *LOOP, code=7, what="HEAD is detached", where="repo", do="git switch main")


def test_a_repository_without_commits_is_refused(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.git("init", "-q")
    lab.git("config", "user.name", "Ada")
    lab.git("config", "user.email", "ada@example.invalid")
    lab.spec("it is done <!-- verify: true -->")
    lab.agent("true")
    refused(lab, *LOOP, code=7, what="no commits yet", where="repo", do="git commit -m")


def test_a_bare_repository_is_refused(ready: Lab) -> None:
    bare = ready.home / "bare.git"
    ready.git("clone", "-q", "--bare", str(ready.root), str(bare))
    before = sorted((path, path.stat().st_mtime_ns) for path in bare.rglob("*"))
    refused(ready, *LOOP, code=7, what="bare", where="bare.git", do="Clone it", cwd=bare)
    assert sorted((path, path.stat().st_mtime_ns) for path in bare.rglob("*")) == before


def test_a_folder_that_is_no_repository_is_refused(ready: Lab) -> None:
    nowhere = ready.home / "nowhere"
    nowhere.mkdir()
    refused(ready, *LOOP, code=7, what="not a git repository", where="nowhere", do="git init", cwd=nowhere)
    assert list(nowhere.iterdir()) == []


def test_a_branch_that_is_checked_out_elsewhere_is_refused(ready: Lab) -> None:
    other = ready.home / "other"
    ready.git("worktree", "add", "-q", "-b", BRANCH, str(other))
    refused(ready, *LOOP, code=7, what="checked out elsewhere", where=str(other), do=f"cd {other}")


def test_a_branch_that_cannot_be_made_is_refused_with_gits_own_words(ready: Lab) -> None:
    ready.git("branch", f"{BRANCH}/part")
    refused(ready, *LOOP, code=7, what=f"switch to {BRANCH}", where=BRANCH, do=f"'refs/heads/{BRANCH}/part' exists")


# --- something under way


def conflict(lab: Lab) -> None:
    """Two branches, main and other, that do not merge; other is checked out."""
    lab.git("branch", "other")
    for branch in ("main", "other"):
        lab.git("switch", "-q", branch)
        lab.write("README.md", f"{branch}\n")
        lab.git("commit", "-q", "-am", branch)


@pytest.mark.parametrize("doing", ["merge", "rebase", "cherry-pick", "revert"])
def test_an_operation_under_way_is_refused_by_its_name(ready: Lab, doing: str) -> None:
    conflict(ready)
    target = {"merge": "main", "rebase": "main", "cherry-pick": "main", "revert": "HEAD~1"}[doing]
    if doing == "revert":
        ready.write("README.md", "again\n")
        ready.git("commit", "-q", "-am", "again")
    ready.git(doing, target, code=1)
    refused(ready, *LOOP, code=7, what=f"A {doing} is under way", where="repo", do=f"git {doing} --abort")


def test_a_bisect_under_way_is_refused_by_its_name(ready: Lab) -> None:
    ready.git("bisect", "start")
    refused(ready, *LOOP, code=7, what="A bisect is under way", where="repo", do="git bisect reset")


# --- who, and whose


def test_an_unknown_person_is_refused_before_the_branch_is_made(ready: Lab) -> None:
    ready.git("config", "--unset", "user.name")
    ready.git("config", "--unset", "user.email")
    ready.git("config", "user.useConfigOnly", "true")
    refused(ready, *LOOP, code=7, what="who you are", where="repo", do="git config user.name")
    refused(ready, "feature-setup", "42", code=7, what="who you are", where="repo", do="git config user.name")
    refused(ready, "feature-create", "x y", code=7, what="who you are", where="repo", do="git config user.name")


def test_a_repository_that_git_does_not_trust_is_refused_in_gits_words(ready: Lab) -> None:
    env = {"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"}
    refused(ready, *LOOP, code=7, what="git refuses to read this", where="repo", do="safe.directory", env=env)


def test_a_git_configuration_that_cannot_be_read_is_refused_in_gits_words(ready: Lab) -> None:
    config = ready.path(".git/config")
    good = config.read_bytes()
    config.write_bytes(good + b"[core\n")
    error = explained(ready.aigon(*LOOP, "--json"), 7)
    assert "bad config" in error["do"], error
    assert config.read_bytes() == good + b"[core\n"


def test_a_machine_without_git_is_told_to_install_it(ready: Lab) -> None:
    bin = ready.home / "bin"
    bin.mkdir()
    for name in ("bash", "sh", "test"):
        (bin / name).symlink_to(str(shutil.which(name)))
    error = explained(ready.aigon(*LOOP, "--json", env={"PATH": str(bin)}), 7)
    assert "git is not installed" in error["what"]
    assert "2.36" in error["do"]


# --- what a checkpoint could not hold faithfully


def test_a_partial_clone_is_refused(ready: Lab) -> None:
    ready.git("config", "remote.origin.promisor", "true")
    refused(ready, *LOOP, code=7, what="partial clone", where="repo", do="full clone")


@pytest.mark.parametrize("name", ["crypt", "gitCrypt", "a.b"])
def test_a_filter_of_the_persons_own_is_refused_by_its_name(ready: Lab, name: str) -> None:
    ready.git("config", f"filter.{name}.clean", "tr a-z n-za-m")
    ready.git("config", f"filter.{name}.smudge", "tr a-z n-za-m")
    ready.write("secrets/.gitattributes", f"*.txt filter={name} -text\n")
    ready.commit("filtered")
    refused(ready, *LOOP, code=7, what=f"filter '{name}'", where=".gitattributes", do=f"filter={name}")


def test_a_filter_of_the_persons_own_in_info_attributes_is_refused_too(ready: Lab) -> None:
    ready.git("config", "filter.crypt.clean", "tr a-z n-za-m")
    ready.write(".git/info/attributes", "*.txt filter=crypt\n")
    refused(ready, *LOOP, code=7, what="filter 'crypt'", where=".gitattributes", do="filter=crypt")


def test_an_attribute_whose_filter_nobody_defined_does_nothing(ready: Lab) -> None:
    ready.write(".gitattributes", "*.txt filter=unheard-of\n")
    ready.commit("attributes")
    assert ready.aigon(*LOOP).code == 0


def without(program: str, lab: Lab) -> dict[str, str]:
    """An environment in which `program` is not to be found."""
    bin = lab.home / "bin"
    bin.mkdir()
    for folder in reversed(lab.env["PATH"].split(os.pathsep)):
        for file in Path(folder).iterdir() if Path(folder).is_dir() else ():
            if file.name != program:
                (bin / file.name).unlink(missing_ok=True)
                (bin / file.name).symlink_to(file)
    return {"PATH": str(bin)}


def test_lfs_without_git_lfs_is_refused_by_name(ready: Lab) -> None:
    ready.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
    ready.commit("lfs")
    env = without("git-lfs", ready)
    refused(
        ready, *LOOP, code=7, what="git-lfs is not installed", where=".gitattributes", do="git lfs install", env=env
    )


# --- what is missing


def test_an_agent_that_is_not_executable_is_exit_6_with_the_command_that_helps(ready: Lab) -> None:
    (ready.home / "mine-agent").chmod(0o644)
    refused(ready, *LOOP, code=6, what="mine cannot start", where="command", do="chmod +x")


@pytest.mark.parametrize("command", ["./no-such-agent.sh", "no-such-agent"])
def test_an_agent_that_is_missing_is_exit_6(ready: Lab, command: str) -> None:
    ready.config(agents={"mine": {"adapter": "command", "command": [command]}})
    ready.commit("agent")
    refused(ready, *LOOP, code=6, what="mine cannot start", where="command", do=command)


def test_no_agent_at_all_is_exit_6(lab: Lab) -> None:
    lab.spec("it is done <!-- verify: true -->")
    lab.commit("spec")
    env = {"PATH": without_agents(lab.env["PATH"])}
    refused(lab, *LOOP, code=6, what="no agent to work with", where="--agent", do="aigon doctor", env=env)


def test_a_judge_without_a_key_is_exit_6_before_the_first_turn(lab: Lab) -> None:
    lab.spec("it is beautiful")
    lab.agent("true")
    lab.commit("ready")
    refused(
        lab, *LOOP, "--judge", "anthropic", code=6, what="anthropic cannot be asked", where="judge", do="ANTHROPIC_API"
    )


def test_a_tool_that_is_missing_is_named_with_how_to_get_it(ready: Lab) -> None:
    ready.write("package.json", '{"scripts": {"test": "vitest run"}, "devDependencies": {"vitest": "3"}}')
    ready.config(profile="library")
    ready.commit("node")
    env = without("npm", ready)
    error = explained(ready.aigon(*LOOP, "--json", env=env), 7)
    assert "Not installed: " in error["what"]
    assert error["where"] and '"enabled": false' in error["do"]
    refused(ready, *LOOP, code=7, what="Not installed: ", where=error["where"], do=error["do"], env=env)


# --- locks


def test_a_second_loop_on_the_feature_names_the_holders_pid(ready: Lab) -> None:
    ready.agent(f"touch {ready.home}/began; while test ! -e {ready.home}/go; do sleep 0.05; done; touch done.txt")
    ready.commit("slow agent")
    first = ready.start(*LOOP)
    until(lambda: (ready.home / "began").exists() and is_still(ready))
    refused(ready, *LOOP, code=7, what="in use by another aigon", where=f"pid {first.pid} on ", do="Ctrl+C")
    other = ready.home / "other"
    ready.git("worktree", "add", "-q", "--detach", str(other), "main")
    ready.git("-C", str(other), "switch", "-q", "-c", "elsewhere")
    error = explained(ready.aigon(*LOOP, "--json", cwd=other), 7)
    assert f"pid {first.pid}" in error["where"] or "elsewhere" in error["what"], error
    (ready.home / "go").touch()
    assert finish(first).code == 0
    ready.git("worktree", "remove", str(other))
    ready.sound()


@pytest.fixture
def held(ready: Lab) -> Iterator[tuple[Lab, int]]:
    """A laboratory in whose checkout a loop on feature 42 waits in its turn, and the number of that process."""
    ready.spec(f"it is done <!-- verify: {DONE_WHEN} -->", name=SPEC.replace("42-dark-mode", "43-other"))
    ready.agent(f"touch {ready.home}/began; while test ! -e {ready.home}/go; do sleep 0.05; done; touch done.txt")
    ready.commit("slow agent")
    first = ready.start(*LOOP)
    until(lambda: (ready.home / "began").exists())
    yield ready, first.pid
    (ready.home / "go").touch()
    assert finish(first).code == 0


def test_a_resume_in_another_checkout_names_the_holders_pid(held: tuple[Lab, int]) -> None:
    lab, pid = held
    lab.git("worktree", "add", "-q", "-b", "elsewhere", str(lab.home / "other"), "main")
    error = explained(lab.aigon("feature-implement", "42", "--resume", "--json", cwd=lab.home / "other"), 7)
    assert error["what"].startswith("Feature 42 is in use") and f"pid {pid} on " in error["where"]


def test_a_loop_on_another_feature_of_the_checkout_names_the_holders_pid(held: tuple[Lab, int]) -> None:
    lab, pid = held
    error = explained(lab.aigon("feature-implement", "43", "--loop", "--json"), 7)
    assert error["what"].startswith("This checkout is in use") and f"pid {pid} on " in error["where"]


def test_a_lock_that_a_killed_loop_held_is_free_again(ready: Lab) -> None:
    ready.agent("touch done.txt; kill -9 $PPID; sleep 5")
    ready.commit("killer")
    assert finish(ready.start(*LOOP)).code == -9
    ready.agent("touch done.txt")
    ran = ready.aigon("feature-implement", "42", "--resume")
    assert ran.code == 0, ran.err
    ready.sound()


LOCKED_MEANWHILE = 'touch done.txt "$HOME/begun"; until [ -e .git/index.lock ]; do sleep 0.02; done'


def test_an_index_that_another_git_holds_is_waited_for(ready: Lab) -> None:
    ready.agent(LOCKED_MEANWHILE)
    ready.commit("agent")
    loop = ready.start(*LOOP)
    lock = ready.path(".git/index.lock")
    until((ready.home / "begun").exists)
    with lock.open("x"):
        time.sleep(2.0)  # longer than the turn and its assessment take
        assert loop.poll() is None
    lock.unlink()
    ran = finish(loop)
    assert ran.code == 0, ran.err
    assert ready.boxes() == "x"
    ready.sound()


@pytest.mark.slow
def test_an_index_held_for_long_is_refused_by_name_and_the_lock_stays(ready: Lab) -> None:
    ready.agent(LOCKED_MEANWHILE)
    ready.commit("agent")
    loop = ready.start(*LOOP)
    lock = ready.path(".git/index.lock")
    until((ready.home / "begun").exists)
    with lock.open("x"):
        ran = finish(loop)
    assert ran.code == 7, ran.out
    assert "holds the index" in ran.err and "index.lock" in ran.err and "--resume" in ran.err
    assert lock.read_bytes() == b""
    assert ready.subjects() == ["first", "ready", "agent"]
    lock.unlink()
    ran = ready.aigon("feature-implement", "42", "--resume")
    assert ran.code == 0, ran.err
    assert ready.boxes() == "x"
    ready.sound()


def test_an_index_held_at_the_start_is_waited_for_before_the_branch_moves(ready: Lab) -> None:
    ready.git("switch", "-q", "-c", BRANCH)
    ready.write(SPEC, ready.path(SPEC).read_bytes() + b"\nMore.\n")
    head = ready.git("rev-parse", "HEAD")
    lock = hold_index(ready)
    loop = ready.start(*LOOP)
    with pytest.raises(subprocess.TimeoutExpired):
        loop.wait(2)
    assert ready.git("rev-parse", "HEAD") == head
    assert lock.read_bytes() == b""
    lock.unlink()
    assert finish(loop).code == 0
    ready.sound()


# --- aigon's own folder


def test_a_state_home_that_cannot_be_made_is_refused(ready: Lab) -> None:
    blocked = ready.home / "blocked"
    blocked.write_text("a file")
    env = {"AIGON_STATE_HOME": str(blocked / "state")}
    refused(
        ready, *LOOP, code=7, what="state folder cannot be written", where=str(blocked), do="AIGON_STATE_HOME", env=env
    )


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Take the right to write from the folders below and including `folder` while the context lasts."""
    if os.geteuid() == 0 and not shutil.which("setpriv"):
        pytest.skip("root may write everywhere, and there is no setpriv")
    folders = [folder, *(path for path in folder.rglob("*") if path.is_dir())]
    for each in folders:
        each.chmod(0o555)
    try:
        yield
    finally:
        for each in folders:
            each.chmod(0o755)


def test_a_state_home_that_became_read_only_is_refused(ready: Lab) -> None:
    assert ready.aigon("feature-create", "some thing").code == 0
    with read_only(ready.home / "state"):
        error = explained(ready.aigon_without_override(*LOOP, "--json"), 7)
    assert error["what"] == "The state folder cannot be written: Permission denied"
    assert error["where"].startswith(str(ready.home / "state"))
    assert "AIGON_STATE_HOME" in error["do"]


@pytest.mark.parametrize(
    "known", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["a new repository", "a known repository"]
)
def test_a_git_directory_that_cannot_be_written_is_named_as_the_cause(ready: Lab, known: bool) -> None:
    if known:
        assert ready.aigon("feature-create", "some thing").code == 0
    before = print_of(ready)
    with read_only(ready.path(".git")):
        for verb in (("feature-create", "another"), ("feature-setup", "42"), LOOP):
            error = explained(ready.aigon_without_override(*verb, "--json"), 7)
            assert error["what"].endswith("Permission denied"), error
            assert "git" in error["what"] and "state" not in error["what"]
            assert error["where"] == str(ready.path(".git"))
            assert f"`ls -ld {ready.path('.git')}`" in error["do"]
    assert print_of(ready) == before


# --- who may decide


@pytest.mark.parametrize(
    "arguments",
    [
        ("approve", "42", "1", "--yes"),
        ("reject", "42", "1", "--why", "no", "--yes"),
        ("feature-implement", "42", "--resume", "--accept-spec", "--yes"),
    ],
    ids=["approve", "reject", "accept-spec"],
)
def test_deciding_is_refused_inside_a_run_whatever_is_said(ready: Lab, arguments: tuple[str, ...]) -> None:
    before = print_of(ready)
    error = explained(ready.aigon(*arguments, "--json", env={"AIGON_RUN": "20261120-101523-abcdef"}), 4)
    assert "inside a run" in error["what"]
    assert "your own shell" in error["do"]
    assert print_of(ready) == before


@pytest.mark.parametrize(
    "how",
    [
        pytest.param("env -u AIGON_RUN", marks=pytest.mark.slow),
        pytest.param("env -i", marks=pytest.mark.slow),
        "setsid -f env -i",
    ],
)
def test_an_agent_that_finds_the_deciding_command_is_refused(lab: Lab, how: str) -> None:
    """Nor with an empty environment in a session of its own, whose leader has lost its parent."""
    lab.spec("a person likes it <!-- human -->", f"it is done <!-- verify: {DONE_WHEN} -->")
    needed = " ".join(f'{name}="${name}"' for name in ("HOME", "PATH", "AIGON_STATE_HOME", "PYTHONPATH"))
    lab.write(
        ".git/try.sh",
        f"{sys.executable} -m aigon approve 42 1 --yes > said.tmp 2>&1; echo $? >> said.tmp; mv said.tmp said.txt\n",
    )
    lab.agent(f"{how} {needed} sh .git/try.sh; until [ -f said.txt ]; do sleep 0.05; done; touch done.txt")
    ran = lab.aigon(*LOOP)
    assert ran.code == 4, ran.out + ran.err
    assert lab.read("said.txt").splitlines()[-1] == "4"
    assert "inside a run of the loop" in lab.read("said.txt")
    assert lab.boxes() == " x"


# --- variables that a hook hands down


def test_variables_of_a_hook_do_not_send_aigon_to_another_repository(ready: Lab, tmp_path: Path) -> None:
    other = Lab(tmp_path / "other").init()
    before = print_of(other)
    env = {
        "GIT_DIR": str(other.path(".git")),
        "GIT_WORK_TREE": str(other.root),
        "GIT_INDEX_FILE": str(other.path(".git/index")),
        "GIT_OBJECT_DIRECTORY": str(other.path(".git/objects")),
        "GIT_PREFIX": "x/",
    }
    ran = ready.aigon(*LOOP, env=env)
    assert ran.code == 0, ran.err
    assert print_of(other) == before
    assert ready.boxes() == "x"
    ready.sound()
    other.sound()


def test_aigon_works_from_a_hook_of_the_repository(ready: Lab) -> None:
    log = ready.home / "hook.log"
    command = " ".join(ready.command("feature-validate", "42"))
    ready.write(".git/hooks/pre-commit", f"#!/bin/sh\n{command} > {log} 2>&1\necho $? >> {log}\n", executable=True)
    ready.write("done.txt", "")
    ready.git("add", "-A")
    ready.git("commit", "-q", "-m", "done")
    assert log.read_text().splitlines()[-1] == "0", log.read_text()
    assert ready.git("show", "--stat", "--format=", "HEAD").splitlines()[0].startswith(" done.txt")
    ready.sound()
