"""The program around a command of the model: `python -I inside.py <plan> <argv...>`.

It confines the command, and ends whatever the command leaves, also what left its process group: as the reaper of its
descendants it can, without touching anything else that the agent runs.
"""

import json
import os
import signal
import sys
from pathlib import Path
from types import FrameType

NOT_CONFINED, NOT_FOUND = 125, 127
"""What `docker run` and a shell exit with."""


def main() -> None:
    """Run the command to its end, end what it left, exit as it did."""
    sys.path.append(str(Path(__file__).resolve().parents[3]))
    from aigon.process import orphans

    plan, argv = json.loads(sys.argv[1]), sys.argv[2:]
    orphans.adopt_orphans()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _end)
    child = os.fork()
    if not child:
        _exec_confined(plan, argv)
    # Orphans that end before the command are collected on the way.
    ended = next(status for pid, status in iter(os.wait, None) if pid == child)
    status = os.waitstatus_to_exitcode(ended)
    orphans.sweep()
    os._exit(status if status >= 0 else 128 - status)


def _end(number: int, _frame: FrameType | None) -> None:
    from aigon.process import orphans

    orphans.sweep()
    os._exit(128 + number)


def _exec_confined(plan: dict[str, list[str] | None], argv: list[str]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        writable = plan["writable"]
        if writable is not None:
            from aigon.isolation.landlock import confine_writes

            confine_writes(writable)
    except OSError as error:
        _give_up(f"the command could not be confined: {error}", NOT_CONFINED)
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        _give_up(f"{argv[0]}: {error.strerror}", NOT_FOUND)


def _give_up(what: str, code: int) -> None:
    os.write(2, f"aigon: {what}\n".encode())
    os._exit(code)


if __name__ == "__main__":
    main()
