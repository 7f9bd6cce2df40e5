"""An arena or a fleet for programs, one JSON document per line, and the summary that stays when it has ended.

For people a fleet is a lane per cell, or a line per step of a cell.
"""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TextIO

from msgspec import to_builtins
from msgspec.structs import replace

from aigon.arena.lane import ArenaEnd, ArenaPlan, Lane, LaneEnd
from aigon.errors import AigonError, as_document
from aigon.files.system_errors import write_line
from aigon.fleet.lease import AGAIN, CellSummary
from aigon.journal.events import Event
from aigon.journal.replay import SCHEMA_VERSION, dump_compact
from aigon.journal.spending import Spend, format_spend
from aigon.model.agents import format_run_command
from aigon.model.outcomes import describe_status
from aigon.text.amounts import format_count, format_dollars, format_duration
from aigon.text.quoting import align_columns, fold
from aigon.views.terminal.events import IterationCount, stamp_line

if TYPE_CHECKING:
    from rich.console import Group

    from aigon.fleet.fleet import FleetEnd
    from aigon.views.terminal.frame import Page


HEAD: tuple[str, ...] = ("agent", "outcome", "criteria", "iterations", "cost", "time", "branch")
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
        self._write_notice("", text)

    def ended(self, ended: LaneEnd) -> None:
        """Write a notice, unless the loop said itself how it ended."""
        if not ended.own_word:
            self._write_notice(ended.label, ended.summary)

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
        self._write({**_ABOUT, "feature_id": self._feature, "at": _format_now(), **fields, "success": success})
        self._ended = True

    def _write_notice(self, label: str, text: str) -> None:
        notice = {"event": "notice", "at": _format_now(), "text": text, "level": "info", "label": label}
        self._write({"schema_version": SCHEMA_VERSION, **notice})

    def _write(self, document: Mapping[str, object]) -> None:
        self._open = self._open and write_line(self._stream, dump_compact(document))


def _format_now() -> str:
    return datetime.now().astimezone().isoformat(timespec="milliseconds")


def write_arena_summary(stream: TextIO, feature: str, ended: ArenaEnd) -> None:
    """Write the summary, unless the reader has gone."""
    all(write_line(stream, text) for text in ("", *render_arena_summary(feature, ended)))


def render_arena_summary(feature: str, ended: ArenaEnd) -> Iterator[str]:
    """Yield a line per candidate, then what a person would type next."""
    rows = [HEAD]
    for one in ended.candidates:
        cells = build_end_cells(one.criteria_met, one.criteria_total, one.iterations, one.spend, one.seconds)
        rows.append((one.label, describe_status(one.status), *cells, fold(one.branch)))
    yield from align_columns(rows)
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


def build_end_cells(met: int, total: int, iterations: int, spend: Spend, seconds: float) -> tuple[str, ...]:
    """Return what a run came to, for the columns from `criteria` to `time`."""
    criteria, time = f"{met} of {total}" if total else "-", format_duration(seconds) if seconds else "-"
    return (criteria, str(iterations), format_spend(spend) or "-", time)


AGAIN_HINT = "Ctrl+C: each cell finishes its iteration. The same command again goes on."
FLEET_HEAD: tuple[str, ...] = ("cell", "outcome", "criteria", "iterations", "cost", "time", "worker")


class FleetLines:
    """Writes to `stream`: lines for people, or with `as_json` a document each, and then the table to `words`."""

    def __init__(self, stream: TextIO, words: TextIO, *, as_json: bool) -> None:
        self._stream, self._words, self._as_json = stream, words if as_json else stream, as_json
        self._last = dict[str, str]()

    def hear(self, name: str, summary: CellSummary) -> None:
        """Write where a cell is, if that is not what was written last."""
        if self._as_json:
            document = {"schema_version": SCHEMA_VERSION, "event": "cell", "cell": name, **to_builtins(summary)}
            write_line(self._stream, dump_compact(document))
            return
        text = f"{describe_status(summary.status)}, {summary.met} of {summary.total} criteria passed"
        text += f", iteration {summary.iterations}" if summary.iterations else ""
        text += f": {fold(summary.said)}" if summary.said and summary.status != "met" else ""
        if self._last.get(name) != text:
            self._last[name] = text
            write_line(self._stream, stamp_line(text, f"{fold(name)}  "))

    def begin(self, cells: Collection[str]) -> None:
        """Write nothing: each cell says when it begins."""

    def close(self) -> None:
        """Leave the streams open: they are the caller's."""

    def finish(self, ended: "FleetEnd") -> None:
        """Write the table, and as JSON the end."""
        if self._as_json:
            document = {"schema_version": SCHEMA_VERSION, "event": "fleet_finished", **to_builtins(ended)}
            write_line(self._stream, dump_compact(document))
        _write_table(self._words, ended)


