"""What is tried with every real program, and what has to come of it."""

import json
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aigon.model.turns import TEMPORARY_ENDS
from tests.lab import DONE_WHEN, Lab, Ran, finish, until
from tests.real_agents.programs import Program

Turns = list[dict[str, Any]]
WRITE = {"text": "I will write it.", "do": [{"write": {"path": "done.txt", "content": "done\n"}}],
         "usage": {"input": 1200, "output": 40, "cache_read": 300}}  # fmt: skip
WRONG = {"text": "I will write it.", "do": [{"write": {"path": "half.txt", "content": "half\n"}}]}
END = {"do": [{"finish": "All done"}], "text": "All done."}
WITHOUT_TOOLS = ("aider",)
TEST = (
    "mkdir -p tests/acceptance/42 && echo './greet | grep -q Hello' > tests/acceptance/42/1.sh && "
    "echo '1. verify: bash tests/acceptance/42/1.sh' > tests/acceptance/42/criteria.txt"
)
OPEN = f"it is done <!-- verify: {DONE_WHEN} -->"


@dataclass(frozen=True, slots=True)
class Case:
    """`turns` is the server's script for a program, None where the case is none for it; `check` says what is wrong.

    `options` are of the verb; `restricted` puts those flags in place that let the program write nothing;
    `own_model` leaves the model to the program; `unreachable` points it at a port where nobody listens; `resumed` goes
    on after the signals, without a word of which agent it was. `verb` is what is called, for a spec with `criterion`.
    """

    name: str
    turns: Callable[[Program], Turns | None]
    check: Callable[[Lab, Ran], str]
    options: tuple[str, ...] = ("--max-iterations", "1")
    restricted: bool = False
    own_model: bool = False
    unreachable: bool = False
    interrupted: tuple[int, ...] = ()
    resumed: bool = False
    criterion: str = OPEN
    verb: tuple[str, ...] = ("feature-implement", "42", "--loop", "--agent", "real")


def drive(lab: Lab, case: Case, program: Program, asked: Callable[[], bool]) -> Ran:
    """Run the loop; where the case wants it, signal it once the program's tool is at work, or `asked` its model."""
    command = (*case.verb, *case.options)
    if not case.interrupted:
        return lab.aigon(*command, timeout=300)
    running = lab.start(*command)
    until(lambda: asked() and ((lab.root / "working.txt").exists() or program.kind in WITHOUT_TOOLS), 90)
    for number in case.interrupted:
        running.send_signal(number)
        time.sleep(1)  # two at once would be one
    ended = finish(running, 60)
    return lab.aigon("feature-implement", "42", "--resume", timeout=300) if case.resumed else ended


def _turn(lab: Lab) -> dict[str, Any]:
    """The last turn by the journal: one that was turned away is no iteration."""
    (journal,) = lab.home.parent.rglob("journal.jsonl")
    events = [json.loads(line.partition(" ")[2]) for line in journal.read_text().splitlines()]
    turns: list[dict[str, Any]] = [event["turn"] for event in events if event["event"] == "turn_ended"]
    return turns[-1]


def _expect(lab: Lab, ran: Ran, code: int, *ends: str) -> str:
    if ran.code != code:
        return f"exit {ran.code}, not {code}: {(ran.out + ran.err)[-600:]}"
    end = _turn(lab)["end"]
    return "" if not ends or end in ends else f"the turn {end}, not {' or '.join(ends)}: {lab.state()['stop_reason']}"


def _edited(lab: Lab, ran: Ran) -> str:
    wrong = _expect(lab, ran, 0, "finished")
    return wrong or ("" if lab.git("show", "HEAD:done.txt") == "done" else "done.txt is not what was written")


def _second(lab: Lab, ran: Ran) -> str:
    wrong = _expect(lab, ran, 0, "finished")
    numbers = [look["number"] for look in lab.state()["iterations"]]
    return wrong or ("" if numbers == [0, 1, 2] and lab.git("show", "HEAD:half.txt") == "half" else f"looks {numbers}")


def _unavailable(*ends: str) -> Callable[[Lab, Ran], str]:
    return lambda lab, ran: _expect(lab, ran, 6, *ends)


def _busy(lab: Lab, ran: Ran) -> str:
    """Some programs try again for longer than anybody waits: then the turn ends at its deadline."""
    return _expect(lab, ran, 3, "timed_out") if ran.code == 3 else _expect(lab, ran, 6, "overloaded", "usage_limit")


def _hung(lab: Lab, ran: Ran) -> str:
    return _expect(lab, ran, 3, "timed_out")


def _denied(lab: Lab, ran: Ran) -> str:
    wrong = _expect(lab, ran, 3)
    return wrong or ("it wrote all the same" if lab.path("done.txt").exists() else "")


