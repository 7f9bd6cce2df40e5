"""Who watches an arena, and how they are told: an error there is the watcher's own."""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

from aigon.arena.lane import Lane
from aigon.arena.outcome import ArenaEnded, Ended, Plan
from aigon.journal.events import Event


class ArenaObserver(Protocol):
    """Somebody who watches several loops at once; each call but `close` comes from one thread."""

    def began(self, plan: Plan, lanes: Sequence[Lane], /) -> None:
        """What is about to happen, and with whom."""

    def started(self, label: str, /) -> None:
        """A loop was started."""

    def __call__(self, label: str, document: Mapping[str, Any], event: Event | None, /) -> None:
        """A loop sent an event: as the document it wrote, and as the event where this version knows it."""

    def said(self, text: str, /) -> None:
        """A line for people on the arena as a whole."""

    def ended(self, ended: Ended, /) -> None:
        """A loop has ended, or will not be started."""

    def finished(self, ended: ArenaEnded, /) -> None:
        """All have."""

    def close(self) -> None:
        """Give back what is held."""


class Forgiven:
    """Passes on to an observer; where that fails it is logged, and the arena goes on."""

    def __init__(self, observer: ArenaObserver) -> None:
        self.observer = observer

    def tell(self, call: Callable[..., None], *arguments: object) -> None:
        """Make one of its calls."""
        try:
            call(*arguments)
        except Exception:
            logging.getLogger("aigon").exception("an observer failed; the arena goes on")

    def close(self) -> None:
        """Close it."""
        with suppress(OSError):
            self.observer.close()
