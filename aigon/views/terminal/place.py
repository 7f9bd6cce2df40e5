"""Which iteration of how many a run is in."""

from dataclasses import dataclass, replace

from aigon.journal.events import Event, IterationFinished, IterationStarted, RunStarted
from aigon.text.amounts import format_count


@dataclass(frozen=True, slots=True)
class Place:
    """Iteration `number`, in an invocation that may do `limit` of them after the `finished` ones of earlier ones.

    `finished` is None until it is known: the first turn that begins tells it, where the caller did not.
    """

    number: int = 0
    limit: int = 0
    finished: int | None = None

    def apply(self, event: Event) -> "Place":
        """The place after `event`."""
        match event:
            case RunStarted():
                finished = self.finished if event.resumed else event.earlier_iterations
                return replace(self, number=0, limit=event.max_iterations, finished=finished)
            case IterationStarted(number=number):
                return replace(self, number=number, finished=number - 1 if self.finished is None else self.finished)
            case IterationFinished(number=number):
                return replace(self, number=number)
            case _:
                return self

    @property
    def is_earlier(self) -> bool:
        """Whether an earlier invocation finished this iteration: a resume only looks at its tree again."""
        return self.number <= (self.finished or 0)

    @property
    def limit_words(self) -> str:
        """`at most 5 iterations`; `at most 5 more iterations` after a resume."""
        return f"at most {format_count(self.limit, 'more iteration' if self.finished else 'iteration')}"

    def __str__(self) -> str:
        """`iteration 2 of 5`; before the first one `at most 5 iterations`."""
        if not self.number:
            return self.limit_words if self.limit else ""
        known = self.finished is not None and not self.is_earlier
        return f"iteration {self.number}" + (f" of {(self.finished or 0) + self.limit}" if known else "")
