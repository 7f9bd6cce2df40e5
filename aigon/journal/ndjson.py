"""Events for programs: one JSON document per line, the last one the end of the run."""

from typing import TextIO

from aigon.errors import AigonError, as_document
from aigon.files.pipe import write_line
from aigon.journal.codec import compact, encode
from aigon.journal.events import Event, RunFinished
from aigon.model.outcomes import Refused

SCHEMA_VERSION = 1


def document(event: Event) -> dict[str, object]:
    """What stands on the line of `event`.

    It is the event as in the journal, but for the end of a run: there `outcome` is the status word, next to
    `exit_code`, and `outcome_detail` has what else the outcome says, and `success` says whether it is met.
    """
    fields = encode(event)
    outcome = fields.get("outcome")
    if isinstance(outcome, dict):
        detail = dict(outcome)
        kind = detail.pop("kind")
        fields |= {"outcome": kind, "outcome_detail": detail, "success": kind == "met"}
    return {"schema_version": SCHEMA_VERSION, **fields}


class NdjsonSink:
    """Writes each event to `stream` as it comes, until the run has finished or nobody reads any more."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._open = True
        self._ended = False

    def __call__(self, event: Event) -> None:
        """Write `event`. A reader that went away is no error; any other failure to write is an OSError."""
        if self._open:
            self._ended = isinstance(event, RunFinished)
            self._open = write_line(self._stream, compact(document(event))) and not self._ended

    def refused(self, error: AigonError, at: str) -> None:
        """Write the end of a run that could not begin, or could not go on, unless its end is written already."""
        if self._ended:
            return
        text = str(error)
        event = RunFinished(at, Refused(text), "refused", int(error.code), text, "")
        write_line(self._stream, compact({**document(event), "error": as_document(error)}))

    def close(self) -> None:
        """Write nothing from here on. The stream stays open: it is the caller's."""
        self._open = False
