"""The board as people see it: cards in columns side by side, as many as the terminal has room for."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import zip_longest
from typing import TextIO

from rich.cells import cell_len, chop_cells

from aigon.model.agents import format_run_command
from aigon.model.outcomes import describe_status
from aigon.text.amounts import format_count
from aigon.text.patterns import compile_re
from aigon.text.quoting import fold
from aigon.views.board_cards import TITLES, Card, CardLane, Column, RunEnd, RunningLoop

NARROWEST, WIDEST = 27, 46
"""Columns of the terminal for one column of the board: less breaks every line, more is nothing but blanks."""
_COLOURS = {"met": "green", "unavailable": "red", "refused": "red", "broken_off": "red"}
_WORDS = {"unavailable": "agent or judge unavailable", "elsewhere": "runs, or did,"}
_SAID = compile_re(r"^(?:Needs a human: |Refused: |Stopped by the guard )")
"""The words in which a status says already why."""
_LONGEST = {"title": 100, "reason": 120, "problem": 160}
_BORDERS, _PLAIN_BORDERS = tuple("╭─╮│╰╯"), tuple("+-+|++")
_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
"""What a terminal is sent for each word of a style."""

Line = Sequence[tuple[str, str]]
"""Texts with their styles, such as `bold green`, one after the other."""


class _Painter:
    """Makes lines of text: their width, the borders that the encoding of a stream has, and the styles that it takes.

    There are none in a pipe, and no colours with NO_COLOR. All of rich would take longer to import than the rest.
    """

    def __init__(self, stream: TextIO, width: int | None) -> None:
        encoding = getattr(stream, "encoding", None) or "utf-8"
        self.width = width or _measure_terminal()
        self.borders = _BORDERS if encoding.casefold().startswith("utf") else _PLAIN_BORDERS
        forced = os.environ.get("FORCE_COLOR")
        takes_styles = stream.isatty() if forced is None else forced != ""
        takes_styles = takes_styles and os.environ.get("TERM", "").casefold() not in ("dumb", "unknown")
        known = ("bold", "dim") if os.environ.get("NO_COLOR") else _CODES
        self._codes = {word: _CODES[word] for word in known} if takes_styles else {}

    def paint(self, line: Line) -> str:
        painted = []
        for text, style in line:
            codes = ";".join(self._codes[word] for word in style.split() if word in self._codes)
            painted.append(f"\x1b[{codes}m{text}\x1b[0m" if codes else text)
        return "".join(painted)

    def pad(self, line: Line, width: int) -> str:
        return self.paint(line) + " " * (width - sum(cell_len(text) for text, _ in line))


def _measure_terminal() -> int:
    """Return the columns of the terminal that any of the standard streams is: a pager has one, too."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns):
        return int(columns)
    for stream in range(3):
        with suppress(OSError):
            if width := os.get_terminal_size(stream).columns:
                return width
    return 80


