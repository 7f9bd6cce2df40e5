"""Programs that go on when the call that started them has returned, or its process has ended."""

import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from aigon.process.run import RunningProgram


def start_in_background(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], output: Path) -> RunningProgram:
    """Start a program in a session of its own whose output goes to a file. Raises OSError if it does not start.

    Signals to this process do not reach it. A thread collects its exit, so that no zombie is left.
    """
    with output.open("wb") as file:
        process = subprocess.Popen(
            argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True
        )
    threading.Thread(target=process.wait, daemon=True).start()
    return process


def collect_output(process: RunningProgram, timeout: float | None) -> tuple[bytes, bytes] | None:
    """Return standard output and standard error of a piped program once it has exited; None after `timeout` seconds."""
    try:
        return process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        return None
