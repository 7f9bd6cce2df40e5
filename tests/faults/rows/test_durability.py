"""The order in which one checkpoint reaches the disk, as the kernel sees it: nothing names what is not there yet."""

import os
import re
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from aigon.git import branch_ref
from aigon.git.branch_ref import flush_loose_objects
from aigon.git.person import Checkout
from aigon.git.workspace import Workspace
from tests.faults.rows.traced_git import needs_strace
from tests.lab import BRANCH, DONE_WHEN, Lab
from tests.loop.processes import LOOP

CALLS = "openat,write,pwrite64,sync_file_range,fsync,fdatasync,link,linkat,rename,renameat,renameat2"
AGENT = "mkdir -p src; echo one > src/one.txt; head -c 3000000 /dev/urandom > src/large.bin; touch done.txt"


def traced(lab: Lab, agent: str = AGENT) -> list[str]:
    """What a run of one turn had written, flushed and named, in order; from the turn's end on."""
    lab.config(proof="in-place")
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent(agent)
    lab.commit("ready")
    trace = lab.home / "trace"
    line = ["strace", "-f", "-y", "-s", "100000", "-e", f"trace={CALLS}", "-o", str(trace), *lab.command(*LOOP)]
    done = subprocess.run(line, cwd=lab.root, env=lab.env, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    return trace.read_text(errors="replace").splitlines()


def first(lines: Sequence[str], pattern: str, start: int = 0) -> int:
    """Where the first line after `start` matches."""
    return next(i for i, line in enumerate(lines[start:], start) if re.search(pattern, line))


def handed_over(lines: Sequence[str], name: str) -> int:
    """When the bytes of the object that `name` was given to were handed to the disk; fails where that never was."""
    named = first(lines, rf'(?:link|rename)\w*\(.*"[^"]*{re.escape(name)}"')
    (temporary,) = re.findall(r'\("([^"]+)"', lines[named])[:1]
    there = Path(temporary).name
    return first(lines, rf"(?:sync_file_range|fsync|fdatasync)\(\d+<[^>]*(?:{re.escape(there)}|{re.escape(name)})>")


def objects_of(lab: Lab) -> list[str]:
    """The files that hold what the last iteration commit added."""
    added = lab.git("rev-list", "--objects", "HEAD^..HEAD").splitlines()
    loose = [f"{line[:2]}/{line.split(' ')[0][2:]}" for line in added]
    packs = [f"pack/{file.name}" for file in lab.path(".git/objects/pack").glob("*.[pi]*")]
    return [name for name in loose if lab.path(f".git/objects/{name}").exists()] + packs


@needs_strace
@pytest.mark.slow
@pytest.mark.parametrize("large", [False, True], ids=["loose", "packed"])
def test_objects_then_the_intention_then_the_branch_and_only_then_done(lab: Lab, large: bool) -> None:
    if large:  # git writes such a file into a pack of its own
        lab.git("config", "core.bigFileThreshold", "1m")
    lines = traced(lab)
    ref = re.escape(f"refs/heads/{BRANCH}.lock")
    intention = first(lines, r"write\(.*checkpoint_intended")
    flushed = first(lines, r"fdatasync\(\d+<.*journal\.jsonl>", intention)
    held = first(lines, rf"fsync\(\d+<.*{ref}>", flushed)
    moved = first(lines, rf'rename\("[^"]*{ref}"', held)
    finished = first(lines, r"write\(.*iteration_finished", moved)
    assert intention < flushed < held < moved < finished
    names = objects_of(lab)
    assert len(names) >= 6 and any("pack/" in name for name in names) == large
    for name in names:
        assert handed_over(lines, name) < held, name


@needs_strace
@pytest.mark.slow
def test_objects_that_the_agents_own_git_wrote_are_handed_over_too(lab: Lab) -> None:
    lines = traced(lab, "echo one > one.txt; touch done.txt; git add -A; git commit -q -m mine; echo 2 > two.txt")
    held = first(lines, rf"fsync\(\d+<.*{re.escape(f'refs/heads/{BRANCH}.lock')}>")
    theirs = lab.git("rev-parse", "HEAD^", "HEAD^^{tree}", "HEAD:one.txt").splitlines()
    for name in theirs:
        assert first(lines, rf"sync_file_range\(\d+<[^>]*objects/{name[:2]}/{name[2:]}>") < held


def test_all_objects_of_the_next_commit_are_handed_over_by_their_names(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Checkout.open(lab.root) as checkout:
        work = Workspace(checkout, tmp_path / "own", "main")
    old = str(work.tip())
    lab.write("deep/er/one.txt", "one\n")
    work.snapshot()
    first = work.commit({"log.md": b"one\n"}, old, "first\n")
    handed_over: list[str] = []
    real = branch_ref._flush_file

    def note(name: str, how: int) -> bool:
        handed_over.append(name)
        return real(name, how)

    monkeypatch.setattr(branch_ref, "_flush_file", note)
    monkeypatch.setattr(branch_ref, "flush_loose_objects", lambda *_: pytest.fail("all folders were looked through"))
    lab.write("deep/er/one.txt", "two\n")
    lab.git("hash-object", "-w", "deep/er/one.txt")  # git finds it there, and writes nothing
    work.snapshot()
    second = work.commit({"log.md": b"second\n"}, first, "second\n")
    names = lab.git("rev-list", "--objects", "--no-object-names", second, f"^{first}").split()
    assert len(names) == 6
    assert {f"{lab.root}/.git/objects/{name[:2]}/{name[2:]}" for name in names} == {*handed_over}


def test_only_what_was_written_since_is_handed_over(tmp_path: Path) -> None:
    for name, age in (("aa/old", 100), ("bb/new", 0), ("bb/tmp_obj_x", 0), ("pack/pack-1.idx", 0)):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("x")
        os.utime(file, (time.time() - age,) * 2)
    assert len(flush_loose_objects(tmp_path, time.time() - 10)) == 1
    assert len(flush_loose_objects(tmp_path, time.time() - 200)) == 2
    assert not flush_loose_objects(tmp_path / "none", 0)


def test_a_clock_that_is_set_forward_or_back_leaves_nothing_out(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Checkout.open(lab.root) as checkout:
        work = Workspace(checkout, tmp_path / "own", "main")
    since: list[float] = []
    monkeypatch.setattr("aigon.git.branch_ref.flush_loose_objects", lambda _objects, when, *_: since.append(when))
    real, begun = time.time, time.time()
    work.ref.write_out()
    for jump in (3600.0, -3600.0):
        monkeypatch.setattr("aigon.git.branch_ref.time.time", lambda jump=jump: real() + jump)
        work.ref.write_out()
    assert since[1] <= begun + 5 and since[2] <= begun - 3600 + 5


def test_on_a_disk_of_its_own_the_journal_says_done_after_the_branch_is_flushed(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders: list[Path] = []
    monkeypatch.setattr("aigon.git.branch_ref.sync_folder", folders.append)
    elsewhere = Path("/dev/shm")
    if not elsewhere.is_dir() or elsewhere.stat().st_dev == lab.root.stat().st_dev:
        pytest.skip("needs a second file system")
    for directory, wanted in ((tmp_path / "own", 0), (elsewhere / f"aigon-{os.getpid()}", 1)):
        with Checkout.open(lab.root) as checkout:
            work = Workspace(checkout, directory, "main")
        lab.write("more.txt", directory.name)
        old = str(work.tip())
        work.snapshot()
        work.publish(work.commit({}, old, "more\n"), old)
        assert len(folders) == wanted
    subprocess.run(["rm", "-r", str(directory)], check=True)
