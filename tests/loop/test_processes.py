"""What agents and checks do to the machine: daemons, held pipes, floods, hangs, secrets, through the whole loop."""

import sys
import textwrap
import time

import pytest

from tests.lab import DONE_WHEN, Lab
from tests.loop.processes import LOOP, RESUME, left_behind, turns

IN_PLACE = True
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a child subreaper is Linux's")

DAEMON = """
    import os, signal, sys, time
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if os.fork():
        until = time.monotonic() + 10
        while not os.path.exists(sys.argv[1]) and time.monotonic() < until:
            time.sleep(0.01)
        os._exit(0)
    os.setsid()
    if os.fork(): os._exit(0)
    while True:
        open(sys.argv[2], "a").write("still here\\n")
        open(sys.argv[1], "w").close()
        time.sleep(0.02)
"""
"""`daemon.py STARTED FILE`: leaves the session, holds the pipe, and edits FILE for ever."""


def daemon(lab: Lab, name: str) -> str:
    """A command that leaves a daemon which edits `<name>.txt` in the work tree."""
    (lab.home / "daemon.py").write_text(textwrap.dedent(DAEMON))
    return f'{sys.executable} -S -E "$HOME/daemon.py" "$HOME/{name}-started" "$PWD/{name}.txt"'


@linux
def test_daemons_of_an_agent_and_of_checks_are_gone_before_the_next_phase(lab: Lab) -> None:
    lab.write(".gitignore", "check.txt\n")
    lab.commit("ignore what the check's daemon writes")
    lab.spec(
        f"it is done <!-- verify: {DONE_WHEN} -->",
        f"checked <!-- verify: {daemon(lab, 'check')} -->",
        'quiet <!-- verify: a=$(cksum agent.txt); sleep 0.2; test "$a" = "$(cksum agent.txt)" -->',
    )
    lab.agent(f"""
        echo turn >> "$HOME/turns"
        for entry in /proc/[0-9]*; do
            tr '\\0' ' ' < $entry/cmdline 2> /dev/null | grep -q "daemon.py $HOME/check" && touch "$HOME/survivor"
        done
        {daemon(lab, "agent")}
        [ "$AIGON_ITERATION" = 1 ] || touch done.txt
    """)
    lab.config(proof={"home": "real"})
    begun = time.monotonic()
    ran = lab.aigon(*LOOP, "--max-iterations", "3")
    assert ran.code == 0, ran.out + ran.err
    assert time.monotonic() - begun < 60, "held pipes do not hold the run, as they would for ever"
    assert turns(lab) == 2
    assert (lab.home / "agent-started").exists()
    assert (lab.home / "check-started").exists()
    assert not (lab.home / "survivor").exists()
    assert left_behind(lab) == []
    assert "still here" in lab.git("show", "HEAD:agent.txt"), "what it wrote before the sweep is committed"
    lab.sound()


@linux
def test_daemons_of_a_validation_without_a_run_are_ended_too(lab: Lab) -> None:
    lab.spec(f"checked <!-- verify: {daemon(lab, 'check')} -->")
    lab.config(proof={"home": "real"})
    lab.commit("a spec")
    ran = lab.aigon("feature-validate", "42")
    assert ran.code == 0, ran.out + ran.err
    assert (lab.home / "check-started").exists()
    assert left_behind(lab) == []


