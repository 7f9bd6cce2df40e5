"""Every signal in every phase of a run: in time, with the state saved, nothing left running, and resumed to its end."""

import json
import random
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import pytest

from tests.judge.backends.test_command import SCRIPT
from tests.lab import DONE_WHEN, Lab, finish, interrupt, until
from tests.loop.processes import LOOP, RESUME, go, left_behind
from tests.loop.test_held_up import claude

IN_TIME = 10.0
"""Seconds from a second Ctrl+C, a SIGTERM or a SIGHUP to the end."""
HANGS = """
    trap '' INT TERM HUP
    setsid bash -c 'trap "" INT TERM HUP; while :; do sleep 60; done' > /dev/null 2>&1 &
    touch "$HOME/reached"
    until [ -e "$HOME/go" ]; do sleep 0.05; done
"""
"""Deaf to signals, with a daemon beside it, until it is told `go`."""
WORKS = """
    if [ "$AIGON_ITERATION" = 1 ]; then echo 'half = 21' > app.py; else echo 'answer = 42' > app.py; touch done.txt; fi
"""
"""Two turns, of which the second finishes."""


@dataclass(frozen=True)
class Phase:
    """A moment of a run: how a lab is made to come to it, and how it is seen that it did.

    `finishes` says that after one Ctrl+C the iteration is the last one, since all is proven then.
    """

    prepare: Callable[[Lab], None]
    arguments: Sequence[str] = LOOP
    fail_point: str = ""
    reached: Callable[[Lab], bool] = lambda lab: (lab.home / "reached").exists()
    finishes: bool = False
    begins: bool = True


def feature(lab: Lab, *more: str, agent: str = WORKS) -> None:
    """Two turns' work, proved in place."""
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->", *more)
    lab.config(proof="in-place")
    lab.agent(agent)
    lab.commit("a feature")


def hangs(lab: Lab, name: str, before: str = "", after: str = "") -> None:
    """A script of the project that hangs, between some lines before and after."""
    lab.write(name, "\n".join(map(textwrap.dedent, ("#!/bin/bash", before, HANGS, after))), executable=True)


def in_a_turn(lab: Lab) -> None:
    feature(lab, agent=f'[ "$AIGON_ITERATION" = 1 ] && {{ {HANGS} }}\n{WORKS}')


def in_a_check(lab: Lab) -> None:
    hangs(lab, "slow.sh", before="test -e app.py || exit 1")
    lab.config(checks={"tests": {"command": "bash slow.sh"}})
    feature(lab)


def in_a_criterion(lab: Lab) -> None:
    hangs(lab, "slow.sh", before="test -e app.py || exit 1")
    feature(lab, "looked at <!-- verify: bash slow.sh -->")


def in_a_judge(lab: Lab) -> None:
    judge = lab.home / "judge"
    judge.write_text(f"#!/bin/bash\n{textwrap.dedent(HANGS)}exec {sys.executable} {SCRIPT} yes\n")
    judge.chmod(0o755)
    lab.config(checks={"tests": {"command": "test -e app.py"}}, judge={"backend": "command", "command": [str(judge)]})
    feature(lab, "it is elegant")


