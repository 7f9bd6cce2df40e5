"""Wait until a time of day, or until somebody asks the run to stop."""

import select
import time

from aigon.process.stop import POLL_SECONDS, Stop


def pause(until: float, stop: Stop) -> bool:
    """Wait until `until` (seconds since the epoch, so that a suspended laptop is not late). False when asked to stop.

    The first Ctrl+C ends it too: there is nothing to finish. A clock that is set back meanwhile makes it no longer.
    """
    poll = select.poll()
    poll.register(stop.fileno(), select.POLLIN)
    latest = time.monotonic() + until - time.time()
    while not stop.asked:
        left = min(until - time.time(), latest - time.monotonic())
        if left <= 0:
            return True
        poll.poll(min(left, POLL_SECONDS) * 1000)
    return False