def test_an_agent_that_hangs_runs_into_its_deadline_and_its_work_is_judged(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent('echo turn >> "$HOME/turns"; touch done.txt; sleep 60 & wait')
    ran = lab.aigon(*LOOP, "--iteration-timeout", "1s")
    assert ran.code == 0, ran.out + ran.err
    assert lab.state()["iterations"][1]["turn"] == "timed_out"
    assert left_behind(lab) == []
    lab.sound()


def test_an_agent_that_falls_silent_is_ended_before_its_deadline_if_asked_for(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent('echo turn >> "$HOME/turns"; touch done.txt; echo thinking; sleep 60 & wait')
    lab.config(guards={"idleTimeout": "500ms"})
    ran = lab.aigon(*LOOP)
    assert ran.code == 0, ran.out + ran.err
    assert lab.state()["iterations"][1]["turn"] == "timed_out"
    assert "no output for 0.5s (guards.idleTimeout)" in ran.out
    assert left_behind(lab) == []
    lab.sound()


def test_agents_that_fail_every_turn_end_the_run_with_their_work_committed(lab: Lab) -> None:
    lab.spec("never <!-- verify: false -->")
    lab.agent('echo "$AIGON_ITERATION" > n.txt; exit 9')
    lab.config(guards={"repeatedError": 0})
    ran = lab.aigon(*LOOP)
    assert ran.code == 3, ran.out + ran.err
    assert "failed 3 turns in a row" in lab.state()["stop_reason"]
    assert lab.git("show", "HEAD:n.txt") == "3"
    again = lab.aigon(*RESUME, "--max-iterations", "1")
    assert again.code == 3
    assert lab.state()["iteration"] == 4, "the count of failures starts anew"


@pytest.mark.slow
def test_a_flood_is_capped_in_the_run_folder_with_head_and_tail(lab: Lab) -> None:
    flood = "echo begin; yes 'a line of a flood' | head -c 20000000; echo the end"
    lab.spec(f"it is done <!-- verify: {flood}; {DONE_WHEN} -->")
    lab.agent(f"{flood}; touch done.txt")
    ran = lab.aigon(*LOOP)
    assert ran.code == 0, ran.out + ran.err
    (folder,) = lab.path(".aigon/runs").glob("*/001")
    for name in ("agent.log", "criterion-1.log"):
        log = (folder / name).read_bytes()
        assert log.startswith(b"begin\n")
        assert log.endswith(b"the end\n")
        assert b"bytes left out" in log
        assert len(log) < 9_000_000
    lab.sound()


def test_binary_output_and_a_prompt_that_nobody_reads_harm_nothing(lab: Lab) -> None:
    noise = "head -c 100000 /dev/urandom; printf '\\033]0;title\\007\\xff\\x00'"
    lab.spec(f"it is done <!-- verify: {noise}; {DONE_WHEN} -->")
    lab.agent(f"exec < /dev/null; {noise}; {noise} >&2; [ $AIGON_ITERATION = 1 ] || touch done.txt")
    ran = lab.aigon(*LOOP)
    assert ran.code == 0, ran.out + ran.err
    lab.sound()


SECRET = "correct-horse-battery-staple"


def everything_written(lab: Lab) -> dict[str, bytes]:
    """Every file of aigon's own: run folder, state file, journal, cache; and all that git holds."""
    places = [lab.path(".aigon"), lab.home / "state"]
    files = [file for place in places for file in place.rglob("*") if file.is_file()]
    return {str(file): file.read_bytes() for file in files} | {"git": lab.git("log", "-p", "--all").encode()}


def test_no_secret_is_written_down(lab: Lab) -> None:
    token = "ghp_" + "a1B2c3" * 6
    (lab.home / "secret").write_text(SECRET)
    in_pieces = f"printf '{SECRET[:9]}'; sleep 0.05; printf '{SECRET[9:]}\\n'"
    shape = f"printf '{token[:12]}'; sleep 0.05; printf '{token[12:]}\\n'"
    says_too_much = f'cat "$HOME/secret"; {in_pieces}; {shape}; test "$DEPLOY_TOKEN" = ""; {DONE_WHEN}\n'
    (lab.home / "check.sh").write_text(says_too_much)
    lab.spec('quiet <!-- verify: bash "$HOME/check.sh" -->')
    (lab.home / "agent-says").write_text(f'echo "$DEPLOY_TOKEN"; {in_pieces}; {shape}; ({in_pieces}) >&2\n')
    lab.agent('. "$HOME/agent-says"; [ "$AIGON_ITERATION" = 1 ] && exit 3; touch done.txt')
    lab.config(agents={"mine": {"command": [str(lab.home / "mine-agent")], "pass": ["DEPLOY_TOKEN"]}})
    lab.config(proof={"home": "real"})
    ran = lab.aigon(*LOOP, env={"DEPLOY_TOKEN": SECRET})
    assert ran.code == 0, ran.out + ran.err
    leaks = [name for name, content in everything_written(lab).items() if SECRET.encode() in content]
    shapes = [name for name, content in everything_written(lab).items() if token.encode() in content]
    assert (leaks, shapes) == ([], [])
    assert SECRET not in ran.out + ran.err
    logs = [log.read_bytes().count(b"[redacted]") for log in sorted(lab.path(".aigon/runs").glob("*/001/*.log"))]
    assert logs == [4, 3]


@pytest.mark.slow
def test_no_secret_of_a_test_report_is_written_down(lab: Lab) -> None:
    lab.write(
        "test_it.py", 'import os\ndef test_it():\n    assert open(os.environ["HOME"] + "/secret").read() == "x"\n'
    )
    lab.commit("a test that shows what it compares")
    (lab.home / "secret").write_text(SECRET)
    lab.spec("All tests pass", f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent("touch done.txt")
    lab.config(proof={"home": "real"})
    ran = lab.aigon(*LOOP, "--max-iterations", "1", env={"DEPLOY_TOKEN": SECRET})
    assert ran.code == 3, ran.out + ran.err
    assert "Tests: 0/1 passed" in lab.git("show", "HEAD"), "the report was read"
    leaks = [name for name, content in everything_written(lab).items() if SECRET.encode() in content]
    assert leaks == []
    assert SECRET not in ran.out + ran.err