def in_a_wait(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.config(proof="in-place")
    claude(lab, "echo half > app.py; until_ 60; echo $LIMIT; exit 1", "touch done.txt; echo $OK")
    lab.commit("a feature")


def in_a_hook(lab: Lab) -> None:
    hangs(lab, ".aigon/hooks/after_agent")
    feature(lab)


def in_the_proof(lab: Lab, run: int = 2) -> None:
    """Run for the second time on finished work, it is the clean room that runs it."""
    once = f'echo x >> ~/seen; [ "$(wc -l < ~/seen)" = {run} ] || exit 0'
    hangs(lab, "slow.sh", before=f"test -e done.txt || exit 1\necho ready; {once}")
    feature(lab, 'looked at <!-- verify: test "$(bash slow.sh)" = ready -->')
    (lab.home / "seen").touch()  # Landlock lets a check write to what is there
    lab.config(proof={"mode": "clean-room", "home": "real"}, sandbox={"allow": {"criteria": ["~/seen"]}})
    lab.commit("a clean room")


def in_the_control(lab: Lab) -> None:
    """The third time it is the negative control, in which the command has to fail."""
    in_the_proof(lab, 3)


def in_a_set_up(lab: Lab) -> None:
    hangs(lab, "set-up.sh")
    lab.config(worktree={"setup": "bash set-up.sh"})
    feature(lab)


def journal(lab: Lab) -> str:
    """What the journal of the lab's only run holds by now."""
    return "".join(file.read_text() for file in lab.home.glob("state/repos/*/features/42*/journal.jsonl"))


def recorded(event: str, times: int = 1) -> Callable[[Lab], bool]:
    return lambda lab: journal(lab).count(f'"event":"{event}"') + journal(lab).count(f'"event": "{event}"') >= times


PHASES = {
    "opening": Phase(feature, fail_point="run_started.before", reached=lambda lab: noted(lab)),
    "set-up": Phase(in_a_set_up, (*LOOP, "--worktree"), begins=False),
    "turn": Phase(in_a_turn),
    "check": Phase(in_a_check),
    "criterion": Phase(in_a_criterion),
    "judge": Phase(in_a_judge),
    "wait": Phase(in_a_wait, reached=recorded("waiting")),
    "hook": Phase(in_a_hook),
    "commit": Phase(feature, fail_point="checkpoint_intended", reached=recorded("checkpoint_intended")),
    "published": Phase(feature, fail_point="iteration_finished.before@2", reached=recorded("checkpoint_intended")),
    "between": Phase(feature, fail_point="iteration_finished@2", reached=recorded("iteration_finished", 2)),
    "proof": Phase(in_the_proof, reached=lambda lab: (lab.home / "seen").read_text() == "x\nx\n", finishes=True),
    "control": Phase(in_the_control, reached=lambda lab: (lab.home / "seen").read_text() == "x\nx\nx\n", finishes=True),
}
WAYS = {
    "one SIGINT": 130,
    "two SIGINTs": 130,
    "SIGTERM": 143,
    "SIGHUP": 143,
}
SHORT = {
    ("hook", "SIGTERM"),
    ("commit", "one SIGINT"),
    ("proof", "SIGHUP"),
    ("control", "SIGTERM"),
    ("wait", "one SIGINT"),
}
"""What the default suite tries; turns and checks have tests of their own beside."""


def noted(lab: Lab) -> bool:
    return bool(list(lab.home.glob("state/repos/*/running/*.json")))


def ask(lab: Lab, process: "subprocess.Popen[str]", how: str) -> float:
    """Signal aigon; when the last word was said (monotonic)."""
    if how == "two SIGINTs":
        interrupt(process)
        time.sleep(0.3)
    interrupt(process, signal.SIGINT if "SIGINT" in how else signal.Signals[how])
    if how == "one SIGINT":
        time.sleep(0.3)
        go(lab)
    return time.monotonic()


@pytest.mark.parametrize(
    ("phase", "how"),
    [
        pytest.param(phase, how, marks=() if (phase, how) in SHORT else pytest.mark.slow, id=f"{phase}-{how}")
        for phase in PHASES
        for how in WAYS
    ],
)
def test_a_signal_ends_the_run_as_promised_and_it_is_resumed(lab: Lab, phase: str, how: str) -> None:
    at, code = PHASES[phase], WAYS[how]
    at.prepare(lab)
    seconds = 1 if how == "one SIGINT" else 30
    process = lab.start(
        *at.arguments, env={"AIGON_FAILPOINT": f"{at.fail_point}:sleep={seconds}"} if at.fail_point else {}
    )
    until(lambda: at.reached(lab) or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    said = ask(lab, process, how)
    ran = finish(process)
    took = time.monotonic() - said
    if how != "one SIGINT":
        assert took < IN_TIME
    if at.finishes and how == "one SIGINT":
        code = 0
    assert ran.code == code, ran.out + ran.err
    assert left_behind(lab) == []
    assert not noted(lab)
    if at.begins:
        state = lab.state()
        assert (state["status"], state["exit_code"]) == ("met" if code == 0 else "interrupted", code)
        assert json.loads(journal(lab).splitlines()[-1].partition(" ")[2])["event"] == "run_finished"
    go(lab)
    again = lab.aigon(*(RESUME if at.begins else at.arguments))
    assert again.code == 0, again.out + again.err
    assert left_behind(lab) == []
    if at.begins:
        assert [each["number"] for each in lab.state()["iterations"]] == list(range(len(lab.state()["iterations"])))
        assert lab.state()["iteration"] <= 2
    lab.sound()


ARENA = ("feature-implement", "42", "--loop", "--agent", "one", "--agent", "two")


@pytest.mark.slow
@pytest.mark.parametrize("how", [*WAYS, "SIGKILL"])
def test_a_signal_to_an_arena_ends_every_loop_as_promised_and_all_are_resumed(lab: Lab, how: str) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.config(proof="in-place", judge={"backend": "none"})
    for name in ("one", "two"):
        hanging = HANGS.replace("/reached", f"/{name}-works")
        lab.agent(f'[ "$AIGON_ITERATION" = 1 ] && {{ {hanging} }}\n{WORKS}', name=name)
    lab.commit("two agents")
    arena = lab.start(*ARENA)
    until(lambda: all((lab.home / f"{name}-works").exists() for name in ("one", "two")) or arena.poll() is not None)
    assert arena.poll() is None, arena.communicate()
    said = ask(lab, arena, how)
    ran = finish(arena)
    until(lambda: left_behind(lab) == [], IN_TIME)
    assert how == "one SIGINT" or time.monotonic() - said < IN_TIME
    assert ran.code == WAYS.get(how, -signal.SIGKILL), ran.out + ran.err
    for name in ("one", "two"):
        state = lab.state(f".aigon/loop-state-42-{name}.json")
        assert (state["status"], state["exit_code"]) == ("interrupted", WAYS.get(how, 143))
        assert state["iteration"] == (1 if how == "one SIGINT" else 0)
    assert noted(lab) == (how == "SIGKILL")  # the killed arena's own note is for the next command
    go(lab)
    again = lab.aigon("feature-implement", "42", "--resume")
    assert again.code == 0, again.out + again.err
    for name in ("one", "two"):
        assert lab.state(f".aigon/loop-state-42-{name}.json")["status"] == "met"
    assert not noted(lab)
    assert left_behind(lab) == []
    lab.sound()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
def test_a_signal_at_any_moment_leaves_a_repository_in_which_the_feature_is_built(lab: Lab, seed: int) -> None:
    """From the first instruction on, where nothing handles signals yet, through the making of a worktree."""
    chance = random.Random(seed)
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.config(proof="in-place", worktree={"setup": "sleep 0.2; touch ready"})
    lab.write(".gitignore", "ready\n")
    lab.agent(f"sleep 0.1\n{WORKS}")
    lab.commit("a feature")
    where = chance.choice([(), ("--worktree",)])
    process = lab.start(*LOOP, *where)
    time.sleep(chance.uniform(0.0, 2.5))
    for _ in range(2 if (number := chance.choice(["SIGINT", "SIGTERM", "SIGHUP"])) == "SIGINT" else 1):
        with suppress(ProcessLookupError):
            interrupt(process, signal.Signals[number])
        time.sleep(0.1)
    said = time.monotonic()
    ran = finish(process)
    assert time.monotonic() - said < IN_TIME
    assert "Traceback" not in ran.err
    assert left_behind(lab) == []
    for _ in range(3):
        again = lab.aigon(*(RESUME if journal(lab) else LOOP), *where)
        if again.code == 0:
            break
        print(again.code, again.out, again.err)
    assert again.code == 0, again.out + again.err
    assert left_behind(lab) == []
    lab.sound()
