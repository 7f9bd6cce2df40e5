"""What asks for the end, politely or at once. Signals are sent to a process of the test's own."""

import os
import select
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from aigon.process.stop import Stop

SCRIPT = """
    import os, signal, sys
    from aigon.process.stop import Stop
    with Stop(announce=lambda name: print("said", name)).handling() as stop:
        print(stop.asked, stop.now, repr(stop.reason))
        for name in sys.argv[1:]:
            os.kill(os.getpid(), signal.Signals[name])
            print(stop.asked, stop.now, stop.reason)
    os.kill(os.getpid(), signal.SIGTERM)
"""


def signalled(*names: str) -> list[str]:
    """What a process says while it is sent these signals; afterwards SIGTERM ends it as it would any other."""
    argv = [sys.executable, "-c", textwrap.dedent(SCRIPT), *names]
    done = subprocess.run(argv, capture_output=True, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    assert done.returncode == -signal.SIGTERM, done.stderr
    return done.stdout.splitlines()


def test_the_first_ctrl_c_asks_and_the_second_insists() -> None:
    assert signalled("SIGINT", "SIGINT", "SIGTERM") == [
        "False False ''", "said SIGINT", "True False SIGINT", "True True SIGINT", "True True SIGINT",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_other_signals_insist_at_once_also_after_a_ctrl_c(name: str) -> None:
    assert signalled(name, "SIGINT") == ["False False ''", f"True True {name}", f"True True {name}"]
    assert signalled("SIGINT", name)[-1] == f"True True {name}"


def test_a_stop_file_insists_and_can_be_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "STOP"
    stop = Stop([tmp_path / "OTHER", file])
    assert (stop.asked, stop.look(), select.select([stop], [], [], 0)[0]) == (False, False, [])
    file.touch()
    assert not stop.now, "nobody has looked yet"
    assert (stop.asked, stop.now, stop.reason) == (True, True, "stop-file")
    assert select.select([stop], [], [], 0)[0] == [stop]
    file.unlink()
    assert stop.asked, "it was asked for, and stays so"
    stop.close()