def print_board(columns: Sequence[Column], stream: TextIO, width: int | None = None) -> None:
    """Print the board, in the width of the terminal unless one is given."""
    painter = _Painter(stream, width)
    shown = [column for column in columns if column.cards]
    if not shown:
        print("There are no features yet. Write one: aigon feature-create NAME", file=stream)
        return
    beside = max(1, min(len(shown), painter.width // NARROWEST))
    wide = min(painter.width // beside, WIDEST)
    for first in range(0, len(shown), beside):
        band = [_draw_column(column, painter, wide) for column in shown[first : first + beside]]
        rows = ("".join(row).rstrip() for row in zip_longest(*band, fillvalue=" " * wide))
        print(*([""] if first else []), *rows, sep="\n", file=stream)
    if any(card.proven is None and card.ticked for column in shown for card in column.cards):
        legend = "ticked: boxes in a spec that no run has checked yet"
        print(*map(painter.paint, _wrap([(legend, "dim")], painter.width)), sep="\n", file=stream)
    for card in (card for column in shown for card in column.cards):  # under the board, where no column cuts it
        ends = [("", None if card.lanes else card.ended)]
        ends += [(fold(lane.label, 40), None if lane.working else lane.ended) for lane in card.lanes]
        for label in (label for label, end in ends if end and end.status == "broken_off"):
            print(f"Next: {format_run_command(card.feature.name_for_people, label)}", file=stream)


def _draw_column(column: Column, painter: _Painter, width: int) -> Iterator[str]:
    """Yield the lines of one column of the board, each of this width."""
    number = len(column.cards) + column.left_out
    title = [(f" {TITLES.get(column.stage, fold(column.stage))} ({number})", "bold")]
    yield from (painter.pad(line, width) for line in _wrap(title, width))
    for card in column.cards:
        yield from _draw_card(card, painter, width)
    if column.left_out:
        yield painter.pad([(f" and {column.left_out} more: --all", "dim")], width)


def _draw_card(card: Card, painter: _Painter, width: int) -> Iterator[str]:
    corner, level, end, upright, left, right = painter.borders
    edge, inside = "green" if card.working else "", max(width - 4, 2)
    name = chop_cells(fold(card.feature.name_for_people, 40), inside - 4)[0]
    rest = level * (inside - 3 - cell_len(name))
    yield painter.paint([(f"{corner}{level} ", edge), (f" {name} ", f"bold {edge}"), (f" {rest}{end}", edge)])
    for whole in _render_card(card):
        for line in _wrap(whole, inside):
            text = painter.pad(line, inside)
            yield f"{painter.paint([(upright, edge)])} {text} {painter.paint([(upright, edge)])}"
    yield painter.paint([(f"{left}{level * (width - 2)}{right}", edge)])


def _wrap(line: Line, width: int) -> Iterator[Line]:
    """Yield the line in parts of at most `width` columns: broken at blanks, and inside a word that is longer."""
    text = "".join(each for each, _ in line)
    start = end = 0
    for word in re.finditer(r"\S+", text):
        if end > start and cell_len(text[start : word.end()]) > width:
            yield _cut(line, start, end)
            start = word.start()
        end = word.end()
        while cell_len(text[start:end]) > width:
            part = len(chop_cells(text[start:end], width)[0])
            yield _cut(line, start, start + part)
            start += part
    yield _cut(line, start, end)


def _cut(line: Line, start: int, end: int) -> Line:
    """Return the characters from `start` to `end` with their styles."""
    parts, at = [], 0
    for text, style in line:
        parts.append((text[max(start - at, 0) : max(end - at, 0)], style))
        at += len(text)
    return parts


def _render_card(card: Card) -> Iterator[Line]:
    yield [(fold(card.title, _LONGEST["title"]), "")]
    if card.boxes or not card.problem:
        yield _count_proven_of_each(card.lanes) if card.lanes else _describe_criteria(card)
    for loop in card.working:
        if not (card.lanes and loop.label):
            yield from _render_loop(loop)
    for lane in card.lanes:
        label = fold(lane.label, 40)
        if lane.working:
            yield from _render_loop(lane.working, label)
        elif lane.ended:
            yield [(f"{label}: ", ""), *_end(lane.ended)]
    if card.ended and not card.lanes:
        yield _end(card.ended)
    if card.problem:
        yield [(fold(card.problem, _LONGEST["problem"]), "red")]


def _describe_criteria(card: Card) -> Line:
    """Return what is proven; without an assessment only what the boxes claim."""
    if card.proven is not None and card.total is not None:
        whole = card.total > 0 and card.proven == card.total
        return [(f"{card.proven}/{card.total} passed", "green" if whole else "cyan")]
    ticked = f", {card.ticked} ticked" if card.ticked else ""
    return [(f"{format_count(card.boxes, 'criterion')}{ticked}" if card.boxes else "no criteria", "dim")]


def _count_proven_of_each(lanes: Sequence[CardLane]) -> Line:
    """`cc 2/4, cx 3/4 passed`."""
    parts = []
    for number, lane in enumerate(lanes):
        whole = lane.total > 0 and lane.proven == lane.total
        parts.append((", " if number else "", ""))
        parts.append((f"{fold(lane.label, 40)} {lane.proven}/{lane.total}", "green" if whole else "cyan"))
    return [*parts, (" passed", "")]


def _render_loop(loop: RunningLoop, label: str = "") -> Iterator[Line]:
    where = f"iteration {loop.iteration} of {loop.max_iterations}" if loop.iteration else "looking at the base"
    who = f"{label} running:" if label else f"running: {fold(loop.agent)},"
    yield [(f"{who} {where}, since {_format_moment(loop.since)}", "bold green")]
    if loop.waiting_for:
        until = f" until {_format_clock(loop.waiting_until)}" if loop.waiting_until else ""
        yield [(f"waiting for {fold(loop.waiting_for)}{until}", "yellow")]


def _end(end: RunEnd) -> Line:
    words = _WORDS.get(end.status) or fold(describe_status(end.status))
    reason = fold(_SAID.sub("", end.reason), _LONGEST["reason"])
    if not reason or end.status in ("met", "broken_off"):
        reason = ""
    elif end.status != "elsewhere":
        words += ":"
    said = [(words, _COLOURS.get(end.status, "yellow")), (f" {reason}" if reason else "", "")]
    return [*said, (f", {_format_moment(end.at)}", "dim")]


def _format_moment(at: str) -> str:
    """Return the time of day of something today, and the day of anything before; by this machine's clock."""
    try:
        then = datetime.fromisoformat(at).astimezone()
    except ValueError:
        return fold(at, 40)
    today = then.date() == datetime.now().astimezone().date()
    return f"{then:%H:%M}" if today else f"{then:%Y-%m-%d}"


def _format_clock(seconds: float) -> str:
    try:
        return _format_moment(datetime.fromtimestamp(seconds).astimezone().isoformat())
    except (ValueError, OverflowError, OSError, TypeError):
        return "later"
