"""`python -I __main__.py --report FILE --scratch FOLDER -- SERVER...`, with the plan in AIGON_ENDPOINTS."""

import os
import signal
import sys
import traceback
from pathlib import Path
from types import FrameType
from typing import NoReturn


class ProgramInterrupted(KeyboardInterrupt):
    """A signal that ends all of it at once. No Exception, so that no library takes it for an error of its own."""


def main() -> NoReturn:
    """Ask a server what was planned. Exit as `aigon.checks.endpoints.plan` says, or with 128 plus a signal."""
    # Isolated mode knows neither this folder nor a user's own packages, of which aigon may be one.
    sys.path.append(str(Path(__file__).resolve().parents[3]))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    try:
        _leave(_session())
    except ProgramInterrupted as stopped:
        _leave(128 + int(str(stopped)))
    except SystemExit as wrong:
        print(f"aigon: {wrong}", flush=True)
        _leave(3)
    except BrokenPipeError:
        _leave(3)  # whoever started this is gone, and so is everybody who could use an answer
    except BaseException:
        traceback.print_exc()
        _leave(3)


def _session() -> int:
    from aigon.checks.endpoints import server, session

    return session.Session(server.read_order(sys.argv[1:], os.environ)).run()


def _stop(number: int, _frame: FrameType | None) -> None:
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    raise ProgramInterrupted(number)


def _leave(code: int) -> NoReturn:
    """At once: no thread is waited for, and every process that is left is ended."""
    from aigon.process import orphans

    orphans.sweep()
    os._exit(code)


if __name__ == "__main__":
    main()
