"""Help in groups: what is listed at once, what `--help-all` adds, and that it fits the terminal."""

import re

import click
import pytest

from aigon.cli import SECTIONS, VERBS, help_text
from aigon.commands.root import GROUPS, Option, root, run

COMMANDS = {verb: root.get_command(click.Context(root), verb) for verb in VERBS}


def show(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run([*arguments]) == 0
    return capsys.readouterr().out


def listed(text: str) -> list[str]:
    return re.findall(r"(?m)^  (?:-\w, )?(--[a-z-]+)", text)


@pytest.mark.parametrize("verb", VERBS)
def test_no_command_lists_more_than_twelve_options_at_first(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(listed(show(capsys, verb, "--help"))) <= 12


@pytest.mark.parametrize("verb", ["feature-implement", "arena"])
def test_help_all_lists_every_option(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = COMMANDS[verb]
    assert command is not None
    options = [each for each in command.params if isinstance(each, Option)]
    short, long = show(capsys, verb, "--help"), show(capsys, verb, "--help-all")
    assert [each.name for each in options if not any(name in long for name in each.opts)] == []
    rare = sum(each.rare for each in options)
    assert f"Show {rare} more options" in short
    assert len(listed(long)) == len(listed(short)) + rare


def test_options_are_grouped_in_one_order(capsys: pytest.CaptureFixture[str]) -> None:
    titles = re.findall(r"(?m)^(\w+):$", show(capsys, "feature-implement", "--help-all"))
    assert titles == list(GROUPS)
    assert re.findall(r"(?m)^(\w+):$", show(capsys, "worktrees", "--help")) == ["Options"]


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize("verb", ["", *VERBS])
def test_help_fits_the_terminal(
    verb: str, columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    text = show(capsys, verb, "--help") if verb else help_text()
    assert [line for line in text.splitlines() if len(line) > columns] == []


def test_the_overview_names_what_a_person_does() -> None:
    assert list(SECTIONS)[:6] == ["Start", "Specify", "Work", "Look", "Decide", "Clean up"]
    assert re.findall(r"(?m)^(\w[\w ]*):$", help_text()) == [*SECTIONS, "Help"]


@pytest.mark.parametrize("verb", [["watch"], ["run", "start"], ["arena"], ["feature-implement"]])
def test_help_says_where_json_is_a_stream_of_events(verb: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert "Print one JSON event per line" in show(capsys, *verb, "--help")
