"""The feature of a soak, and one invocation of aigon on it, with one fault."""

import json
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from tests.faults.soak_faults import Drawn
from tests.lab import Lab

AGENT = """#!/bin/sh
memory=$(awk '/^VmRSS/ {print $2}' /proc/$PPID/status)
used=$(awk '{print $14 + $15 + $16 + $17}' /proc/$PPID/stat)
echo "$PPID" "$memory" "$(ls /proc/$PPID/fd | wc -l)" "$used" >> "$HOME/samples"
[ ! -e "$HOME/crash" ] || { rm "$HOME/crash"; echo half > half.txt; exit 1; }
[ ! -e "$HOME/daemon" ] || { rm "$HOME/daemon"; setsid sleep 300 < /dev/null > /dev/null 2>&1 & }
mkdir -p work
echo "iteration $AIGON_ITERATION" > "work/$((AIGON_ITERATION % 20)).txt"
sleep 0.05
echo "$AIGON_ITERATION" > counter.txt
"""
"""Progress with every turn; what it writes depends on the number of the iteration alone. It also looks at the loop."""
CHECK = '[ ! -e "$HOME/red" ] || { rm "$HOME/red"; exit 1; }; grep -q sample README.md'
DEADLINE = 180.0


@dataclass(frozen=True, slots=True)
class Invoked:
    """How it ended; `start` is in seconds until its first event, 0 where there was none."""

    code: int
    out: str
    err: str
    start: float
    signalled: bool


def laid_out(folder: Path, iterations: int) -> Lab:
    """A feature that so many iterations finish, and not one less."""
    lab = Lab(folder).init()
    lab.spec(f"it counts <!-- metric: cat counter.txt >= {iterations} -->")
    lab.write(".aigon/agents/counts.sh", AGENT, executable=True)
    lab.config(
        agents={"counts": {"adapter": "command", "command": [".aigon/agents/counts.sh"]}},
        defaultAgent="counts",
        judge={"backend": "none"},
        checks={"script": {"command": ["sh", "-c", CHECK]}},
        guards={"stall": 0, "repeatedError": 0},
    )
    lab.commit("the project")
    return lab


def invoked(lab: Lab, drawn: Drawn, turns: int, *, first: bool) -> Invoked:
    """Start or go on, and let the fault happen. Raises AssertionError for one that does not end."""
    if not first:
        drawn.fault.before(lab)
    how, began = "--loop" if first else "--resume", time.time()
    process = lab.start("feature-implement", "42", how, "--max-iterations", str(turns), "--json")
    watcher = _Watcher(process, drawn, began)
    watcher.start()
    try:
        code = process.wait(timeout=DEADLINE)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError(f"it did not end within {DEADLINE:.0f} s: {drawn}") from None
    watcher.join()
    assert process.stderr
    return Invoked(code, watcher.last, process.stderr.read(), watcher.first, watcher.signalled)


class _Watcher(threading.Thread):
    """Reads the events as they come, and sends the signals when their time has come."""

    def __init__(self, process: "subprocess.Popen[str]", drawn: Drawn, began: float) -> None:
        super().__init__(daemon=True)
        self._process, self._drawn, self._began = process, drawn, began
        self.first, self.last, self.signalled = 0.0, "", False

    def run(self) -> None:
        """Until its output ends."""
        turn = 0
        assert self._process.stdout
        for line in self._process.stdout:
            self.first, self.last = self.first or time.time() - self._began, line
            turn += json.loads(line)["event"] == "iteration_started"
            if turn == self._drawn.turn and self._drawn.fault.signals and not self.signalled:
                self.signalled = True
                threading.Timer(self._drawn.delay, self._signal).start()

    def _signal(self) -> None:
        for number in self._drawn.fault.signals:
            self._process.send_signal(number)
            if number == signal.SIGINT:
                time.sleep(0.1)  # of two at once a process sees one
