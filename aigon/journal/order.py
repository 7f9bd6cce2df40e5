"""Whether the events of a journal can have come in their order: one run, begun once, gone on with by itself."""

from collections.abc import Iterable
from dataclasses import dataclass

from aigon.journal.events import Event, RunStarted


@dataclass(slots=True)
class Order:
    """Looks at events as they come; `first` is how their run began."""

    first: RunStarted | None = None

    def goes_on(self, event: Event) -> bool:
        """Whether `event` can come next."""
        if not isinstance(event, RunStarted):
            return self.first is not None
        if self.first is None:
            self.first = event
            return not event.resumed
        return event.resumed and event.run_id == self.first.run_id


def impossible(events: Iterable[Event]) -> int | None:
    """The place, from 0, of the first event that cannot stand where it does; None where there is none."""
    order = Order()
    return next((at for at, event in enumerate(events) if not order.goes_on(event)), None)
