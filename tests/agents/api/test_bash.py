"""The tool that runs commands: its state, its limits, and what it is kept from."""

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from aigon.isolation.landlock import can_confine
from tests.lab import alive, until

if TYPE_CHECKING:
    from aigon.agents.api_agent.workspace_tools import Shell

landlock = pytest.mark.skipif(not can_confine(), reason="this kernel has no Landlock")


@pytest.fixture
def shell(tmp_path: Path) -> "Shell":
    """A shell whose commands are confined where the kernel can."""
    from aigon.agents.api_agent.settings import Settings
    from aigon.agents.api_agent.workspace_tools import Shell, list_writable

    workspace, scratch = tmp_path / "work", tmp_path / "scratch"
    for made in (workspace, scratch, scratch / "tmp"):
        made.mkdir()
    places = list_writable(Settings(workspace, workspace), scratch) if can_confine() else None
    return Shell(workspace, scratch, places, timeout=20.0)


def ran(shell: "Shell", command: str) -> str:
    """What a command said."""
    return shell({"command": command}).text.strip()


def test_folder_and_exported_variables_carry_over_until_a_restart(shell: "Shell") -> None:
    ran(shell, "mkdir sub; cd sub; export COLOUR='deep blue'; plain=1")
    assert ran(shell, 'pwd; echo "$COLOUR" $plain') == f"{shell.workspace}/sub\ndeep blue"
    assert "restart" not in ran(shell, "rmdir ../sub; exit 4") and ran(shell, "pwd") == str(shell.workspace)
    shell({"restart": True})
    assert ran(shell, "echo $COLOUR; pwd") == str(shell.workspace)


def test_an_exit_code_and_both_outputs_in_their_order_are_told_and_there_is_no_input(shell: "Shell") -> None:
    output = shell({"command": "echo a; echo b >&2; cat; echo c; exit 7"})
    assert output.text.split() == ["a", "b", "c", "[exit", "7]"] and output.code == 7
    assert "syntax error" in ran(shell, "if") and ran(shell, "cat <<'X'\n'quoted' $HOME\nX") == "'quoted' $HOME"


def test_a_command_that_takes_too_long_is_ended_with_all_it_started(shell: "Shell") -> None:
    mark = f"sleep 60.{os.getpid()}"
    quick = type(shell)(shell.workspace, shell.scratch, shell.writable, timeout=0.7)
    said = quick({"command": f"trap '' TERM INT; setsid -f {mark}; ({mark} &); {mark}; {mark}"})
    assert "ended after 0.7 s" in said.text
    until(lambda: not alive(mark))


def test_what_a_command_leaves_in_the_background_does_not_outlive_it(shell: "Shell") -> None:
    mark = f"sleep 61.{os.getpid()}"
    ran(shell, f"setsid -f {mark}; nohup {mark} >/dev/null 2>&1 &")
    assert not alive(mark)


def test_commands_get_no_credentials_and_a_temporary_folder_of_their_own(
    shell: "Shell", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key-of-nobody")
    monkeypatch.setenv("AIGON_RUN", "run-1")
    said = ran(shell, "env; python3 -c 'import tempfile; print(tempfile.gettempdir())'")
    assert "test-key-of-nobody" not in said and "AIGON_RUN=run-1" in said and f"{shell.scratch}/tmp" in said


@landlock
def test_a_command_writes_nowhere_but_where_it_may(shell: "Shell", tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "old").write_text("old")
    (shell.workspace / "link").symlink_to(outside)
    attempts = ("echo x > {0}/new", "echo x >> {0}/old", "rm {0}/old", "mkdir {0}/sub", "mv {0}/old inside",
                "truncate -s0 {0}/old", "ln -s a {0}/l", "ln {0}/old hard", "cp /dev/null link/new",
                "echo x > ../outside/new", "setsid -w sh -c 'echo x > {0}/new'")  # fmt: skip
    for attempt in attempts:
        assert shell({"command": attempt.format(outside)}).code != 0, attempt
    assert [path.name for path in outside.iterdir()] == ["old"] and (outside / "old").read_text() == "old"
    assert (
        ran(shell, f"cat {outside}/old; echo fine > in.txt; echo t > $TMPDIR/t; cat in.txt $TMPDIR/t; echo >/dev/null")
        == "oldfine\nt"
    )


@landlock
def test_git_works_in_a_linked_worktree_whose_git_directory_lies_elsewhere(tmp_path: Path) -> None:
    from aigon.agents.api_agent.settings import Settings
    from aigon.agents.api_agent.workspace_tools import Shell, list_git_directories, list_writable

    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.invalid"]
    subprocess.run([*git, "init", "-q", str(tmp_path / "main")], check=True, env=env)
    subprocess.run(
        [*git, "-C", str(tmp_path / "main"), "commit", "-q", "--allow-empty", "-m", "one"], check=True, env=env
    )
    tree = tmp_path / "tree"
    subprocess.run([*git, "-C", str(tmp_path / "main"), "worktree", "add", "-q", str(tree)], check=True, env=env)
    scratch = tmp_path / "scratch"
    (scratch / "tmp").mkdir(parents=True)
    places = list_writable(Settings(tree, tmp_path / "main"), scratch)
    assert tmp_path / "main" not in places and len([*list_git_directories(tree)]) == 2
    said = Shell(tree, scratch, places)(
        {"command": "echo x > f; git add f; " + " ".join(git) + " commit -qm two; echo x > ../main/f"}
    )
    assert said.code == 1 and "../main/f" in said.text
    log = subprocess.run(
        ["git", "-C", str(tree), "log", "--format=%s"], check=True, env=env, capture_output=True, text=True
    )
    assert log.stdout.split() == ["two", "one"]


def test_a_command_that_is_none_is_an_error(shell: "Shell") -> None:
    from aigon.agents.api_agent.settings import ToolFailure

    for given in ({}, {"command": 5}, {"command": "a\0b"}):
        with pytest.raises(ToolFailure):
            shell(given)
