"""An arena for programs, one JSON document per line, and the summary that stays when it has ended."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, TextIO

from aigon.arena.lane import ArenaEnd, ArenaPlan, Lane, LaneEnd
from aigon.errors import AigonError, as_document
from aigon.files.pipe import write_line
from aigon.journal.codec import SCHEMA_VERSION, dump_compact
from aigon.journal.events import Event
from aigon.journal.spending import format_spend
from aigon.model.candidates import format_run_command
from aigon.model.outcomes import describe_status
from aigon.text.amounts import format_duration
from aigon.text.quoting import fold

_ABOUT = {"schema_version": SCHEMA_VERSION, "event": "run_finished", "arena": True}


class ArenaNdjson:
    """Writes to `stream` until the arena has ended or nobody reads any more; the summary goes to `words`."""

    def __init__(self, stream: TextIO, words: TextIO) -> None:
        self._stream, self._words = stream, words
        self._open = True
        self._ended = False
        self._feature = ""

    def began(self, plan: ArenaPlan, _lanes: Sequence[Lane]) -> None:
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

    def ended(self, ended: LaneEnd) -> None:
        """A notice where a loop did not say its end itself."""
        if not ended.own_word:
            self._notice(ended.label, ended.summary)

    def finished(self, ended: ArenaEnd) -> None:
        """The last line."""
        candidates = [_build_end_document(one) for one in ended.candidates]
        self._end({"outcome": ended.outcome, "exit_code": ended.exit_code, "candidates": candidates})
        for text in ("", *render_arena_summary(self._feature, ended)):
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


def _build_end_document(one: LaneEnd) -> dict[str, object]:
    document = asdict(one)
    del document["own_word"]
    return {**document, "seconds": round(one.seconds, 3)}


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="milliseconds")


HEAD = ("agent", "outcome", "criteria", "iterations", "cost", "time", "branch")


def render_arena_summary(feature: str, ended: ArenaEnd) -> Iterator[str]:
    """Its lines."""
    rows = [HEAD, *(_build_row(one) for one in ended.candidates)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(HEAD))]
    yield from (_align_cells(row, widths) for row in rows)
    yield ""
    for one in ended.candidates:
        if one.status != "met":
            yield f"{one.label}: {fold(one.summary)}"
        if one.hint:
            yield f"  do: {fold(one.hint)}"
        if one.status == "broken_off":
            yield f"  output: .aigon/runs/arena-{feature}/{one.label}.err"
    yield from _suggest_next(feature, ended.candidates)


def suggest_command(feature: str, one: LaneEnd) -> str:
    """The command with which a candidate goes on; empty for one that has nothing to go on with or to."""
    if one.resumable:
        return format_run_command(feature, fold(one.label))
    return format_run_command(feature, fold(one.label), "--loop") if not one.criteria_total else ""


def _build_row(one: LaneEnd) -> tuple[str, ...]:
    outcome = describe_status(one.status)
    criteria = f"{one.criteria_met} of {one.criteria_total}" if one.criteria_total else "-"
    time = format_duration(one.seconds) if one.seconds else "-"
    return (one.label, outcome, criteria, str(one.iterations), format_spend(one.spend) or "-", time, fold(one.branch))


def _align_cells(row: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()


def _suggest_next(feature: str, candidates: Sequence[LaneEnd]) -> Iterator[str]:
    if any(one.criteria_total for one in candidates):  # there is nothing to compare where nobody ran
        yield f"Next: aigon feature-eval {feature}"
    for one in candidates:
        if one.status != "met" and not one.hint and (command := suggest_command(feature, one)):
            yield f"  {'resume' if one.resumable else 'start'} {one.label}: {command}"