class FleetLive:
    """Draws a lane per cell on a terminal, and writes the table below when all have ended."""

    def __init__(self, stream: TextIO) -> None:
        from aigon.views.terminal.live import Screen
        from aigon.views.terminal.scene import ArenaScene

        self._scene = ArenaScene("Fleet", began=time.monotonic(), hint=AGAIN_HINT)
        self._stream, self._screen = stream, Screen(stream, self._draw)

    def begin(self, cells: Collection[str]) -> None:
        """Take the terminal, once nothing is asked or said any more."""
        from aigon.views.terminal.scene import Scene

        plan = f"0 of {format_count(len(cells), 'cell')} proven"
        self._scene = replace(self._scene, plan=plan, lanes={name: Scene(name) for name in cells})
        self._screen.take()

    def hear(self, name: str, summary: CellSummary) -> None:
        """Show where a cell is; what concerns no cell is a notice."""
        lane, now = self._scene.lanes.get(name), time.monotonic()
        if lane is None or summary.status in AGAIN:
            self._scene = self._scene.add_notice(name, f"{describe_status(summary.status)}: {fold(summary.said)}")
        if lane is None:
            return
        lane = replace(
            lane, place=IterationCount(summary.iterations), total=summary.total, earlier_met=summary.met,
            spend=summary.spend, since=lane.since or now,
        )  # fmt: skip
        if summary.status in AGAIN:
            lane = replace(lane, since=None)
        elif summary.status == "running":
            phase = f"at work on {fold(summary.worker)}"
            lane = replace(lane, phase=phase, phase_began=lane.phase_began if lane.phase == phase else now)
        else:
            words = summary.said or describe_status(summary.status)
            lane = replace(lane, closed=LaneEnd(name, "", "", summary.status, summary.exit_code, words,
                                                seconds=summary.seconds))  # fmt: skip
        lanes = {**self._scene.lanes, name: lane}
        proven = sum(each.closed is not None and each.closed.status == "met" for each in lanes.values())
        self._scene = replace(self._scene, lanes=lanes, plan=f"{proven} of {format_count(len(lanes), 'cell')} proven")

    def finish(self, ended: "FleetEnd") -> None:
        """Give the terminal back and write the table."""
        self.close()
        _write_table(self._stream, ended)

    def close(self) -> None:
        self._screen.close()

    def _draw(self, page: "Page", last: bool) -> "Group":
        from aigon.views.terminal.frame import draw_arena, draw_arena_end

        return (draw_arena_end if last else draw_arena)(self._scene, page, time.monotonic())


def _write_table(stream: TextIO, ended: "FleetEnd") -> None:
    rows = {name: (each, each.worker) for name, each in ended.cells.items()}
    tally = f"{ended.proven} of {len(ended.cells)} proven, {format_dollars(ended.usd)} known to be spent"
    features = dict.fromkeys(name.rpartition("--")[0] for name in ended.cells)
    fetch = "".join(f"\nNext: aigon records fetch {feature}" for feature in list(features)[:1])
    for line in ("", *render_cells(rows), "", f"{tally}{fetch}"):
        write_line(stream, line)


def render_cells(cells: Mapping[str, tuple[CellSummary | None, str]]) -> Iterator[str]:
    """Yield a line per cell; None is one that another machine works on."""
    rows = [FLEET_HEAD]
    for name, (each, owner) in cells.items():
        came_to: tuple[str, ...] = ("working", "-", "-", "-", "-")
        if each:
            ended = build_end_cells(each.met, each.total, each.iterations, each.spend, each.seconds)
            came_to = (describe_status(each.status), *ended)
        rows.append((fold(name), *came_to, fold(owner)))
    yield from align_columns(rows if cells else [])
