"""One frame of the live view of an arena: a line per candidate, cut to what fits the terminal."""

from collections.abc import Sequence

from rich.console import Group
from rich.text import Text

from aigon.journal.spending import format_spend
from aigon.model.outcomes import describe_outcome
from aigon.text.quoting import fold
from aigon.views.arena.scene import Rider, Stage
from aigon.views.terminal.frame import SPARE, Page, drawn, notice_lines, section, wrapped
from aigon.views.terminal.phrases import asked_by
from aigon.views.terminal.rows import clock
from aigon.views.terminal.scene import Scene

HINT = "Ctrl+C: each finishes its iteration. Twice: all stop now. --resume continues."
HEAD = ("agent", "iteration", "proven", "red", "time", "cost")
NARROW = 76
"""Columns below which time and cost of each are left out: what it does now says more."""
_LABEL = 20
"""The most columns that a label takes."""
_MARKS = {"met": ("✓", "green"), "broken_off": ("✗", "red"), "not_started": ("·", "dim")}


def running(stage: Stage, page: Page, now: float) -> Group:
    """`stage` at the monotonic second `now`, on at most as many lines as `page` has."""
    head = [*_header(stage, now), *wrapped(HINT, "dim", page)]
    room = page.height - SPARE
    told = [(_notice(stage, label, text), "warning") for label, text in stage.notices]
    notices = section(notice_lines(told, page, (room - len(head)) // 2))
    table = _table(stage, page, now, max(1, room - len(head) - 1 - len(notices)))
    lines = [*head, Text(), *table, *notices]
    return drawn(lines if len(lines) <= room else [*head[:1], *table][: max(1, room)], page)


def closing(stage: Stage, page: Page, now: float) -> Group:
    """What stays: the summary after it says the rest."""
    return drawn(_header(stage, now), page)


def _header(stage: Stage, now: float) -> list[Text]:
    parts = (clock(now - stage.began), format_spend(stage.spend), stage.limits)
    return [
        Text(fold(f"{stage.title} · {stage.plan}"), style="bold"),
        Text(" · ".join(part for part in parts if part)),
    ]


def _table(stage: Stage, page: Page, now: float, room: int) -> list[Text]:
    """A heading and a line each; where `room` is too small, those that run before those that do not."""
    labels = list(stage.riders)
    if len(labels) + 1 > room:
        ranked = sorted(labels, key=lambda label: _rank(stage.riders[label]))
        kept = set(ranked[: max(1, room - 2)])
        labels = [label for label in labels if label in kept]
    rows = [(label, _cells(label, stage.riders[label], now)) for label in labels]
    keep = len(HEAD) if page.width >= NARROW else len(HEAD) - 2
    widths = [max(len(cells[at]) for cells in (HEAD, *(cells for _, cells in rows))) for at in range(keep)]
    lines = [Text(f"  {_aligned(HEAD, widths)}  now", style="dim")]
    lines += [_row(stage.riders[label], cells, widths, now) for label, cells in rows]
    hidden = len(stage.riders) - len(labels)
    return [*lines, Text(f"  and {hidden} more", style="dim")] if hidden else lines


def _rank(rider: Rider) -> int:
    return 2 if rider.ended else 1 if rider.since is None else 0


def _cells(label: str, rider: Rider, now: float) -> tuple[str, ...]:
    scene, ended = rider.scene, rider.ended
    place = str(scene.place).removeprefix("iteration ").replace(" of ", "/") if scene.place.number else "-"
    proven = f"{rider.met}/{rider.total}" if rider.total else "-"
    red = sum(bool(r.fresh and r.finding and r.finding.status in ("fail", "error")) for r in scene.checks.values())
    seconds = ended.seconds if ended else 0.0 if rider.since is None else now - rider.since
    return (fold(label, _LABEL), place, proven, str(red), clock(seconds), format_spend(scene.spend) or "-")


def _row(rider: Rider, cells: Sequence[str], widths: Sequence[int], now: float) -> Text:
    waits = rider.since is None
    mark, style = ("·", "dim") if waits else ("▸", "cyan")
    end = rider.ended or rider.scene.end
    if end:
        mark, style = _MARKS.get(end.status, ("-", "yellow"))
    doing = fold(_doing(rider, now))
    return Text.assemble((mark, style), f" {_aligned(cells, widths)}  ", (doing, "" if mark == "▸" else style))


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=False))


def _doing(rider: Rider, now: float) -> str:
    """How it ended, or what it does now."""
    if rider.ended:
        return "proven" if rider.ended.status == "met" else rider.ended.summary
    if rider.since is None:
        return "queued"
    scene = rider.scene
    if scene.end:
        return "proven" if scene.end.status == "met" else describe_outcome(scene.end.outcome)
    if scene.phase_ends is not None:
        return f"{scene.phase}, {clock(scene.phase_ends - now)} left"
    return f"{_busy_with(scene) or scene.phase}, {clock(now - scene.phase_began)}"


def _busy_with(scene: Scene) -> str:
    """The checks and criteria that run; the judge, where checks are done and verdicts are not."""
    running = [row.title for name, row in scene.checks.items() if row.running is not None and asked_by(name) is None]
    running += [f"criterion {number}" for number in scene.proving]
    return f"checks: {', '.join(running)}" if running else ""


def _notice(stage: Stage, label: str, text: str) -> str:
    who = f"{fold(label, _LABEL)}: " if label in stage.riders else ""
    return f"{who}{fold(text)}"
