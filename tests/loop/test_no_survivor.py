"""Whatever a run starts may leave a daemon that hides in every way there is: none outlives its phase, or delays it."""

import json
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.judge.backends.test_command import SCRIPT
from tests.lab import DONE_WHEN, Lab
from tests.loop.processes import LOOP, left_behind

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a child subreaper is Linux's")

HIDES = """
    import os, signal, sys, time
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if len(sys.argv) == 3:
        with open(sys.argv[1], "a") as file:
            file.write(f"{os.getpid()}\\n")
        open(sys.argv[2], "w").close()
        time.sleep(300)
        sys.exit()
    started = sys.argv[1] + f"-{os.getpid()}"
    if os.fork():
        until = time.monotonic() + 10
        while not os.path.exists(started) and time.monotonic() < until:
            time.sleep(0.01)
        os.unlink(started)
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
    os.execve(sys.executable, [sys.executable, "-ISE", __file__, sys.argv[1], started], {})
"""
"""`hides.py PIDS`: a daemon without parent, session or environment of the run's, deaf, that holds the pipe."""


def daemon(lab: Lab) -> str:
    """A command that leaves one."""
    (lab.home / "hides.py").write_text(textwrap.dedent(HIDES))
    return f"{sys.executable} -ISE {lab.home}/hides.py {lab.home}/pids"


def pids(lab: Lab) -> list[int]:
    """The daemons that there were."""
    file = lab.home / "pids"
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def living(lab: Lab) -> list[int]:
    """Those that are there still."""
    return [pid for pid in pids(lab) if Path(f"/proc/{pid}/cwd").exists()]


CHECK_THEM = """
    for pid in $(cat "$HOME/pids" 2> /dev/null); do
        [ -d /proc/$pid ] && ! grep -q ') Z ' /proc/$pid/stat && touch "$HOME/survivor"
    done
"""
"""What runs in a later phase notes whether one of an earlier phase is still there."""


def of_an_agent(lab: Lab) -> None:
    lab.agent(f'{daemon(lab)}\n[ "$AIGON_ITERATION" = 1 ] || touch done.txt')
    lab.write("looks.sh", f'{textwrap.dedent(CHECK_THEM)}\ntest ! -e "$HOME/survivor"\n')
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->", "alone <!-- verify: bash looks.sh -->")


def of_a_check(lab: Lab) -> None:
    lab.agent(f'{CHECK_THEM}\n[ "$AIGON_ITERATION" = 1 ] || touch done.txt')
    lab.config(checks={"tests": {"command": daemon(lab)}})
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")


def of_a_criterion(lab: Lab) -> None:
    lab.agent(f'{CHECK_THEM}\n[ "$AIGON_ITERATION" = 1 ] || touch done.txt')
    lab.spec(f"it is done <!-- verify: {daemon(lab)} && {DONE_WHEN} -->")


def of_a_hook(lab: Lab) -> None:
    lab.agent(f'{CHECK_THEM}\n[ "$AIGON_ITERATION" = 1 ] || touch done.txt')
    lab.write(".aigon/hooks/before_agent", f"#!/bin/sh\n{daemon(lab)}\n", executable=True)
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")


def of_a_judge(lab: Lab) -> None:
    judge = lab.home / "judge"
    judge.write_text(f"#!/bin/sh\n{daemon(lab)} < /dev/null\nexec {sys.executable} {SCRIPT} yes\n")
    judge.chmod(0o755)
    work = "echo 'half = 21' > app.py; [ $AIGON_ITERATION = 1 ] || { echo 'answer = 42' > app.py; touch done.txt; }"
    lab.agent(f"{CHECK_THEM}\n{work}")
    hook = f"#!/bin/sh\n{textwrap.dedent(CHECK_THEM)}"
    lab.write(".aigon/hooks/after_checks", hook, executable=True)
    lab.config(checks={"tests": {"command": "test -e app.py"}}, judge={"backend": "command", "command": [str(judge)]})
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->", "it is elegant")


def of_a_proof(lab: Lab) -> None:
    """Its commands run in the clean room last; what looks then is a hook."""
    of_a_criterion(lab)
    lab.write(".aigon/hooks/after_checks", f"#!/bin/sh\n{textwrap.dedent(CHECK_THEM)}", executable=True)
    lab.config(proof={"mode": "clean-room", "home": "real"})


def of_a_set_up(lab: Lab) -> None:
    lab.agent(f'{CHECK_THEM}\n[ "$AIGON_ITERATION" = 1 ] || touch done.txt')
    lab.config(worktree={"setup": daemon(lab)})
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")


