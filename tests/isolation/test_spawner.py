"""What starts programs in place of a launcher: they are children like any other, and nothing is left of any."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec import structs

from aigon.isolation.enclosure import LAUNCHER, make_launcher_command
from aigon.isolation.mechanisms import can_overlay, find_isolation_flaw, start_spawner
from aigon.isolation.sandbox import Sandbox, find_sandbox_flaw, has_process_numbers
from aigon.model.turns import ProgramExit
from aigon.process import orphans, run
from aigon.process.orphans import list_children
from aigon.process.spawner import Spawner
from tests.isolation.test_sandbox import boxed, script
from tests.lab import alive, until

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it is Linux's"),
    pytest.mark.usefixtures("spawner"),
]
FREE = {"enter": ""}


@pytest.fixture
def spawner(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Spawner]:
    """A spawner that has started a program."""
    monkeypatch.setattr(orphans, "kept", set())
    spawner = Spawner(LAUNCHER)
    spawner.start()
    monkeypatch.setattr(run, "spawners", [spawner])
    if start(tmp_path, "true").exit_code or not spawner.can_start(LAUNCHER):
        pytest.skip("this kernel forks no sister processes")
    yield spawner
    spawner.close()


def start(folder: Path, text: str, **env: str) -> ProgramExit:
    argv = [*make_launcher_command(FREE), "/bin/sh", "-c", text]
    return run.run(run.Command(argv, folder, {**os.environ, **env}))


def test_what_is_tried_on_the_machine_starts_no_interpreter(
    spawner: Spawner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if why := find_sandbox_flaw("namespaces"):
        pytest.skip(why)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("it is there already")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    find_sandbox_flaw.cache_clear()
    has_process_numbers.cache_clear()
    assert find_sandbox_flaw("namespaces") == ""
    assert find_isolation_flaw.__wrapped__(tmp_path, "namespaces") == ""
    can_overlay.__wrapped__(tmp_path / "private")
    start_spawner()
    assert run.spawners == [spawner]


def find_helper() -> int:
    (pid,) = orphans.kept
    return pid


def test_a_program_is_a_child_with_its_own_session_streams_and_exit_code(tmp_path: Path) -> None:
    text = 'echo $PPID $$ "$TOLD" "$(cut -d" " -f6 /proc/$$/stat)"; pwd; ls -m /proc/self/fd; cat; exit 7'
    exited = start(tmp_path, text, TOLD="caf\udce9")
    (parent, pid, told, session), folder, descriptors = (line.split() for line in exited.stdout.splitlines())
    assert (int(parent), pid, told, folder) == (os.getpid(), session, b"caf\xe9", [os.fsencode(tmp_path)])
    assert descriptors[:3] == [b"0,", b"1,", b"2,"] and len(descriptors) == 4  # and the one that lists them
    assert exited.exit_code == 7
    argv, env = [*make_launcher_command(FREE), "/usr/bin/env"], {"ONE": "1", "LANG": "de_DE.UTF-8"}
    assert run.run(run.Command(argv, tmp_path, env)).stdout == b"ONE=1\nLANG=de_DE.UTF-8\n"
    assert start(tmp_path, "kill -KILL $$").exit_code == -signal.SIGKILL


@pytest.mark.parametrize("times", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_many_programs_at_once_leave_no_process_and_no_descriptor(tmp_path: Path, times: int) -> None:
    children, descriptors = set(list_children()), len([*Path("/proc/self/fd").iterdir()])
    with ThreadPoolExecutor(2) as pool:
        exits = list(pool.map(lambda number: start(tmp_path, f"exit {number % 8}").exit_code, range(times)))
    assert exits == [number % 8 for number in range(times)]
    assert (set(list_children()), len([*Path("/proc/self/fd").iterdir()])) == (children, descriptors)


SWEPT = """
import os, sys
from pathlib import Path
from aigon.isolation.enclosure import LAUNCHER
from aigon.process import orphans, run
from aigon.process.spawner import Spawner
from tests.isolation.test_spawner import start
spawner = Spawner(LAUNCHER)
spawner.start()
run.spawners.append(spawner)
orphans.adopt_orphans()
marker, ready = sys.argv[1:]
leaves = f"setsid sh -c ': > {ready}; sleep 60; :' {marker} & until [ -e {ready} ]; do sleep 0.01; done"
print(start(Path("/"), leaves).exit_code, orphans.sweep() >= 1)
print(orphans.list_children() == [*orphans.kept], start(Path("/"), "exit 3").exit_code)
spawner.close()
print(orphans.sweep(), orphans.list_children())
"""


def test_a_sweep_spares_it_and_ends_everything_else(tmp_path: Path) -> None:
    marker = f"marker-swept-{os.getpid()}"
    argv = [sys.executable, "-c", SWEPT, marker, str(tmp_path / "ready")]
    done = subprocess.run(argv, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False)
    assert done.stdout == "0 True\nTrue 3\n0 []\n" and not alive(marker), done


def test_one_that_died_is_replaced_and_every_program_runs(tmp_path: Path) -> None:
    first = find_helper()
    os.kill(first, signal.SIGKILL)
    assert [start(tmp_path, f"exit {number}").exit_code for number in (1, 2)] == [1, 2]
    assert find_helper() != first and first not in list_children()


SEARCH = """
import re, sys
word = sys.argv[1].encode()[::-1]
try:
    maps = open("/proc/1/maps").read()
    memory = open("/proc/1/mem", "rb", 0)
    for low, high in re.findall(r"^(\\w+)-(\\w+) rw", maps, re.M):
        memory.seek(int(low, 16))
        print(word in memory.read(int(high, 16) - int(low, 16)))
