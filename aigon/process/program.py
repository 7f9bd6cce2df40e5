"""Run a program of aigon's own: it leaves nothing behind, and its exit code says how it ended."""

import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

from aigon.process.orphans import sweep


class ProgramInterrupted(KeyboardInterrupt):
    """A signal that ends a program of aigon's. No Exception, so that no library takes it for an error of its own."""


def run_program(work: Callable[[], int], failure: int) -> NoReturn:
    """Run a program of aigon's own and leave with its exit code, or `failure`, or 128 plus a signal.

    At once: no thread is waited for, and every process that is left is ended.
    """
    endings = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def stop(number: int, _frame: FrameType | None) -> None:
        for each in endings:
            signal.signal(each, signal.SIG_IGN)
        raise ProgramInterrupted(number)

    for number in endings:
        signal.signal(number, stop)
    code = failure
    try:
        code = work()
    except ProgramInterrupted as stopped:
        code = 128 + int(str(stopped))
    except SystemExit as wrong:
        if isinstance(wrong.code, str):
            print(f"aigon: {wrong}", flush=True)
        else:
            code = wrong.code or 0
    except BrokenPipeError:
        pass  # whoever started this is gone, and so is everybody who could use an answer
    except BaseException:
        import traceback

        traceback.print_exc()
    sweep()
    os._exit(code)
