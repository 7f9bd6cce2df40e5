"""Bytecode of one room for the next: nothing of the files to prove, nothing that anybody touched."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from aigon.git.person import Checkout
from aigon.git.trusted import TrustedGit
from aigon.isolation import clean_room, dependencies
from aigon.isolation.clean_room import CleanRoom
from aigon.isolation.enclosure import Isolation
from aigon.isolation.mechanisms import can_overlay
from tests.lab import Lab

VENV = (".venv",)


@contextmanager
def opened(lab: Lab, folder: Path, lent: Sequence[str] = VENV, isolation: Isolation = "none") -> Iterator[CleanRoom]:
    with Checkout.open(lab.root) as checkout:
        git = TrustedGit(checkout, lab.home / "own.git")
        tree = lab.git("rev-parse", "HEAD^{tree}")
        folders = {name: lab.root / name for name in lent}
        plan = clean_room.RoomPlan(isolation, folder, lent=folders)
        with clean_room.open_room(git, tree, lab.env, plan) as room:
            yield room


def compiled(room: CleanRoom, source: Path) -> Path:
    """Where Python would put the bytecode of a file in the room."""
    return Path(room.env["PYTHONPYCACHEPREFIX"]) / str(source).lstrip("/")


@pytest.fixture
def kept(lab: Lab, tmp_path: Path) -> dependencies.Bytecode:
    """What a room kept in which bytecode was made of every kind of file."""
    lab.write(".gitignore", ".venv/\n")
    lab.commit("a project")
    lab.write(".venv/lib/dep.py", "")
    (lab.home / "alias").symlink_to(tmp_path / "room" / "tree")
    with opened(lab, tmp_path / "room") as room:
        alias = lab.home / "alias"
        for source in ("/usr/lib/os", room.root / ".venv/lib/dep", room.root / "a", room.root / "pkg/b", alias / "c"):
            file = compiled(room, Path(source))
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(str(source))
        taken = dependencies.take_bytecode(room, lab.home / "kept", VENV)
    assert taken is not None
    return taken


def test_what_was_compiled_of_the_files_to_prove_is_not_kept_by_whatever_path(
    kept: dependencies.Bytecode, lab: Lab, tmp_path: Path
) -> None:
    files = [path for path in kept.folder.rglob("*") if path.is_file()]
    assert sorted(path.name for path in files) == ["dep", "os"]
    with opened(lab, tmp_path / "room") as room:
        kept.lend(room, VENV, can_overlay=False)
        assert compiled(room, Path("/usr/lib/os")).read_text() == "/usr/lib/os"
        assert compiled(room, room.root / ".venv/lib/dep").exists()
        assert not compiled(room, room.root / "a").exists()


@pytest.mark.parametrize("change", ["content", "more", "less", "a cache of that name"])
def test_what_anybody_touched_meanwhile_is_not_used(
    kept: dependencies.Bytecode, lab: Lab, tmp_path: Path, change: str
) -> None:
    known = kept.folder / "usr/lib/os"
    if change == "content":
        known.write_text("/usr/lib/OS")
    elif change == "less":
        known.unlink()
    else:
        more = kept.folder / ("usr/lib/.cache/more" if change != "more" else "usr/lib/more")
        more.parent.mkdir(exist_ok=True)
        more.touch()
    with opened(lab, tmp_path / "room") as room:
        kept.lend(room, VENV, can_overlay=False)
        assert not list(Path(room.env["PYTHONPYCACHEPREFIX"]).iterdir())


def test_with_other_dependency_folders_it_is_not_used(kept: dependencies.Bytecode, lab: Lab, tmp_path: Path) -> None:
    with opened(lab, tmp_path / "room", ()) as room:
        kept.lend(room, (), can_overlay=False)
        assert not list(Path(room.env["PYTHONPYCACHEPREFIX"]).iterdir())


def test_by_an_overlay_each_command_begins_with_it_and_changes_only_its_own(
    kept: dependencies.Bytecode, lab: Lab, tmp_path: Path
) -> None:
    if not can_overlay(tmp_path):
        pytest.skip("no overlay can be mounted here")
    with opened(lab, tmp_path / "room", isolation="namespaces") as room:
        lending = kept.lend(room, VENV, can_overlay=True)
        place = f"{room.env['PYTHONPYCACHEPREFIX']}/usr/lib/os"
        for _ in range(2):
            argv = lending.wrap_command(["sh", "-c", f"cat {place} && echo other > {place}"], Path())
            done = subprocess.run(argv, cwd=room.scratch, env={**room.env}, capture_output=True, text=True)
            assert (done.stdout, done.stderr) == ("/usr/lib/os", "")
    assert (kept.folder / "usr/lib/os").read_text() == "/usr/lib/os"