def _interrupted(lab: Lab, ran: Ran) -> str:
    return _expect(lab, ran, 130)


def _resumed(lab: Lab, ran: Ran) -> str:
    agent = _turn(lab)["agent"]
    return _edited(lab, ran) or ("" if agent == "real" else f"{agent} went on")


def _held(lab: Lab, ran: Ran) -> str:
    return _expect(lab, ran, 6, *TEMPORARY_ENDS)


def _patient(program: Program) -> bool:
    """Whether a program waits for its server without a word about it, so that only its deadline ends the turn."""
    return program.kind in ("qwen", "pi")


def _capped(lab: Lab, ran: Ran) -> str:
    """What the turn cost is known, and the run ends because it is spent."""
    wrong = _expect(lab, ran, 5, "finished", "failed")  # a program may keep to the cap by itself
    spend, why = lab.state()["spend"], lab.state()["stop_reason"]
    return wrong or ("" if spend["usd"] > 0 and not spend["unknown"] and "spent" in why else f"{spend}: {why}")


def _proved(_lab: Lab, ran: Ran) -> str:
    """The test that the program wrote waits for a person."""
    is_worth = ran.code == 4 and "1 of 1 criterion would be decided by a test" in ran.out
    return "" if is_worth else f"exit {ran.code}: {(ran.out + ran.err)[-800:]}"


def _error(status: int, **more: object) -> dict[str, Any]:
    return {"times": -1, "error": {"status": status, "message": f"scripted {status}", **more}}


def _two_turns(program: Program) -> Turns:
    """aider edits by what its model says, in one reply."""
    return [WRONG, WRITE] if program.kind in WITHOUT_TOOLS else [WRONG, END, WRITE, END]


def _tool_that_hangs(program: Program) -> Turns:
    if program.kind in WITHOUT_TOOLS:
        return [{"text": "thinking", "hang": 120}]
    return [{"text": "Working.", "do": [{"bash": "touch working.txt; sleep 4711"}]}, END]


CASES: Mapping[str, Case] = {
    case.name: case
    for case in (
        Case("edit", lambda _: [WRITE, END], _edited),
        Case("second turn", _two_turns, _second, ("--max-iterations", "2")),
        Case("429", lambda _: [_error(429, headers={"retry-after": "1"})], _busy,
             ("--max-iterations", "1", "--max-wait", "0", "--iteration-timeout", "45s")),
        Case("401", lambda _: [_error(401, message="Incorrect API key provided: sk-test")],
             _unavailable("bad_credentials"), ("--max-iterations", "1", "--iteration-timeout", "60s")),
        Case("usage limit", lambda p: [{"times": -1, "error": p.limited}] if p.limited else None,
             _unavailable("usage_limit"), ("--max-iterations", "1", "--max-wait", "0", "--iteration-timeout", "150s")),
        Case("long 429", lambda p: None if _patient(p) else [_error(429, headers={"retry-after": "4320"})], _held,
             ("--max-iterations", "1", "--max-wait", "0", "--iteration-timeout", "60s")),
        Case("balance", lambda p: None if p.kind == "qwen" else [{"times": -1, "error": p.unpaid}],
             _unavailable("usage_limit", "overloaded"),
             ("--max-iterations", "1", "--max-wait", "0", "--iteration-timeout", "90s")),
        Case("no server", lambda p: None if p.kind == "qwen" else [], _held,
             ("--max-iterations", "1", "--max-wait", "0", "--iteration-timeout", "90s"), unreachable=True),
        Case("max cost", lambda _: [WRONG, END], _capped,
             ("--max-iterations", "2", "--max-cost", "0.0001"), own_model=True),
        Case("hang", lambda _: [{"text": "thinking", "hang": 120}], _hung,
             ("--max-iterations", "1", "--iteration-timeout", "12s")),
        Case("denied", lambda p: None if p.restricted is None else [WRITE, END], _denied,
             ("--max-iterations", "1", "--iteration-timeout", "60s", "--sandbox", "none"), restricted=True),
        Case("Ctrl+C", _tool_that_hangs, _interrupted, interrupted=(signal.SIGINT, signal.SIGINT)),
        Case("prove", lambda p: None if p.kind in WITHOUT_TOOLS else [{"do": [{"bash": TEST}]}, END], _proved,
              criterion="`./greet` greets", verb=("feature-prove", "42", "--with", "real")),
        Case("kill -9, --resume", lambda p: [_tool_that_hangs(p)[0], WRITE, END], _resumed,
             interrupted=(signal.SIGKILL,), resumed=True),
    )
}  # fmt: skip
