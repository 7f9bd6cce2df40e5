"""The board as people see it: cards in columns side by side, as many as the terminal has room for."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TextIO

from rich.box import ROUNDED
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from aigon.model.candidates import format_run_command
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


def print_board(columns: Sequence[Column], stream: TextIO, width: int | None = None) -> None:
    """Print the board, in the width of the terminal unless one is given. Colours are rich's affair: none in a pipe,
    none with NO_COLOR."""
    console = Console(file=stream, width=width, highlight=False, emoji=False, markup=False)
    shown = [column for column in columns if column.cards]
    if not shown:
        console.print("There are no features yet. Write one: aigon feature-create NAME", soft_wrap=True)
        return
    beside = max(1, min(len(shown), console.width // NARROWEST))
    wide = min(console.width // beside, WIDEST)
    for first in range(0, len(shown), beside):
        console.print(*([""] if first else []), _band(shown[first : first + beside], wide), sep="\n")
    if any(card.proven is None and card.ticked for column in shown for card in column.cards):
        console.print("ticked: boxes in a spec that no run has checked yet", style="dim")
    for command in _resumes(shown):
        console.print(f"Next: {command}", soft_wrap=True)


def _band(columns: Sequence[Column], width: int) -> RenderableType:
    """Return some columns side by side."""
    grid = Table.grid(padding=0)
    for _ in columns:
        grid.add_column(width=width, vertical="top")
    grid.add_row(*(Group(*_column(column)) for column in columns))
    return grid


def _column(column: Column) -> Iterator[RenderableType]:
    number = len(column.cards) + column.left_out
    yield Text(f" {TITLES.get(column.stage, fold(column.stage))} ({number})", style="bold")
    yield from (_card(card) for card in column.cards)
    if column.left_out:
        yield Text(f" and {column.left_out} more: --all", style="dim")


def _card(card: Card) -> Panel:
    running = "green" if card.working else "none"
    name = Text(f" {fold(card.feature.name_for_people, 40)} ", style="bold")
    return Panel(Group(*_lines(card)), box=ROUNDED, title=name, title_align="left", border_style=running)


def _lines(card: Card) -> Iterator[Text]:
    yield Text(fold(card.title, _LONGEST["title"]))
    if card.boxes or not card.problem:
        yield _all_proven(card.lanes) if card.lanes else _criteria(card)
    for loop in card.working:
        if not (card.lanes and loop.label):
            yield from _loop(loop)
    for lane in card.lanes:
        yield from _lane(lane)
    if card.ended and not card.lanes:
        yield _end(card.ended)
    if card.problem:
        yield Text(fold(card.problem, _LONGEST["problem"]), style="red")


def _criteria(card: Card) -> Text:
    """Return what is proven; without an assessment only what the boxes claim."""
    if card.proven is not None and card.total is not None:
        whole = card.total > 0 and card.proven == card.total
        return Text(f"{card.proven}/{card.total} passed", style="green" if whole else "cyan")
    ticked = f", {card.ticked} ticked" if card.ticked else ""
    return Text(f"{format_count(card.boxes, 'criterion')}{ticked}" if card.boxes else "no criteria", style="dim")


def _all_proven(lanes: Sequence[CardLane]) -> Text:
    """`cc 2/4, cx 3/4 passed`."""
    text = Text()
    for number, lane in enumerate(lanes):
        whole = lane.total > 0 and lane.proven == lane.total
        text.append(", " if number else "")
        text.append(f"{fold(lane.label, 40)} {lane.proven}/{lane.total}", style="green" if whole else "cyan")
    return text.append(" passed")


def _lane(lane: CardLane) -> Iterator[Text]:
    """Yield what an agent of several does, or how it ended."""
    label = fold(lane.label, 40)
    if lane.working:
        yield from _loop(lane.working, label)
    elif lane.ended:
        yield Text.assemble(f"{label}: ", _end(lane.ended))


def _loop(loop: RunningLoop, label: str = "") -> Iterator[Text]:
    where = f"iteration {loop.iteration} of {loop.max_iterations}" if loop.iteration else "looking at the base"
    who = f"{label} running:" if label else f"running: {fold(loop.agent)},"
    yield Text(f"{who} {where}, since {_moment(loop.since)}", style="bold green")
    if loop.waiting_for:
        until = f" until {_clock(loop.waiting_until)}" if loop.waiting_until else ""
        yield Text(f"waiting for {fold(loop.waiting_for)}{until}", style="yellow")


def _end(end: RunEnd) -> Text:
    text = Text(_WORDS.get(end.status) or fold(describe_status(end.status)), style=_COLOURS.get(end.status, "yellow"))
    reason = fold(_SAID.sub("", end.reason), _LONGEST["reason"])
    if reason and end.status not in ("met", "broken_off"):
        text.append(f"{'' if end.status == 'elsewhere' else ':'} {reason}", style="none")
    return text.append(f", {_moment(end.at)}", style="dim")


def _resumes(columns: Sequence[Column]) -> Iterator[str]:
    """Yield the command for each run that broke off: under the board, where no column cuts it."""
    for card in (card for column in columns for card in column.cards):
        name = card.feature.name_for_people
        if card.ended and card.ended.status == "broken_off" and not card.lanes:
            yield format_run_command(name)
        for lane in card.lanes:
            if lane.ended and not lane.working and lane.ended.status == "broken_off":
                yield format_run_command(name, fold(lane.label, 40))


def _moment(at: str) -> str:
    """Return the time of day of something today, and the day of anything before; by this machine's clock."""
    try:
        then = datetime.fromisoformat(at).astimezone()
    except ValueError:
        return fold(at, 40)
    today = then.date() == datetime.now().astimezone().date()
    return f"{then:%H:%M}" if today else f"{then:%Y-%m-%d}"


def _clock(seconds: float) -> str:
    try:
        return _moment(datetime.fromtimestamp(seconds).astimezone().isoformat())
    except (ValueError, OverflowError, OSError, TypeError):
        return "later"
