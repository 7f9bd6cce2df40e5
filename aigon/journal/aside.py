"""Observers that nobody waits for: they work while the run waits for git or an agent, in the order of the events."""

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from aigon.journal.events import Event


class Observer(Protocol):
    """Somebody who watches."""

    def __call__(self, event: Event, /) -> None: ...

    def close(self) -> None: ...


class Aside:
    """Hands events on to `observers` in one thread. An exception of theirs is logged, and the run goes on."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = observers
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="observers")

    def __call__(self, event: Event) -> None:
        """Take `event`, and return at once."""
        self._thread.submit(self._tell, event)

    def _tell(self, event: Event) -> None:
        for observer in self._observers:
            try:
                observer(event)
            except OSError as error:  # a full disk has been said, or will be, by what has to be written there
                logging.getLogger("aigon").warning("something for people could not be written: %s", error.strerror)
            except Exception:
                logging.getLogger("aigon").exception("an observer failed; the run goes on")

    def close(self) -> None:
        """Wait until they have seen everything."""
        self._thread.shutdown()
        for observer in self._observers:
            observer.close()
