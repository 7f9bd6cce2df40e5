"""Tab completion: by the protocol that the scripts speak, and in the shells themselves."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from aigon.cli import COMPLETE_VARIABLE, PROGRAM, VERBS
from aigon.commands.config import SHELLS
from aigon.commands.root import root
from tests.lab import scrubbed

SPECS = ("01-inbox/feature-dark-mode.md", "03-in-progress/feature-42-multiply.md", "05-done/feature-07-add.md")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a feature in three stages, an agent of its own and two branches."""
    folder = tmp_path / "project"
    for spec in SPECS:
        file = folder / "docs/specs/features" / spec
        file.parent.mkdir(parents=True)
        file.touch()
    (folder / ".aigon/agents").mkdir(parents=True)
    (folder / ".aigon/agents/house.yaml").touch()
    (folder / ".aigon/config.json").write_text('{"agents": {"mine": {}}}')
    for ref in ("heads/main", "aigon/parked/f-1"):
        file = folder / ".git/refs" / ref
        file.parent.mkdir(parents=True)
        file.write_text("0" * 40)
    (folder / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git/packed-refs").write_text(f"# pack-refs with: peeled\n{'0' * 40} refs/heads/old\n")
    return folder


def tell(*words: str, shell: str = "bash") -> dict[str, str]:
    """What the script of `shell` tells aigon when the last of `words` is to be completed."""
    typed = words[-1] if shell == "fish" else str(len(words))
    return {COMPLETE_VARIABLE: f"{shell}_complete", "COMP_WORDS": "\n".join(["aigon", *words]), "COMP_CWORD": typed}


def offer(folder: Path, words: list[str], monkeypatch: pytest.MonkeyPatch, shell: str = "bash") -> str:
    """What aigon answers, in this process."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    for name, value in tell(*words, shell=shell).items():
        monkeypatch.setenv(name, value)
    return SHELLS[shell](root, {}, PROGRAM, COMPLETE_VARIABLE).complete()


def run_quietly(folder: Path, *words: str) -> str:
    """What a process of its own answers, which has to end well and to say nothing else."""
    command = [sys.executable, "-m", "aigon"]
    env = scrubbed(folder) | tell(*words)
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["feature-imp"], ["feature-implement"]),
        (["help", "feature-imp"], ["feature-implement"]),
        (["feature-implement", ""], ["42", "dark-mode"]),
        (["feature-implement", "m"], ["multiply"]),
        (["feature-prioritise", ""], ["dark-mode"]),
        (["reopen", ""], ["07"]),
        (["report", ""], ["07", "42", "dark-mode"]),
        (["feature-implement", "--agent", "co"], ["codex", "copilot"]),
        (["feature-implement", "--agent", "m"], ["mine", "mini"]),
        (["feature-implement", "--agent", "ho"], ["house"]),
        (["feature-implement", "--agent", "="], None),
        (["feature-implement", "--agent", "=", "ho"], ["house"]),
        (["feature-implement", "--agent", "claude", ":", "so"], ["sonnet"]),
        (["feature-implement", "--agent", "claude:so"], ["claude:sonnet"]),
        (["feature-implement", "--agent", "claude", "--model", "op"], ["opus"]),
        (["arena", "42", "--agents", "claude,ho"], ["claude,house"]),
        (["feature-implement", "--profile", "lib"], ["library"]),
        (["feature-implement", "--judge", "a"], ["agent", "anthropic"]),
        (["feature-implement", "--max-i"], ["--max-iterations"]),
        (["feature-done", "--into", ""], ["main", "old"]),
        (["parked", "restore", ""], ["refs/aigon/parked/f-1"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
    ],
)
def test_what_could_come_next_is_offered(
    words: list[str], expected: list[str] | None, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [line.partition(",")[2] for line in offer(project, words, monkeypatch).splitlines()]
    assert found == expected if expected is not None else "claude" in found


def test_a_process_answers_quickly_and_quietly(project: Path) -> None:
    assert run_quietly(project, "report", "4") == "plain,42\n"
    assert run_quietly(project, "nonsense", "").strip() == ""


def test_outside_a_repository_nothing_is_offered_or_said(tmp_path: Path) -> None:
    assert run_quietly(tmp_path, "feature-implement", "").strip() == ""
    assert run_quietly(tmp_path, "feature-done", "--into", "").strip() == ""


def test_damage_is_passed_over(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / ".aigon/config.json").write_text("{")
    assert "plain,house" in offer(project, ["feature-implement", "--agent", ""], monkeypatch)


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_features_and_commands_are_explained_where_a_shell_shows_that(
    shell: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "multiply (in-progress)" in offer(project, ["report", "4"], monkeypatch, shell)
    assert VERBS["board"][1] in offer(project, ["boa"], monkeypatch, shell)


def start(shell: str, script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script of a shell in which `aigon` is a command."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    programs = folder.parent / "bin"
    programs.mkdir()
    (programs / "aigon").write_text(f'#!/bin/sh\nexec {sys.executable} -m aigon "$@"\n')
    (programs / "aigon").chmod(0o755)
    others = [part for part in os.environ["PATH"].split(os.pathsep) if not Path(part, "aigon").exists()]
    env = scrubbed(folder) | {"PATH": os.pathsep.join((str(programs), *others))}
    flags = {"bash": "--norc", "zsh": "-f", "fish": "--no-config"}
    command = [program, flags[shell], "-c", script]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=env, check=False)


BASH = """
eval "$(aigon completion bash)"
try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _aigon_completion aigon; echo "${COMPREPLY[*]}"; }
try aigon boa
try aigon report mul
try aigon feature-implement --agent claude : so
complete -p aigon
rm "$(command -v aigon)"
hash -r
try aigon boa
"""


def test_bash_completes_and_says_nothing_when_aigon_is_gone(project: Path) -> None:
    done = start("bash", BASH, project)
    registered = "complete -o nosort -F _aigon_completion aigon"
    assert (done.stderr, done.stdout) == ("", f"board\nmultiply\nsonnet\n{registered}\n\n")


ZSH = """
compdef() { : }
compadd() { print -r -- ${completions} }
_describe() { print -r -- ${completions_with_descriptions} }
eval "$(aigon completion zsh)"
words=(aigon report 4) CURRENT=3
_aigon_completion
words=(aigon arena 42 --agents claude:so) CURRENT=5
_aigon_completion
"""


def test_zsh_completes(project: Path) -> None:
    done = start("zsh", ZSH, project)
    assert (done.stderr, done.stdout) == ("", "42:multiply (in-progress)\nclaude:sonnet\n")


FISH = """
aigon completion fish | source
complete -C "aigon boa"
complete -C "aigon arena 42 --agents claude,ho"
"""


def test_fish_completes(project: Path) -> None:
    done = start("fish", FISH, project)
    assert (done.stderr, done.stdout) == ("", f"board\t{VERBS['board'][1]}\nclaude,house\n")
