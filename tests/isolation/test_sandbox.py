"""An agent in a sandbox is a process like any other: signals, exit codes, pipes; and nothing of it survives."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

from aigon.config.grants import Grants, Mechanism, Network
from aigon.errors import AigonError
from aigon.isolation import landlock, mechanisms, sandbox
from aigon.isolation.enclosure import LAUNCHER, Enclosure, Isolation
from aigon.isolation.machine_paths import expand_existing, load_sandbox_data
from aigon.isolation.sandbox import Sandbox
from aigon.model.turns import ProgramExit
from aigon.process import run as process
from aigon.process.orphans import list_children
from aigon.process.spawner import Spawner
from aigon.process.start import capture_output
from tests.lab import alive, until

QUICK: process.EndingSteps = ((signal.SIGINT, 0.5), (signal.SIGTERM, 0.5), (signal.SIGKILL, 5.0))
EVERY: tuple[Mechanism, ...] = ("bwrap", "namespaces", "landlock")


@pytest.fixture(scope="module", autouse=True)
def spawner() -> Iterator[None]:
    """What starts agents in a run."""
    spawner = Spawner(LAUNCHER)
    spawner.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "spawners", [spawner])
        yield
    spawner.close()


def usable(mechanism: Mechanism, network: Network = "open") -> None:
    """Skip where this machine cannot do it."""
    if why := sandbox.find_sandbox_flaw(mechanism, network):
        pytest.skip(f"{mechanism} does not work here: {why}")


@pytest.fixture(params=EVERY)
def mechanism(request: pytest.FixtureRequest) -> Mechanism:
    """Each mechanism that works here."""
    found: Mechanism = request.param
    usable(found)
    return found


def boxed(mechanism: Mechanism, folder: Path, network: Network = "open", **more: tuple[str, ...]) -> Sandbox:
    """A sandbox in which `folder`/work can be written."""
    for name in ("work", "own"):
        (folder / name).mkdir(exist_ok=True)
    grants = Grants(**{"write": (str(folder / "work"),), **more}, network=network)  # type: ignore[arg-type]
    return Sandbox(mechanism, grants, folder / "own")


def script(folder: Path, text: str) -> list[str]:
    """A Python program in the workspace."""
    file = folder / "work" / "program.py"
    file.parent.mkdir(exist_ok=True)
    file.write_text(textwrap.dedent(text))
    return [sys.executable, "-u", str(file)]


def run(box: Sandbox, argv: list[str], deadline: float | None = None, stdin: Path | None = None) -> ProgramExit:
    """The program in the sandbox, as an agent is run."""
    cwd = Path(box.grants.write[0])
    program, env = box.command(argv, cwd), box.environment(os.environ)
    command = process.Command(program.argv, cwd, env, stdin, deadline, ladder=QUICK, enter=program.enter)
    return process.run(command)


def test_the_agents_own_handler_of_sigint_runs_and_its_exit_code_counts(mechanism: Mechanism, tmp_path: Path) -> None:
    argv = script(
        tmp_path,
        """
        import signal, sys, time
        def ended(*_):
            open("handled", "w").write("SIGINT")
            print("saved")
            sys.exit(7)
        signal.signal(signal.SIGINT, ended)
        print("ready")
        time.sleep(30)
        """,
    )
    exited = run(boxed(mechanism, tmp_path), argv, deadline=1.0)
    assert (exited.exit_code, exited.timed_out) == (7, True)
    assert exited.stdout.split() == [b"ready", b"saved"]
    assert (tmp_path / "work" / "handled").read_text() == "SIGINT"


@pytest.mark.slow
def test_an_agent_that_hears_neither_sigint_nor_sigterm_is_killed(mechanism: Mechanism, tmp_path: Path) -> None:
    argv = script(
        tmp_path,
        """
        import signal, time
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda n, _: print(n))
        while True:
            time.sleep(1)
        """,
    )
    exited = run(boxed(mechanism, tmp_path), [*argv, marker := "marker-deaf"], deadline=1.0)
    assert exited.exit_code == -signal.SIGKILL and exited.stdout.split() == [b"2", b"15"]
    until(lambda: not alive(marker))


@pytest.mark.parametrize("code", [0, 3, 125])
def test_the_exit_code_is_the_agents(mechanism: Mechanism, tmp_path: Path, code: int) -> None:
    assert run(boxed(mechanism, tmp_path), ["/bin/sh", "-c", f"exit {code}"]).exit_code == code


def test_an_agent_that_died_of_a_signal_says_so(mechanism: Mechanism, tmp_path: Path) -> None:
    code = run(boxed(mechanism, tmp_path), ["/bin/sh", "-c", "kill -TERM $$"]).exit_code
    assert code == (-signal.SIGTERM if mechanism == "landlock" else 128 + signal.SIGTERM)


def test_standard_input_and_output_are_as_without(mechanism: Mechanism, tmp_path: Path) -> None:
    (tmp_path / "prompt").write_text("do it\n")
    assert run(boxed(mechanism, tmp_path), ["/bin/cat"], stdin=tmp_path / "prompt").stdout == b"do it\n"


DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.environ.clear()
        os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(60)", sys.argv[1]])
    os._exit(0)
os.wait()
time.sleep(float(sys.argv[2]))
"""


