"""What the machine has left: limits that bind count, wherever they come from."""

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from aigon.files.system_errors import find_mount, find_volumes, measure_volume, probe_volume
from aigon.model.resources import FULL_DISK_BYTES, Volume
from aigon.process import capacity
from aigon.process.capacity import Memory
from aigon.process.meter import Meter, measure_memory_of_descendants

MB = 1_000_000


def group(folder: Path, most: str, used: int, reclaimable: int = 0) -> Path:
    """A control group of version 2, as files."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memory.max").write_text(most + "\n")
    (folder / "memory.current").write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 1\ninactive_file {reclaimable}\n")
    return folder


NAMES = ("memory.max", "memory.current", "inactive_file")


def test_the_tightest_control_group_counts_and_caches_of_files_are_no_use_of_memory(tmp_path: Path) -> None:
    outer = group(tmp_path / "outer", str(500 * MB), 450 * MB, 20 * MB)
    group(outer / "inner", "max", 1)
    found = list(capacity._measure_groups(tmp_path, "/outer/inner", NAMES))
    assert found == [Memory(70 * MB, f"the control group {outer}")]


def test_a_path_of_the_host_that_is_not_here_limits_nothing(tmp_path: Path) -> None:
    assert list(capacity._measure_groups(tmp_path, "/docker/abc", NAMES)) == []


def test_what_leaves_least_is_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "_measure_machine", lambda: Memory(9 * MB))
    monkeypatch.setattr(capacity, "_measure_cgroups", lambda: iter([Memory(5 * MB, "a group")]))
    monkeypatch.setattr(capacity, "_measure_process_limit", lambda: None)
    assert capacity.measure_memory() == Memory(5 * MB, "a group")


def test_the_limit_of_this_process_on_addresses_and_files_is_seen() -> None:
    text = "import aigon.process.capacity as m; print(m.measure_memory().limit); print(m.read_file_size_limit())"
    line = ["bash", "-c", 'ulimit -v 3000000 -f 2048; exec "$@"', "bash", sys.executable, "-c", text]
    out = subprocess.run(line, capture_output=True, text=True, check=True).stdout.splitlines()
    assert out == ["the limit on address space (ulimit -v)", str(2048 * 1024)]


def test_folders_of_one_file_system_are_one_volume(tmp_path: Path) -> None:
    found = find_volumes({"this": tmp_path, "that": tmp_path / "not" / "there"}, "that")
    (one,) = found
    assert (one.place, one.holds, one.scratch) == (str(tmp_path), "this, that", False)
    assert one.free and one.free > FULL_DISK_BYTES and not one.problem
    assert tmp_path.is_relative_to(find_mount(tmp_path))
    assert find_volumes({"that": tmp_path}, "that")[0].scratch


def test_a_folder_that_takes_no_block_is_a_problem(tmp_path: Path) -> None:
    volume = measure_volume(Volume(str(tmp_path), "", ""))
    assert probe_volume(volume, tmp_path).problem == "" and list(tmp_path.iterdir()) == []
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, hard))
    try:
        assert "File too large" in probe_volume(volume, tmp_path).problem
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


def test_the_least_that_was_free_is_kept_though_it_is_given_back(tmp_path: Path) -> None:
    meter = Meter(find_volumes({"work": tmp_path}))
    before = shutil.disk_usage(tmp_path).free
    meter.begin()
    try:
        with (tmp_path / "large").open("wb") as file:
            while shutil.disk_usage(tmp_path).free > before - 30 * MB:  # others give room back meanwhile
                file.write(b"x" * 10 * MB)
                file.flush()
            meter.sample()
        (tmp_path / "large").unlink()
        taken = {one.what: one.amount for one in meter.measure_use()}
    finally:
        meter.close()
    assert taken["disk"] > 20 * MB


def test_the_memory_of_all_descendants_is_what_counts() -> None:
    text = "import sys; held = bytearray(60_000_000); print(flush=True); sys.stdin.read()"
    before = measure_memory_of_descendants()
    line = [sys.executable, "-c", text]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout and child.stdin
        child.stdout.readline()
        during = measure_memory_of_descendants()
        child.stdin.close()
    assert during - before > 50 * MB


LOOK = "from aigon.process.capacity import find_memory_folder; print(find_memory_folder(1000))"


def test_files_in_memory_from_which_no_program_may_run_are_not_used() -> None:
    for options, folder in (("exec", "/dev/shm"), ("noexec", "None")):
        script = f'mount -t tmpfs -o {options},size=64m tmpfs /dev/shm && exec "$0" -c "$1"'
        way = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
        if (
            not sys.platform.startswith("linux")
            or subprocess.run([*way, "mount", "-t", "tmpfs", "tmpfs", "/mnt"]).returncode
        ):
            pytest.skip("no private mounts here")
        ran = subprocess.run([*way, "sh", "-c", script, sys.executable, LOOK], capture_output=True, text=True)
        assert ran.stdout.strip() == folder, ran.stderr
