"""What a dependency folder holds, told without reading it."""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from aigon.isolation.dependencies import find_editable_paths, fingerprint_folder
from tests.projects import files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Something like node_modules."""
    root = tmp_path / "node_modules"
    files(root, {"a/index.js": "one\n", "a/package.json": "{}", "b/index.js": "two\n"})
    (root / "a" / "alias").symlink_to("index.js")
    return root


def in_place(root: Path) -> None:
    """Other content of the same length, with the times of before."""
    file = root / "a/index.js"
    before = file.stat()
    file.write_text("ONE\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def relinked(root: Path) -> None:
    (root / "a/alias").unlink()
    (root / "a/alias").symlink_to("package.json")


CHANGES: dict[str, Callable[[Path], object]] = {
    "content of the same length and time": in_place,
    "a new file": lambda root: files(root, {"a/new.js": ""}),
    "a new empty folder": lambda root: (root / "c").mkdir(),
    "a removed file": lambda root: (root / "b/index.js").unlink(),
    "a renamed file": lambda root: (root / "b/index.js").rename(root / "b/main.js"),
    "a mode": lambda root: (root / "b/index.js").chmod(0o755),
    "a link": relinked,
    "a file that replaces another": lambda root: (root / "a/index.js").replace(root / "b/index.js"),
    "a hidden file": lambda root: files(root, {".bin/tool": "x"}),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_any_change_shows(folder: Path, change: Callable[[Path], object]) -> None:
    before = fingerprint_folder(folder)
    assert before and fingerprint_folder(folder) == before
    time.sleep(0.02)  # the clock of inodes ticks every few milliseconds
    change(folder)
    assert fingerprint_folder(folder) != before


def test_what_tools_leave_behind_and_reading_is_no_change(folder: Path) -> None:
    before = fingerprint_folder(folder)
    files(folder, {"a/__pycache__/x.pyc": "x", ".cache/babel/y": "y", ".vite/results.json": "{}"})
    assert (folder / "a/index.js").read_text() == "one\n"
    assert fingerprint_folder(folder) == before


def test_a_link_to_the_same_file_is_no_change_and_its_content_still_counts(folder: Path) -> None:
    os.link(folder / "b/index.js", folder.parent / "store")
    before = fingerprint_folder(folder)
    time.sleep(0.02)
    os.link(folder / "b/index.js", folder.parent / "another-project")
    assert fingerprint_folder(folder) == before
    (folder.parent / "store").write_text("TWO\n")
    assert fingerprint_folder(folder) != before


def test_no_folder_has_no_name_and_a_link_to_one_has_its_name(folder: Path) -> None:
    assert fingerprint_folder(folder.parent / "absent") is None
    assert fingerprint_folder(folder / "a/index.js") is None
    (folder.parent / "linked").symlink_to(folder)
    assert fingerprint_folder(folder.parent / "linked") == fingerprint_folder(folder)


def test_undecodable_names_and_unreadable_folders_are_still_named(folder: Path) -> None:
    (folder / os.fsdecode(b"\xff\n")).write_text("")
    (folder / "b").chmod(0o000)
    try:
        assert fingerprint_folder(folder)
    finally:
        (folder / "b").chmod(0o755)


def test_thousands_of_files_are_fingerprinted_without_opening_one(tmp_path: Path) -> None:
    for number in range(20):
        files(tmp_path, {f"{number}/{file}.js": "" for file in range(100)})
    opened: list[object] = []
    recording = True
    sys.addaudithook(lambda event, arguments: opened.append(arguments[0]) if recording and event == "open" else None)
    assert fingerprint_folder(tmp_path)
    recording = False
    assert opened == [], "a file is known by its status, not by its content"


def test_what_is_installed_as_editable_is_found_however_it_was_installed(tmp_path: Path) -> None:
    ws, site = tmp_path / "ws", tmp_path / "venv/lib/python3.12/site-packages"
    mapping = {"pkg": f"{ws}/lib/pkg", "mod": f"{ws}/mods/mod.py", "renamed": f"{ws}/other", "far": "/elsewhere/far"}
    finder = f"import sys\nMAPPING: dict[str, str] = {mapping!r}\nNAMESPACES: dict[str, list[str]] = {{}}\n"
    files(site, {"a.pth": f"{ws}/src\n# no\nimport os\n/elsewhere\n", "__editable___pkg_1_finder.py": finder})
    files(site, {"b.pth": f"{ws}/src\n{ws}-other\n", "__editable___bad_finder.py": "MAPPING: dict = {("})
    assert sorted(find_editable_paths(tmp_path / "venv", ws)) == [ws / "lib", ws / "mods", ws / "src"]
    assert find_editable_paths(tmp_path / "node_modules", ws) == []