@pytest.mark.parametrize("name", ["bwrap", "namespaces"])
def test_a_daemon_dies_with_the_agent_where_it_has_process_numbers_of_its_own(name: Mechanism, tmp_path: Path) -> None:
    usable(name)
    if name == "namespaces" and not sandbox.has_process_numbers():
        pytest.skip("/proc cannot be mounted here")
    marker = f"marker-daemon-{os.getpid()}"
    assert run(boxed(name, tmp_path), [*script(tmp_path, DAEMON), marker, "0.3"]).exit_code == 0
    until(lambda: not alive(marker), 5)  # nobody sweeps here


PARENT = """
import os, sys
from pathlib import Path
from aigon.config.grants import Grants
from aigon.process import run as process
from aigon.process.watchdog import run_watchdog
from aigon.isolation.enclosure import LAUNCHER
from aigon.isolation.sandbox import Sandbox
from aigon.process.spawner import Spawner
folder = Path(sys.argv[2])
box = Sandbox(sys.argv[1], Grants((sys.argv[2],)), folder)
if sys.argv.pop(3) == "spawner":
    process.spawners.append(Spawner(LAUNCHER))
    process.spawners[0].start()
program = box.command(sys.argv[3:], folder)
with run_watchdog("none") as guardian:  # the kernel ends what is in namespaces without one
    told = guardian.record_start if program.enter else print
    process.run(process.Command(program.argv, folder, os.environ, enter=program.enter, started=told))
"""


@pytest.mark.parametrize("how", ["launcher", "spawner"])
def test_the_agent_dies_when_aigon_is_killed(mechanism: Mechanism, tmp_path: Path, how: str) -> None:
    if how == "spawner" and mechanism != "namespaces":
        pytest.skip("it is for launchers")
    marker = f"marker-orphan-{os.getpid()}"
    agent = script(tmp_path, "import time; open('up', 'w'); time.sleep(60)")
    aigon = [sys.executable, "-c", PARENT, mechanism, str(tmp_path / "work"), how, *agent, marker]
    started = subprocess.Popen(aigon, start_new_session=True)
    until((tmp_path / "work" / "up").exists)
    beside = list_children(started.pid)
    started.kill()
    started.wait()
    until(lambda: not alive(marker) and not any(Path(f"/proc/{pid}").exists() for pid in beside), 5)


