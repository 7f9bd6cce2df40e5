"""The command line as a whole: verbs, help, versions, JSON, exit codes."""

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

from aigon import __version__
from aigon.cli import VERBS
from aigon.commands.root import LazyGroup, root, run
from aigon.errors import Exit
from tests.lab import Lab, scrubbed


def command_of(verb: str) -> click.Command:
    found = root.get_command(click.Context(root), verb)
    assert found is not None
    return found


def process(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "aigon", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=scrubbed(folder))


@pytest.mark.parametrize("arguments", [[], ["-h"], ["--help"]])
def test_the_help_lists_every_verb_with_what_it_is_for(arguments: list[str], tmp_path: Path) -> None:
    done = process(tmp_path, *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.split(maxsplit=1) for line in done.stdout.splitlines()]
    assert [verb for verb, (_, text) in VERBS.items() if [verb, text] not in lines] == []
    assert [line for line in done.stdout.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([verb, "--help"]) == Exit.MET
    shown = capsys.readouterr().out
    assert shown.startswith(f"Usage: aigon {verb}")
    assert str(command_of(verb).help).split("\n")[0][:40] in shown


@pytest.mark.parametrize("verb", sorted({*VERBS} - {"mcp"}))  # it speaks a protocol of JSON
def test_every_verb_answers_in_json_and_has_its_own_name(verb: str) -> None:
    command = command_of(verb)
    each: click.Command | None
    lazy = command if isinstance(command, LazyGroup) else None
    within = [name for name in lazy.verbs if name != "worker"] if lazy else []  # a server, it answers nobody here
    for each in [lazy.get_command(click.Context(lazy), name) for name in within] if lazy else [command]:
        assert each and "--json" in [option for parameter in each.params for option in parameter.opts]
    assert command.name == verb


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_of_a_verb_says_what_it_does(verb: str) -> None:
    options = [parameter for parameter in command_of(verb).params if isinstance(parameter, click.Option)]
    assert [option.opts for option in options if not option.help] == []


@pytest.mark.parametrize("arguments", [["--version"], ["--version", "--version"]])
def test_the_version_is_said_however_it_is_asked_for(arguments: list[str], tmp_path: Path) -> None:
    done = process(tmp_path, *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"aigon {__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "what", "do"),
    [
        (["feature-implment", "1"], "no command 'feature-implment'", "Did you mean 'feature-implement'?"),
        (["nonsense"], "no command 'nonsense'", "aigon --help"),
        (["list"], "no command 'list'", "aigon board"),
        (["start", "1"], "no command 'start'", "aigon feature-implement ID --loop"),
        (["follow", "1"], "no command 'follow'", "aigon logs ID -f"),
        (["done", "1"], "no command 'done'", "Did you mean 'feature-done'?"),
        (["feature-report", "1"], "no command 'feature-report'", "Did you mean 'report'?"),
        (["run"], "A command is missing", "Commands: start, tasks, status, done,"),
        (["run", "nonsense"], "No such command 'nonsense'", "Commands: start, tasks,"),
        (["config", "shw"], "No such command 'shw'", "Did you mean 'show'?"),
        (["feature-status", "--nonsense"], "No such option '--nonsense'", "aigon feature-status --help"),
        (["feature-implement", "1", "--lop"], "No such option '--lop'", "Did you mean '--loop'?"),
        (["feature-implement"], "Missing argument 'ID'", "aigon board lists the features."),
        (["records"], "Missing argument '{push|fetch|list}'. Choose from: push, fetch, list.", "aigon records --help"),
        (["reject", "1", "1"], "Missing option '--why'", "Write --why TEXT (Tell the agent what is missing)."),
        (["feature-implement", "1", "--max-cost"], "'--max-cost' requires an argument", "Write --max-cost USD."),
        (["feature-implement", "1", "--max-cost", "--loop"], "'--loop' is not a valid amount", "--help"),
        (
            ["feature-implement", "1", "--max-iterations", "zero"],
            "'zero'",
            "Write --max-iterations N (Stop after",
        ),
        (["feature-implement", "1", "--max-time", "soon"], "'soon'", "aigon feature-implement --help"),
        (["feature-implement", "1", "--on-partial", "nonsense"], "'rollback'", "aigon feature-implement --help"),
    ],
)
def test_a_slip_on_the_command_line_is_exit_2_and_says_what_where_and_what_to_do(
    arguments: list[str], what: str, do: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == Exit.USAGE
    printed = capsys.readouterr()
    first, where, hint = printed.err.splitlines()
    assert first.startswith("aigon: ")
    assert what in first
    assert "(" not in first
    assert where.startswith("  where: aigon ")
    assert do in hint.removeprefix("  do:    ")
    assert printed.out == ""
    assert run([*arguments, "--json"]) == Exit.USAGE
    assert json.loads(capsys.readouterr().out)["error"]["exit_code"] == Exit.USAGE


def test_the_american_spelling_of_prioritise_works(lab: Lab) -> None:
    lab.aigon("feature-create", "dark", "mode")
    assert lab.aigon("feature-prioritize", "dark-mode", "--json").json["id"] == "01"


@pytest.mark.parametrize("arguments", ["--help", "stats", "config schema", "nothing"])
def test_output_that_nobody_takes_is_no_crash(lab: Lab, arguments: str) -> None:
    command = f"{sys.executable} -m aigon {arguments}"
    for line in (f"{command} | true", f"{command} > /dev/full", f"{command} >&-", f"{command} >&- 2>&- <&-"):
        ran = subprocess.run(
            ["bash", "-c", line], capture_output=True, text=True, check=False, cwd=lab.root, env=lab.env
        )
        assert "Traceback" not in ran.stderr and "Exception ignored" not in ran.stderr, f"{line}: {ran.stderr}"
        assert ran.returncode in (0, 1, 2, 7), line


def test_a_closed_output_is_not_written_into_the_next_file_that_is_opened(lab: Lab) -> None:
    lab.spec("done <!-- verify: test -f done.txt -->")
    lab.agent("echo said; touch done.txt")
    lab.commit("ready")
    line = f"{sys.executable} -m aigon feature-implement 42 --loop <&- >&- 2>&-"
    assert subprocess.run(["bash", "-c", line], check=False, cwd=lab.root, env=lab.env).returncode == 0
    assert lab.state()["status"] == "met"


def test_help_is_a_command_as_well(tmp_path: Path) -> None:
    assert process(tmp_path, "help").stdout == process(tmp_path, "--help").stdout
    of_a_verb = process(tmp_path, "help", "board")
    assert (of_a_verb.returncode, of_a_verb.stdout) == (0, process(tmp_path, "board", "--help").stdout)
    assert process(tmp_path, "help", "nonsense").returncode == Exit.USAGE


def test_an_error_is_said_once_for_people_and_once_as_json(tmp_path: Path) -> None:
    done = process(tmp_path, "feature-status", "--json")
    document = json.loads(done.stdout)
    assert done.returncode == document["error"]["exit_code"] == Exit.ENVIRONMENT
    assert document["schema_version"] == 1
    assert document["error"]["what"] in done.stderr
    assert document["error"]["hint"] in done.stderr


def test_json_goes_to_standard_output_and_nothing_else_does(lab: Lab) -> None:
    created = lab.aigon("feature-create", "dark", "mode", "--json")
    assert created.json["schema_version"] == 1
    assert created.json["path"] == "docs/specs/features/01-inbox/feature-dark-mode.md"
    assert lab.aigon("feature-prioritise", "dark-mode", "--json").json["id"] == "01"
    assert [row["slug"] for row in lab.aigon("feature-status", "--json").json["features"]] == ["dark-mode"]


def test_every_line_of_a_run_in_json_is_an_event_and_the_last_one_says_how_it_ended(lab: Lab) -> None:
    lab.spec("it is done <!-- verify: test -f done.txt -->")
    lab.agent("touch done.txt")
    ran = lab.aigon("feature-implement", "42", "--loop", "--json")
    assert ran.code == 0, ran.err
    assert ran.events[-1]["event"] == "run_finished"
    assert ran.events[-1]["exit_code"] == 0
    assert "proven" in ran.err
    plan = lab.aigon("feature-implement", "42", "--dry-run", "--json")
    assert plan.json["schema_version"] == 1


def test_the_demo_makes_nothing_for_an_agent_that_does_not_exist(tmp_path: Path) -> None:
    done = process(tmp_path, "demo", "--agent", "cluade", "--dir", str(tmp_path / "demo"))
    assert done.returncode == Exit.USAGE and "claude" in done.stderr
    assert not (tmp_path / "demo").exists()
