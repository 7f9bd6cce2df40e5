"""What a command reads is told by access times, or by strace, whatever is read how."""

import os
import subprocess
from pathlib import Path
from unittest.mock import Mock

import pytest

from aigon import observation as observing
from aigon.job.world import UNNAMED, CheckEnvironment
from aigon.observation import (
    Means,
    Observation,
    Observer,
    Reads,
    find_strace,
    list_read,
    read_observation,
    set_back,
    show_reads,
)
from tests.projects import files

TREE = {
    "src/a.py": "a = 1\n",
    "golden/one.txt": "1\n",
    "golden/empty.txt": "",
    "golden/two.txt": "2\n",
    "spec.md": "# Spec\n",
    "kept.txt": "kept\n",
}


@pytest.fixture(params=["access times", "strace"])
def means(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Means:
    """Each of the two, where it works."""
    files(tmp_path, {**TREE, ".git/config": ""})
    if request.param == "access times" and not show_reads(tmp_path, TREE):
        pytest.skip("access times do not move here")
    if request.param == "strace":
        if not find_strace() or subprocess.run([find_strace(), "true"], capture_output=True).returncode:
            pytest.skip("strace is not installed, or may not trace")
        monkeypatch.setattr(observing, "show_reads", lambda _root, _paths: False)
    return "access times" if request.param == "access times" else "strace"


def seen(root: Path, means: Means, *scripts: str) -> list[Reads]:
    """Observe scripts one after the other in one room."""
    watching = Observer("spec.md")
    place = CheckEnvironment(root, {"PATH": "/usr/bin:/bin"})
    watching.enter(place, TREE)
    assert watching.means == means

    def run(script: str) -> None:
        def start(where: CheckEnvironment) -> None:
            subprocess.run(
                where.wrap_command(["bash", "-c", script], root, UNNAMED), cwd=root, env=dict(place.env), check=True
            )

        watching.observe([script], place, start)

    for script in scripts:
        run(script)
    observation = watching.observation
    assert read_observation(observation.as_document()) == observation
    return [observation.commands[script] for script in scripts]


def test_each_command_has_what_it_read_itself(tmp_path: Path, means: Means) -> None:
    first, second, third = seen(
        tmp_path,
        means,
        "cat golden/one.txt golden/empty.txt",
        "stat kept.txt; : > src/new.py",
        "cat < golden/one.txt",
    )
    assert first.files == ("golden/empty.txt", "golden/one.txt") and second == Reads()
    assert third.files == ("golden/one.txt",)


def test_a_listed_folder_is_told_from_its_files(tmp_path: Path, means: Means) -> None:
    (reads,) = seen(tmp_path, means, "ls golden; sh -c 'cat $(echo src)/a.py'")
    assert reads.folders == ("golden",) and reads.files == ("src/a.py",)


def test_what_reads_most_of_the_project_and_the_spec_walks_through_it(tmp_path: Path, means: Means) -> None:
    walk, part = seen(tmp_path, means, "grep -r nothing . || true", "cat src/*.py golden/*.txt")
    assert walk.walks and not walk.files
    assert not part.walks and len(part.files) == 4


def test_a_file_that_is_gone_or_replaced_was_not_read(tmp_path: Path) -> None:
    files(tmp_path, TREE)
    times = dict(set_back(tmp_path, (*TREE, "absent")))
    (tmp_path / "kept.txt").unlink()
    assert list_read(tmp_path, times) == ([], ["kept.txt", "absent"])


def test_what_one_command_read_changed_or_made_again_is_seen_of_the_next(tmp_path: Path, means: Means) -> None:
    change = "echo more >> kept.txt; rm golden/one.txt; cat golden/two.txt"
    _, gone, again, last = seen(
        tmp_path, means, change, "cat kept.txt", "echo 1 > golden/one.txt; cat golden/two.txt", "cat golden/one.txt"
    )
    assert gone.files == ("kept.txt",) and again.files == ("golden/two.txt",) and last.files == ("golden/one.txt",)


def test_only_what_was_read_is_set_back_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = {f"d{number}/{number}.txt": f"{number}\n" for number in range(50)}
    files(tmp_path, {**many, ".git/config": ""})
    if not show_reads(tmp_path, many):
        pytest.skip("access times do not move here")
    watching, place = Observer("none"), CheckEnvironment(tmp_path, {})
    watching.enter(place, many)
    watching.observe(["first"], place, lambda _: None)
    with monkeypatch.context() as patched:
        patched.setattr(os, "utime", utime := Mock(side_effect=os.utime))
        watching.observe(["second"], place, lambda _: None)
    assert utime.call_count == len(watching.folders)


def test_where_nothing_tells_nothing_is_claimed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files(tmp_path, {**TREE, ".git/config": ""})
    monkeypatch.setattr(observing, "show_reads", lambda _root, _paths: False)
    monkeypatch.setattr(observing, "find_strace", lambda: "")
    watching = Observer("spec.md")
    place = CheckEnvironment(tmp_path, {})
    watching.enter(place, TREE)
    watching.observe(["x"], place, lambda _place: None)
    assert watching.observation == Observation()
