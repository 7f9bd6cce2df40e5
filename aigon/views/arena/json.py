"""An arena for programs: the events of all loops with their labels, one JSON document per line, the end as the last."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, TextIO

from aigon.arena.lane import Lane
from aigon.arena.outcome import ArenaEnded, Ended, Plan
from aigon.errors import AigonError, as_document
from aigon.files.pipe import write_line
from aigon.journal.codec import SCHEMA_VERSION, dump_compact
from aigon.journal.events import Event
from aigon.views.arena.summary import summary

_ABOUT = {"schema_version": SCHEMA_VERSION, "event": "run_finished", "arena": True}


class ArenaNdjson:
    """Writes to `stream` until the arena has ended or nobody reads any more; the summary goes to `words`."""

    def __init__(self, stream: TextIO, words: TextIO) -> None:
        self._stream, self._words = stream, words
        self._open = True
        self._ended = False
        self._feature = ""

    def began(self, plan: Plan, _lanes: Sequence[Lane]) -> None:
        """Say how many there are, and how many at a time."""
        self._feature = plan.feature
        self.said(plan.said)

    def started(self, label: str) -> None:
        """Its first event says so."""

    def __call__(self, label: str, document: Mapping[str, Any], _event: Event | None) -> None:
        """Pass on an event, whether this version knows it or not."""
        self._write({**document, "label": label})

    def said(self, text: str) -> None:
        """A notice that is about all of them."""
        self._notice("", text)

    def ended(self, ended: Ended) -> None:
        """A notice where a loop did not say its end itself."""
        if not ended.own_word:
            self._notice(ended.label, ended.summary)

    def finished(self, ended: ArenaEnded) -> None:
        """The last line."""
        candidates = [_candidate(one) for one in ended.candidates]
        self._end({"outcome": ended.outcome, "exit_code": ended.exit_code, "candidates": candidates})
        for text in ("", *summary(self._feature, ended)):
            write_line(self._words, text)

    def refused(self, error: AigonError) -> None:
        """The last line of an arena that could not begin, unless its end is written already."""
        if not self._ended:
            code = int(error.code)
            self._end({"outcome": "refused", "exit_code": code, "candidates": [], "error": as_document(error)})

    def close(self) -> None:
        """The stream stays open: it is the caller's."""

    def _end(self, fields: Mapping[str, object]) -> None:
        success = fields["outcome"] == "met"
        self._write({**_ABOUT, "feature_id": self._feature, "at": _now(), **fields, "success": success})
        self._ended = True

    def _notice(self, label: str, text: str) -> None:
        notice = {"event": "notice", "at": _now(), "text": text, "level": "info", "label": label}
        self._write({"schema_version": SCHEMA_VERSION, **notice})

    def _write(self, document: Mapping[str, object]) -> None:
        self._open = self._open and write_line(self._stream, dump_compact(document))


def _candidate(one: Ended) -> dict[str, object]:
    document = asdict(one)
    del document["own_word"]
    return {**document, "seconds": round(one.seconds, 3)}


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="milliseconds")
