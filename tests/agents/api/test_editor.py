"""The editor: what it changes, what it says, and that it stays in the workspace."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from aigon.agents.api_agent.workspace_tools import Editor


@pytest.fixture
def editor(tmp_path: Path) -> "Editor":
    """An editor of a workspace with one file."""
    from aigon.agents.api_agent.workspace_tools import Editor

    workspace = tmp_path / "work"
    workspace.mkdir()
    (workspace / "a.txt").write_text("one\ntwo\nthree\n")
    return Editor(workspace)


def test_files_are_shown_with_numbers_whole_or_in_part_and_folders_are_listed(editor: "Editor") -> None:
    root = editor.workspace
    assert editor({"command": "view", "path": "a.txt"}).text == "     1\tone\n     2\ttwo\n     3\tthree"
    assert editor({"command": "view", "path": str(root / "a.txt"), "view_range": [2, -1]}).text.startswith(
        "     2\ttwo"
    )
    (root / "d/e/f").mkdir(parents=True)
    (root / "d/x").touch()
    assert editor({"command": "view", "path": "."}).text.split() == ["a.txt", "d/", "d/e/", "d/x"]


def test_edits_keep_mode_line_ends_and_bytes(editor: "Editor") -> None:
    root = editor.workspace
    (root / "a.txt").chmod(0o755)
    editor({"command": "str_replace", "path": "a.txt", "old_str": "two\n", "new_str": "2\n2\n"})
    editor({"command": "insert", "path": "a.txt", "insert_line": 0, "insert_text": "zero"})
    assert (root / "a.txt").read_text() == "zero\none\n2\n2\nthree\n"
    editor({"command": "insert", "path": "a.txt", "insert_line": 5, "insert_text": "end"})
    assert (root / "a.txt").read_text() == "zero\none\n2\n2\nthree\nend" and os.access(root / "a.txt", os.X_OK)
    (root / "w.bin").write_bytes(b"\xff\r\nold\r\nline\r\n")
    editor({"command": "str_replace", "path": "w.bin", "old_str": "old\nline", "new_str": "new"})
    assert (root / "w.bin").read_bytes() == b"\xff\r\nnew\r\n"
    assert "Created" in editor({"command": "create", "path": "n/m.txt", "file_text": "ü\n"}).text
    assert (root / "n/m.txt").read_text() == "ü\n"
    editor({"command": "str_replace", "path": "n/m.txt", "old_str": "ü\n"})
    assert (root / "n/m.txt").read_bytes() == b""


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"command": "str_replace", "path": "a.txt", "old_str": "four", "new_str": ""}, "does not occur"),
        ({"command": "str_replace", "path": "a.txt", "old_str": "o", "new_str": ""}, "occurs 2 times"),
        ({"command": "str_replace", "path": "a.txt", "old_str": "", "new_str": "x"}, "does not occur"),
        ({"command": "insert", "path": "a.txt", "insert_line": 9, "insert_text": "x"}, "0 to 3"),
        ({"command": "view", "path": "a.txt", "view_range": [3, 1]}, "lines 1 to 3"),
        ({"command": "view", "path": "none"}, "no such file"),
        ({"command": "create", "path": "."}, "missing"),
        ({"command": "create", "path": ".", "file_text": ""}, "folder"),
        ({"command": "create", "path": "a.txt/b", "file_text": ""}, "a.txt/b"),
        ({"command": "undo_edit", "path": "a.txt"}, "no command"),
        ({"command": "view", "path": "a\0b"}, "NUL"),
        ({"path": "a.txt"}, "`command` is missing"),
    ],
)
def test_what_cannot_be_done_is_said_and_nothing_changes(editor: "Editor", given: dict[str, object], said: str) -> None:
    from aigon.agents.api_agent.settings import ToolFailure

    with pytest.raises(ToolFailure, match=said):
        editor(given)
    assert (editor.workspace / "a.txt").read_text() == "one\ntwo\nthree\n"


def test_no_path_leads_out_of_the_workspace_or_into_git(editor: "Editor", tmp_path: Path) -> None:
    from aigon.agents.api_agent.settings import ToolFailure

    outside, root = tmp_path / "outside", editor.workspace
    outside.mkdir()
    (outside / "s").write_text("secret")
    (root / "folder").symlink_to(outside)
    (root / "file").symlink_to(outside / "s")
    (root / "dangling").symlink_to(outside / "new")
    (root / ".git").mkdir()
    (tmp_path / "work-too").mkdir()
    paths = ("../outside/s", str(outside / "s"), "folder/s", "folder/../s", "file", "dangling", "folder/new",
             "a/../../outside/s", "../work-too/x", ".git/config",
             "sub/../.git/hooks/x", "/etc/passwd", "/proc/self/environ")  # fmt: skip
    for path in paths:
        for rest in ({"command": "view"}, {"command": "create", "file_text": "x"},
                     {"command": "str_replace", "old_str": "secret", "new_str": "x"}):  # fmt: skip
            with pytest.raises(ToolFailure, match=r"workspace|git"):
                editor({"path": path, **rest})
    assert [path.name for path in outside.iterdir()] == ["s"] and (outside / "s").read_text() == "secret"
    assert not [*(root / ".git").iterdir()] and not [*(tmp_path / "work-too").iterdir()]


def test_a_pipe_is_not_waited_for_and_a_huge_file_not_read(editor: "Editor") -> None:
    from aigon.agents.api_agent.settings import ToolFailure

    os.mkfifo(editor.workspace / "pipe")
    with (editor.workspace / "huge").open("wb") as file:
        file.truncate(11 * 1024 * 1024)
    for given in ({"command": "view", "path": "pipe"}, {"command": "create", "path": "pipe", "file_text": ""},
                  {"command": "view", "path": "huge"}):  # fmt: skip
        with pytest.raises(ToolFailure, match=r"no such file|no ordinary|too large"):
            editor(given)
