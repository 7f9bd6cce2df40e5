"""aigon that is killed before or after a step of a watcher or a start: `python -m tests.faults.steps STEP ARGUMENT...`.

A step is a function of aigon's that is called once for a task.
"""

import os
import signal
import sys
from functools import wraps
from importlib import import_module
from typing import Any

_BOTH = {
    "spawned": "aigon.arena.entrant:Entrant.start",
    "over": "aigon.arena.entrant:Entrant.finish",
}
QUEUE_STEPS: dict[str, dict[str, str]] = {
    "watch": {
        "taken": "aigon.queue.folders:append_entry",
        "made": "aigon.queue.folders:create_candidate",
        "committed": "aigon.queue.folders:_commit_spec",
        "based": "aigon.journal.records:Records.set_origin",
        "known": "aigon.journal.records:Records.set_candidate",
        **_BOTH,
        "linked": "aigon.queue.watch:link_steps",
        "noted": "aigon.queue.tasks:append_entry",
        "handed": "aigon.queue.watch:hand_over",
        "ended": "aigon.queue.watch:Watcher._conclude",
    },
    "start": {"taken": "aigon.queue.backlog:append_entry", **_BOTH, "ended": "aigon.queue.backlog:QueueRunner._finish"},
}
"""The steps of each mode, by name: the module and the function in it."""


def arm(mode: str, step: str) -> None:
    """Make the step kill this process, before it or after it."""
    name, dot, _ = step.partition(".")
    module, _, path = QUEUE_STEPS[mode][name].partition(":")
    owner: Any = import_module(module)
    *above, last = path.split(".")
    for each in above:
        owner = getattr(owner, each)
    done = getattr(owner, last)

    @wraps(done)
    def die(*arguments: Any, **named: Any) -> None:
        if not dot:
            done(*arguments, **named)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, last, die)


if __name__ == "__main__":
    from aigon.cli import main

    wanted = sys.argv.pop(1)
    arm("watch" if sys.argv[1] == "watch" else "start", wanted)
    main()
