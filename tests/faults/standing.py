"""Where a scenario's runs stand: trees without times, checkpoints, turns. What an uninterrupted run came to is one."""

import json
import re
from collections import Counter
from dataclasses import dataclass

from tests.faults.scenario import Scenario
from tests.lab import Lab

_TIMES = (
    (re.compile(r"^(## Iteration \d+) \(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\)$", re.MULTILINE), r"\1 (TIME)"),
    (re.compile(r"^(- Turn: [\w ()]+ after) [\d.smh ]+$", re.MULTILINE), r"\1 TIME"),
)
"""All that may differ in an iteration log: when an iteration was, and how long its turn took."""
_WORK = re.compile(r"^### Implementation\n.*?(?=^### )", re.MULTILINE | re.DOTALL)
"""Of an agent that commits by itself this may differ, too: what it committed in a turn that was killed is judged as it
stands, and no turn is named for it."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A run: `files` are mode, content and path of its branch's tree, `log` the iteration log without times in it."""

    files: tuple[str, ...]
    log: str
    checkpoints: tuple[int, ...]
    iterations: tuple[int, ...]
    status: str
    turns: int
    tasks: tuple[tuple[str, str, bool], ...]


@dataclass(frozen=True, slots=True)
class Whole:
    """What uninterrupted runs of a scenario came to: by label, what main has, how often each event came, seconds."""

    runs: dict[str, Standing]
    main: tuple[str, ...]
    events: dict[str, int]
    seconds: float


def standing(lab: Lab, scenario: Scenario, label: str, agent: str) -> Standing:
    """The run called `label`, in which `agent` worked. Raises AssertionError or OSError where there is none yet."""
    branch, log = scenario.branch(label), scenario.log(label)
    state = json.loads(lab.read(scenario.state(label)))
    tasks = json.loads(lab.read(scenario.state(label).replace("loop-state", "tasks")))["tasks"]
    return Standing(
        tuple(line for line in files(lab, branch) if not line.endswith(f"\t{log}")),
        _log(lab.git("show", f"{branch}:{log}"), agent),
        checkpoints(lab, branch),
        tuple(each["number"] for each in state["iterations"]),
        state["status"],
        scenario.turns(lab, agent),
        tuple((each["id"], each["status"], each["manual_review"]) for each in tasks),
    )


def _log(text: str, agent: str) -> str:
    return _WORK.sub("", timeless(text)) if agent == "commits" else timeless(text)


def files(lab: Lab, branch: str) -> tuple[str, ...]:
    """Mode, kind, content and path of everything in a branch's tree."""
    return tuple(lab.git("ls-tree", "-r", branch).splitlines())


def timeless(log: str) -> str:
    """An iteration log without the times in it."""
    for pattern, instead in _TIMES:
        log = pattern.sub(instead, log)
    return log


def checkpoints(lab: Lab, branch: str) -> tuple[int, ...]:
    """The iterations of the checkpoints on a branch, by their trailers, oldest first."""
    form = "%(trailers:key=Aigon-Iteration,valueonly,separator=%x2c)"
    return tuple(int(word) for word in lab.git("log", "--reverse", f"--format={form}", branch).split())


def counted(lab: Lab, scenario: Scenario) -> dict[str, int]:
    """How often each event came, as the journals say; of several runs the most."""
    most: Counter[str] = Counter()
    for label in scenario.labels:
        here = Counter(event["event"] for event in journal(lab, label))
        most |= here
    return dict(most)


def journal(lab: Lab, label: str) -> list[dict[str, str]]:
    """The events of a run's journal; none where it has none."""
    name = f"state/repos/*/features/42{'-' * bool(label)}{label}/journal.jsonl"
    return [json.loads(line[9:]) for file in lab.home.glob(name) for line in file.read_text().splitlines()]
