"""A fleet in the terminal: a line per step of a cell, and a table of all at the end."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TextIO

from msgspec import to_builtins

from aigon.files.pipe import write_line
from aigon.fleet.fleet import FleetEnd
from aigon.fleet.order import CellSummary
from aigon.journal.codec import SCHEMA_VERSION, dump_compact
from aigon.journal.spending import format_spend
from aigon.model.outcomes import describe_status
from aigon.text.amounts import format_dollars, format_duration
from aigon.text.quoting import fold
from aigon.views.terminal.lines import stamp_line

HEAD = ("cell", "outcome", "criteria", "iterations", "cost", "time", "worker")


class FleetLines:
    """Writes to `stream`: lines for people, or with `as_json` a document each, and then the table to `words`."""

    def __init__(self, stream: TextIO, words: TextIO, cells: Sequence[str], *, as_json: bool) -> None:
        self._stream, self._words, self._as_json = stream, words if as_json else stream, as_json
        self._width, self._last = max(map(len, cells), default=0), dict[str, str]()

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
            write_line(self._stream, stamp_line(text, f"{fold(name):<{self._width}}  "))

    def finish(self, ended: FleetEnd) -> None:
        """Write the table, and as JSON the end."""
        if self._as_json:
            document = {"schema_version": SCHEMA_VERSION, "event": "fleet_finished", **to_builtins(ended)}
            write_line(self._stream, dump_compact(document))
        rows = {name: (each, each.worker) for name, each in ended.cells.items()}
        tally = f"{ended.proven} of {len(ended.cells)} proven, {format_dollars(ended.usd)} known to be spent"
        features = dict.fromkeys(name.rpartition("--")[0] for name in ended.cells)
        fetch = "".join(f"\nNext: aigon records fetch {feature}" for feature in list(features)[:1])
        for line in ("", *render_cells(rows), "", f"{tally}{fetch}"):
            write_line(self._words, line)


def render_cells(cells: Mapping[str, tuple[CellSummary | None, str]]) -> Iterator[str]:
    """Yield a line per cell; None is one that somebody works on."""
    rows = [_build_row(name, summary, owner) for name, (summary, owner) in cells.items()]
    widths = [max(len(row[at]) for row in [HEAD, *rows]) for at in range(len(HEAD))]
    for row in [HEAD, *rows] if rows else []:
        yield "  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip()


def _build_row(name: str, summary: CellSummary | None, owner: str) -> tuple[str, ...]:
    if summary is None:
        return (fold(name), "working", "-", "-", "-", "-", fold(owner))
    criteria = f"{summary.met} of {summary.total}" if summary.total else "-"
    time = format_duration(summary.seconds) if summary.seconds else "-"
    cost = format_spend(summary.spend) or "-"
    return (fold(name), describe_status(summary.status), criteria, str(summary.iterations), cost, time, fold(owner))
