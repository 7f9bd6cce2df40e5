"""An arena for programs, one JSON document per line, and the summary that stays when it has ended."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TextIO

from msgspec import to_builtins

from aigon.arena.lane import ArenaEnd, ArenaPlan, Lane, LaneEnd
from aigon.errors import AigonError, as_document
from aigon.files.system_errors import write_line
from aigon.journal.codec import SCHEMA_VERSION, dump_compact
from aigon.journal.events import Event
from aigon.journal.spending import Spend, format_spend
from aigon.model.agents import format_run_command
from aigon.model.outcomes import describe_status
from aigon.text.amounts import format_duration
from aigon.text.quoting import align_columns, fold

HEAD = ("agent", "outcome", "criteria", "iterations", "cost", "time", "branch")
_ABOUT = {"schema_version": SCHEMA_VERSION, "event": "run_finished", "arena": True}


class ArenaNdjson:
    """Writes to `stream` until the arena has ended or the reader has gone; the summary goes to `words`."""

    def __init__(self, stream: TextIO, words: TextIO) -> None:
        self._stream, self._words = stream, words
        self._open = True
        self._ended = False
        self._feature = ""

    def began(self, plan: ArenaPlan, _lanes: Sequence[Lane]) -> None:
        self._feature = plan.feature
        self.said(plan.said)

    def started(self, label: str) -> None:
        """Write nothing: the first event of the loop says so."""

    def __call__(self, label: str, document: Mapping[str, Any], _event: Event | None) -> None:
        """Pass on an event, whether this version knows it or not."""
        self._write({**document, "label": label})

    def said(self, text: str) -> None:
        self._notice("", text)

    def ended(self, ended: LaneEnd) -> None:
        """Write a notice, unless the loop said itself how it ended."""
        if not ended.own_word:
            self._notice(ended.label, ended.summary)

    def finished(self, ended: ArenaEnd) -> None:
        """Write the last line, and the summary for people."""
        candidates = [
            {key: value for key, value in to_builtins(one).items() if key != "own_word"}
            | {"seconds": round(one.seconds, 3)}
            for one in ended.candidates
        ]
        self._end({"outcome": ended.outcome, "exit_code": ended.exit_code, "candidates": candidates})
        write_arena_summary(self._words, self._feature, ended)

    def refused(self, error: AigonError) -> None:
        """Write the last line of an arena that could not begin, unless its end is written already."""
        if not self._ended:
            code = int(error.code)
            self._end({"outcome": "refused", "exit_code": code, "candidates": [], "error": as_document(error)})

    def close(self) -> None:
        """Leave the stream open: it is the caller's."""

    def _end(self, fields: Mapping[str, object]) -> None:
        success = fields["outcome"] == "met"
        self._write({**_ABOUT, "feature_id": self._feature, "at": _now(), **fields, "success": success})
        self._ended = True

    def _notice(self, label: str, text: str) -> None:
        notice = {"event": "notice", "at": _now(), "text": text, "level": "info", "label": label}
        self._write({"schema_version": SCHEMA_VERSION, **notice})

    def _write(self, document: Mapping[str, object]) -> None:
        self._open = self._open and write_line(self._stream, dump_compact(document))


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="milliseconds")


def write_arena_summary(stream: TextIO, feature: str, ended: ArenaEnd) -> None:
    """Write the summary, unless the reader has gone."""
    all(write_line(stream, text) for text in ("", *render_arena_summary(feature, ended)))


def render_arena_summary(feature: str, ended: ArenaEnd) -> Iterator[str]:
    """Yield a line per candidate, then what a person would type next."""
    yield from align_columns([HEAD, *(_build_row(one) for one in ended.candidates)])
    yield ""
    for one in ended.candidates:
        if one.status != "met":
            yield f"{one.label}: {fold(one.summary)}"
        if one.hint:
            yield f"  do: {fold(one.hint)}"
        if one.status == "broken_off":
            yield f"  output: .aigon/runs/arena-{feature}/{one.label}.err"
    if any(one.criteria_total for one in ended.candidates):  # if nobody ran, there is nothing to compare
        yield f"Next: aigon feature-eval {feature}"
    for one in ended.candidates:
        if one.status == "met" or one.hint:
            continue
        if one.resumable:
            yield f"  resume {one.label}: {format_run_command(feature, fold(one.label))}"
        elif not one.criteria_total:
            yield f"  start {one.label}: {format_run_command(feature, fold(one.label), '--loop')}"


def _build_row(one: LaneEnd) -> tuple[str, ...]:
    cells = build_end_cells(one.criteria_met, one.criteria_total, one.iterations, one.spend, one.seconds)
    return (one.label, describe_status(one.status), *cells, fold(one.branch))


def build_end_cells(met: int, total: int, iterations: int, spend: Spend, seconds: float) -> tuple[str, ...]:
    """Return what a run came to, for the columns from `criteria` to `time`."""
    criteria, time = f"{met} of {total}" if total else "-", format_duration(seconds) if seconds else "-"
    return (criteria, str(iterations), format_spend(spend) or "-", time)