def test_what_is_hidden_cannot_be_read_and_what_is_not_granted_cannot_be_written(
    mechanism: Mechanism, tmp_path: Path
) -> None:
    for name in ("secret", "beside"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    box = boxed(mechanism, tmp_path, hidden=(str(tmp_path / "secret"),))
    text = f'cd {tmp_path}; cat secret/file; cat beside/file; echo x > beside/file; echo x > work/made && echo " done"'
    assert run(box, ["/bin/sh", "-c", f"exec 2>/dev/null; {text}"]).stdout == b"beside done\n"
    assert (tmp_path / "beside" / "file").read_text() == "beside"


ANSWERS = """
import ctypes, os, signal, sys
def answer(of):
    try:
        return of()
    except OSError as error:
        return error.strerror
rights = [line.split()[1] for line in open("/proc/self/status") if line.startswith(("CapBnd", "NoNewPrivs"))]
print(answer(lambda: open("../secret/file").read()), answer(lambda: open("../beside/file", "w").write("x")))
print(answer(lambda: open("made", "w").write("x")), answer(lambda: os.listdir("..")))
print(answer(lambda: os.kill(int(sys.argv[1]), 0)), answer(lambda: open(f"/proc/{sys.argv[1]}/environ").read(1)))
print(sorted(map(int, os.listdir("/proc/self/fd")))[:-1], rights)
"""


@pytest.mark.parametrize("times", [3, pytest.param(1000, marks=pytest.mark.slow)])
def test_only_the_agent_is_confined_and_nothing_else_that_runs(tmp_path: Path, times: int) -> None:
    usable("landlock")
    for name in ("secret", "beside"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    box = boxed("landlock", tmp_path, hidden=(str(tmp_path / "secret"),))
    before = Path("/proc/self/status").read_text().partition("CapInh")[2].partition("Seccomp:")[0]
    with (tmp_path / "beside" / "file").open() as held:  # what aigon has open does not reach the agent
        os.set_inheritable(held.fileno(), True)
        exited = run(box, [*script(tmp_path, ANSWERS), str(os.getpid())])
    refused, scoped = "Permission denied", landlock.landlock_version() >= 6
    told = exited.stdout.decode().splitlines()
    assert told[:2] == [f"{refused} {refused}", f"1 {refused}"], exited
    assert told[2] == f"{'Operation not permitted' if scoped else None} {refused}"
    assert told[3].startswith("[0, 1, 2] ")
    for _ in range(times):
        assert run(box, ["/bin/true"]).exit_code == 0
        (tmp_path / "beside" / "file").write_text("still free")
    with ThreadPoolExecutor(1) as later:
        assert later.submit((tmp_path / "secret" / "file").read_text).result() == "secret"
    assert Path("/proc/self/status").read_text().partition("CapInh")[2].partition("Seccomp:")[0] == before


def test_an_agent_that_cannot_be_confined_does_not_start(tmp_path: Path) -> None:
    def fail() -> None:
        raise OSError(1, "landlock_restrict_self: Operation not permitted")

    exited = process.run(process.Command(["/bin/touch", "made"], tmp_path, os.environ, enter=fail))
    assert exited.start_error.startswith("landlock_restrict_self") and not (tmp_path / "made").exists()


UNDO = r"""
cd /; umount SECRET; umount -l SECRET; umount -R -l /; mount -o remount,rw /; mount --bind BESIDE SECRET
unshare -Urm sh -c 'umount -l SECRET; cat SECRET/file; mount -o remount,rw,bind /; echo x > BESIDE/file'
for process in /proc/[0-9]*; do
    cat $process/root/SECRET/file $process/cwd/../secret/file; (cd $process/cwd && cat ../secret/file secret/file)
    nsenter -t ${process#/proc/} -U -m cat SECRET/file
done
echo x > BESIDE/file
"""


@pytest.mark.parametrize("numbers", [True, False])
def test_nobody_inside_can_undo_the_mounts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, numbers: bool) -> None:
    usable("namespaces")
    if not numbers:
        monkeypatch.setattr(sandbox, "has_process_numbers", lambda: False)
    for name in ("secret", "beside"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("TOLD")
    box = boxed("namespaces", tmp_path, hidden=(str(tmp_path / "secret"),))
    text = UNDO.replace("SECRET", str(tmp_path / "secret")).replace("BESIDE", str(tmp_path / "beside"))
    done = run(box, ["/bin/sh", "-c", f"{text}\necho alive"])
    assert b"TOLD" not in done.stdout and done.stdout.endswith(b"alive\n")
    assert (tmp_path / "beside" / "file").read_text() == "TOLD"


CALL = """
import socket, sys
for name in sys.argv[1:]:
    try:
        socket.socket(socket.AF_UNIX).connect(name.replace("@", chr(0)))
        print("open")
    except OSError:
        print("closed")
"""


def test_sockets_of_the_person_are_out_of_reach(mechanism: Mechanism, tmp_path: Path) -> None:
    if mechanism == "landlock":
        pytest.skip("Landlock does not refuse to connect to a path")
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as theirs:  # a short path
        theirs.bind(f"{folder}/tmux")
        theirs.listen()
        argv = [*script(tmp_path, CALL), f"{folder}/tmux"]
        assert run(boxed(mechanism, tmp_path), argv).stdout == b"open\n"
        assert run(boxed(mechanism, tmp_path, own=(folder,)), argv).stdout == b"closed\n"


def test_an_abstract_socket_is_out_of_reach_where_the_kernel_can_scope_it(mechanism: Mechanism, tmp_path: Path) -> None:
    if landlock.landlock_version() < 6:
        pytest.skip("nothing scopes abstract sockets here")
    with socket.socket(socket.AF_UNIX) as theirs:
        theirs.bind(f"\0aigon-{os.getpid()}")
        theirs.listen()
        argv = [*script(tmp_path, CALL), f"@aigon-{os.getpid()}"]
        assert run(boxed(mechanism, tmp_path), argv).stdout == b"closed\n"


def test_a_closed_network_is_closed_and_an_open_one_is_open(mechanism: Mechanism, tmp_path: Path) -> None:
    usable(mechanism, "closed")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        argv = script(tmp_path, f"import socket; socket.create_connection(('127.0.0.1', {port}), 2)")
        assert run(boxed(mechanism, tmp_path), argv).exit_code == 0
        assert run(boxed(mechanism, tmp_path, "closed"), argv).exit_code == 1


def test_what_an_agent_writes_in_a_cache_lasts_for_the_run_and_stays_its_own(tmp_path: Path) -> None:
    usable("namespaces")
    if not mechanisms.can_overlay(tmp_path / "private"):
        pytest.skip("no overlay works on this file system")
    cache = tmp_path / "home" / "cache"
    cache.mkdir(parents=True)
    (cache / "wheel").write_text("mine")
    box = boxed("namespaces", tmp_path, private=(str(cache),), own=(str(tmp_path / "home"),))
    box = replace(box, changes=tmp_path / "private" / "one")
    assert run(box, ["sh", "-c", f"echo bad > {cache}/wheel; echo new > {cache}/new"]).exit_code == 0
    assert run(box, ["cat", f"{cache}/wheel", f"{cache}/new"]).stdout == b"bad\nnew\n"
    assert [file.name for file in cache.iterdir()] == ["wheel"] and (cache / "wheel").read_text() == "mine"
    box.close()
    assert not (tmp_path / "private" / "one").exists()


def test_a_mechanism_that_was_asked_for_and_does_not_work_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mechanisms, "find_bubblewrap", lambda: None)
    sandbox.find_sandbox_flaw.cache_clear()
    try:
        with pytest.raises(AigonError) as caught:
            sandbox.choose_mechanism("bwrap")
    finally:
        sandbox.find_sandbox_flaw.cache_clear()
    assert caught.value.code == 7 and "bwrap" in str(caught.value) and "Install bubblewrap" in caught.value.hint


def test_auto_takes_what_works_and_nothing_where_nothing_does(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = {"bwrap"}
    monkeypatch.setattr(sandbox, "find_sandbox_flaw", lambda name, _network="open": "broken" if name in broken else "")
    assert sandbox.choose_mechanism("auto") == "namespaces"
    broken.add("namespaces")
    assert sandbox.choose_mechanism("auto") == "landlock"
    broken.add("landlock")
    assert sandbox.choose_mechanism("auto") == "none" and "bwrap: broken" in sandbox.explain_no_mechanism()
    with pytest.raises(AigonError, match="network"):
        sandbox.choose_mechanism("auto", "closed")
    with pytest.raises(AigonError, match="network"):
        sandbox.choose_mechanism("none", "closed")


OFFLINE = """
import socket, sys
with socket.create_server(("127.0.0.1", 0)) as mine:
    socket.create_connection(mine.getsockname(), 2)
print("loopback")
socket.create_connection(("127.0.0.1", int(sys.argv[1])), 2)
print("outside")
"""


@pytest.mark.parametrize("name", mechanisms.CLOSING)
def test_checks_in_a_clean_room_have_a_loopback_of_their_own_and_no_other_network(
    name: Isolation, tmp_path: Path
) -> None:
    workspace, export, scratch = (tmp_path / part for part in ("workspace", "export", "scratch"))
    for place in (workspace, export, scratch):
        place.mkdir()
    if why := mechanisms.find_isolation_flaw(workspace, name, closed=True):
        pytest.skip(f"{name} does not work here: {why}")
    (export / "program.py").write_text(OFFLINE)
    with socket.create_server(("127.0.0.1", 0)) as server:
        argv = [sys.executable, "program.py", str(server.getsockname()[1])]
        for closed, expected in ((True, b"loopback\n"), (False, b"loopback\noutside\n")):
            enclosure = Enclosure(name, workspace, export, scratch, closed=closed)
            _, out, err = capture_output(enclosure.wrap_command(argv, Path()), cwd=tmp_path, env=os.environ)
            assert out == expected, err


def test_a_network_of_checks_that_cannot_be_closed_is_refused_by_name(tmp_path: Path) -> None:
    refused: tuple[Isolation, ...] = ("landlock", "none")
    for wanted in refused:
        with pytest.raises(AigonError, match="network of checks") as caught:
            mechanisms.choose_isolation(tmp_path, wanted, "closed")
        assert (caught.value.code, caught.value.where) == (7, "sandbox.checksNetwork")


def test_the_persons_own_sockets_are_hidden_wherever_they_lie(mechanism: Mechanism, tmp_path: Path) -> None:
    if mechanism == "landlock":
        pytest.skip("Landlock does not refuse to connect to a path")
    (tmp_path / "tmux").mkdir()
    places = [str(tmp_path / "agent"), str(tmp_path / "tmux" / "default")]
    env = {"SSH_AUTH_SOCK": places[0], "TMUX_TMPDIR": str(tmp_path / "tmux")}
    with socket.socket(socket.AF_UNIX) as agent, socket.socket(socket.AF_UNIX) as terminal:
        for theirs, place in zip((agent, terminal), places, strict=True):
            theirs.bind(place)
            theirs.listen()
        hidden = expand_existing(load_sandbox_data().never, env)
        argv = [*script(tmp_path, CALL), *places]
        assert run(boxed(mechanism, tmp_path, hidden=hidden), argv).stdout == b"closed\nclosed\n"