except PermissionError:
    print("refused")
"""


def test_no_program_finds_what_an_earlier_one_was_given(tmp_path: Path) -> None:
    if why := find_sandbox_flaw("namespaces"):
        pytest.skip(why)
    start(tmp_path, "true", TOKEN="xoxo-a-key-of-another")
    box, cwd = boxed("namespaces", tmp_path), tmp_path / "work"
    argv = [*script(tmp_path, SEARCH), "xoxo-a-key-of-another"[::-1]]
    exited = run.run(run.Command(box.command(argv, cwd).argv, cwd, os.environ))
    assert {*exited.stdout.split()} in ({b"False"}, {b"refused"}), exited


def test_a_request_that_breaks_off_starts_nothing(spawner: Spawner) -> None:
    asked, request = os.pipe()
    with Path(os.devnull).open("wb") as null:
        pid = spawner._fork(0, [asked, *[null.fileno()] * 3])
    os.close(asked)
    os.write(request, b"half")
    os.close(request)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 125
    until(lambda: pid not in list_children())


@pytest.fixture
def box(tmp_path: Path) -> Sandbox:
    """A sandbox by namespaces, with process numbers of its own."""
    if why := find_sandbox_flaw("namespaces"):
        pytest.skip(why)
    (tmp_path / "hidden").mkdir()
    return boxed("namespaces", tmp_path, hidden=(str(tmp_path / "hidden"),))


def run_in(box: Sandbox, folder: Path, text: str, **env: str) -> tuple[int | None, bytes]:
    argv = box.command(["/bin/sh", "-c", text], folder / "work").argv
    exited = run.run(run.Command(argv, folder, {"PATH": os.environ["PATH"], **env}, merge=False))
    return exited.exit_code, exited.stdout + exited.stderr


def prepare(spawner: Spawner, box: Sandbox, folder: Path) -> int:
    """Prepare a sandbox, and return the number of the process that waits in it."""
    run.prepare(box.command(["another"], folder / "work").argv)
    with spawner._lock:
        assert spawner._await_number() and spawner._prepared
    return spawner._prepared.pid


def test_a_prepared_sandbox_is_what_the_program_runs_in(spawner: Spawner, box: Sandbox, tmp_path: Path) -> None:
    text = 'echo "$TOLD" $(ls -m /proc/self/fd); : > written; cd ..; pwd; exit 9'
    told = run_in(box, tmp_path, text, TOLD="something")
    assert told[0] == 9
    (tmp_path / "work" / "written").unlink()
    pid, heard = prepare(spawner, box, tmp_path), list[int]()
    argv = box.command(["/bin/sh", "-c", text], tmp_path / "work").argv
    env = {"PATH": os.environ["PATH"], "TOLD": "something"}
    exited = run.run(run.Command(argv, tmp_path, env, merge=False, started=heard.append))
    assert (exited.exit_code, exited.stdout + exited.stderr, heard) == (*told, [pid])
    assert (tmp_path / "work" / "written").exists()


@pytest.mark.parametrize("change", ["plan", "work", "hidden"])
def test_a_sandbox_that_was_prepared_for_something_else_runs_nothing(
    spawner: Spawner, box: Sandbox, tmp_path: Path, change: str
) -> None:
    pid = prepare(spawner, box, tmp_path)
    if change == "plan":
        (tmp_path / "old").mkdir()
        box = structs.replace(box, grants=box.grants.more(write=[str(tmp_path / "old")]))
    else:  # a folder of that name, and not the one that was mounted
        (tmp_path / change).rename(tmp_path / "old")
        (tmp_path / change).mkdir()
    (tmp_path / "hidden" / "secret").write_text("secret")
    assert run_in(box, tmp_path, "cat ../hidden/secret 2>/dev/null; : > made; exit 4") == (4, b"")
    assert (tmp_path / "work" / "made").exists()
    spawner.close()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) in (0, 125)


def test_a_prepared_sandbox_that_was_killed_is_made_again(spawner: Spawner, box: Sandbox, tmp_path: Path) -> None:
    pid = prepare(spawner, box, tmp_path)
    os.kill(pid, signal.SIGKILL)
    until(lambda: orphans.is_zombie(pid))
    assert run_in(box, tmp_path, "exit 4")[0] == 4


def test_prepared_sandboxes_leave_no_process_and_no_descriptor(spawner: Spawner, box: Sandbox, tmp_path: Path) -> None:
    def count() -> tuple[set[int], int, int]:
        helper = len([*Path(f"/proc/{find_helper()}/fd").iterdir()])
        return set(list_children()), len([*Path("/proc/self/fd").iterdir()]), helper

    before = count()
    for number in range(8):
        dropped = prepare(spawner, box, tmp_path)
        start(tmp_path, "true")  # another program meanwhile
        if number % 2:
            assert run_in(box, tmp_path, f"exit {number}")[0] == number
        else:
            spawner.prepare(make_launcher_command(FREE))
            os.waitpid(dropped, 0)  # as the next sweep does
    start(tmp_path, "true")
    assert count() == before


def test_a_prepared_sandbox_ends_with_whoever_prepared_it(tmp_path: Path) -> None:
    if why := find_sandbox_flaw("namespaces"):
        pytest.skip(why)
    code = """
import os, sys
from pathlib import Path
from tests.isolation.test_sandbox import boxed
from aigon.isolation.enclosure import LAUNCHER
from aigon.process import run
from aigon.process.spawner import Spawner
run.spawners.append(Spawner(LAUNCHER))
run.spawners[0].start()
folder = Path(sys.argv[1])
run.prepare(boxed("namespaces", folder).command(["true"], folder / "work").argv)
run.spawners[0]._await_number()
print(run.spawners[0]._prepared.pid, flush=True)
os.kill(os.getpid(), 9)
"""
    argv = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(argv, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False)
    until(lambda: not Path(f"/proc/{int(done.stdout)}").exists())