SERVER = """
    import subprocess, sys
    from http.server import BaseHTTPRequestHandler, HTTPServer
    subprocess.run(sys.argv[2:])
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(204)
            self.end_headers()
    HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def of_a_server(lab: Lab) -> None:
    lab.write("server.py", textwrap.dedent(SERVER))
    lab.agent(f'{CHECK_THEM}\n[ "$AIGON_ITERATION" = 1 ] || touch done.txt')
    command = [sys.executable, "server.py", "{port}", *daemon(lab).split()]
    lab.config(endpoints={"command": command, "requests": [{"path": "/", "expect": {"status": 204}}]})
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")


LEAVE: dict[str, Callable[[Lab], None]] = {
    "agent": of_an_agent,
    "check": of_a_check,
    "criterion": of_a_criterion,
    "hook": of_a_hook,
    "judge": of_a_judge,
    "proof": of_a_proof,
    "set-up": of_a_set_up,
    "server": of_a_server,
}
QUICK = ("judge", "set-up")


@pytest.mark.parametrize("who", [pytest.param(who, marks=() if who in QUICK else pytest.mark.slow) for who in LEAVE])
def test_a_daemon_that_hides_is_gone_before_the_next_phase(lab: Lab, who: str) -> None:
    lab.config(proof="in-place")
    LEAVE[who](lab)
    lab.commit("a feature")
    begun = time.monotonic()
    ran = lab.aigon(*LOOP, *(["--worktree"] if who == "set-up" else []))
    took = time.monotonic() - begun
    assert ran.code == 0, ran.out + ran.err
    assert pids(lab), "there were daemons"
    assert living(lab) == []
    assert not (lab.home / "survivor").exists()
    assert left_behind(lab) == []
    assert took < 30, "nobody waited for the pipe that it holds"
    lab.sound()


WITHOUT = """
    import json, sys, time
    from pathlib import Path
    from aigon.process import orphans
    from aigon.process.run import Command, run
    from aigon.process.orphans import end_marked_survivors
    orphans.SUBREAPER = False
    assert not orphans.adopt_orphans()
    invocation, env = "inv-" + sys.argv[2], json.loads(sys.argv[3])
    argv = ["bash", "-c", sys.argv[1]]
    exited = run(Command(argv, Path.cwd(), {"AIGON_INVOCATION": invocation, **env}))
    orphans.sweep()
    print(exited.exit_code, end_marked_survivors(invocation))
"""


NAP = 'trap "" TERM INT; echo $$ >> "$HOME/pids"; while :; do sleep 60; done\n'


def without(lab: Lab, script: str) -> str:
    """Run a script as on a system that gives orphans to init alone: its exit code, and how many the marks found."""
    (lab.home / "nap").write_text(NAP)
    argv = [sys.executable, "-c", textwrap.dedent(WITHOUT), script, lab.root.parent.name, json.dumps(lab.env)]
    done = subprocess.run(argv, cwd=lab.root, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_without_a_subreaper_what_was_seen_is_ended_with_its_session(lab: Lab) -> None:
    hidden = 'setsid env -i HOME="$HOME" PATH="$PATH" bash "$HOME/nap" & sleep 0.6'
    assert without(lab, hidden) == "0 0"
    assert len(pids(lab)) == 1 and living(lab) == []


def test_without_a_subreaper_what_forked_twice_unseen_is_found_by_its_mark(lab: Lab) -> None:
    forks = '(setsid bash "$HOME/nap" > /dev/null 2>&1 &); until [ -s "$HOME/pids" ]; do sleep 0.001; done'
    assert without(lab, forks).startswith("0 ")
    assert len(pids(lab)) == 1 and living(lab) == []


@pytest.mark.slow
def test_without_a_subreaper_a_whole_loop_leaves_nothing_that_has_its_mark(lab: Lab) -> None:
    """As on macOS, whose own ways nobody could try here."""
    (lab.home / "nap").write_text(NAP)
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.config(proof="in-place")
    lab.agent(
        '(setsid bash "$HOME/nap" > /dev/null 2>&1 &); until [ -s "$HOME/pids" ]; do sleep 0.01; done; touch done.txt'
    )
    code = "from aigon.process import orphans; orphans.SUBREAPER = False; from aigon.cli import main; main()"
    argv = [sys.executable, "-c", code, *LOOP]
    done = subprocess.run(argv, cwd=lab.root, env=lab.env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(pids(lab)) == 1 and living(lab) == []
    assert left_behind(lab) == []
