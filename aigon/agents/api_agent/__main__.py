"""`python -I __main__.py --workspace ... < prompt`: one session, and nothing of it left when it ends."""

import os
import signal
import sys
import traceback
from pathlib import Path
from types import FrameType
from typing import NoReturn


class AgentInterrupted(KeyboardInterrupt):
    """A signal that ends the session at once. No Exception, so that no library takes it for an error of its own."""


def main() -> NoReturn:
    """Run one session. Exits with 0 when it finished, 1 for any other end, 128 and the signal's number after one."""
    # Isolated mode knows neither this folder nor a user's own packages, of which aigon may be one.
    sys.path.append(str(Path(__file__).resolve().parents[3]))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    try:
        from aigon.agents.api_agent import session, settings

        prompt = sys.stdin.buffer.read().decode("utf-8", "replace")
        _leave(session.run_agent(settings.parse_settings(sys.argv[1:]), prompt))
    except AgentInterrupted as stopped:
        _leave(128 + int(str(stopped)))
    except SystemExit as wrong:
        _leave(int(wrong.code or 0))
    except BrokenPipeError:
        _leave(1)  # the process that started this is gone, and nobody can use an answer
    except BaseException:
        traceback.print_exc()
        _leave(1)


def _stop(number: int, _frame: FrameType | None) -> None:
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    raise AgentInterrupted(number)


def _leave(code: int) -> NoReturn:
    """At once: no thread and no server is waited for, and every process that is left is ended."""
    from aigon.process import orphans

    orphans.sweep()
    os._exit(code)


if __name__ == "__main__":
    main()
