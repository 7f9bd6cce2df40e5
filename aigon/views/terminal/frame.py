"""One frame of the live view: a scene drawn as lines of text that fit the terminal."""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap

from rich.console import Group
from rich.text import Text

from aigon.journal.attempt import describe_checks
from aigon.journal.spending import format_spend
from aigon.model.outcomes import describe_status
from aigon.text.quoting import fold
from aigon.views.terminal.rows import checks, clock, criteria, proven
from aigon.views.terminal.scene import Scene

SPARE = 2
"""Lines of the terminal left free: a frame as high as the terminal would scroll it."""

_ENOUGH = 14
"""Lines below which the lists give way to one line of counts: the rest of the view takes ten and a few notices."""

_ASCII = str.maketrans({"✓": "+", "✗": "x", "▸": ">", "·": "-", "…": "."})
"""What stands for the view's own signs where the terminal's encoding lacks them."""


@dataclass(frozen=True, slots=True)
class Page:
    """What there is to draw on: columns, lines and the terminal's encoding."""

    width: int
    height: int
    encoding: str = "utf-8"


def running(scene: Scene, page: Page, now: float) -> Group:
    """`scene` at the monotonic second `now`, on at most as many lines as `page` has."""
    head = [*_header(scene, now), *wrapped(_doing(scene, now), "cyan", page)]
    told = [(fold(notice.text), notice.level) for notice in scene.notices]
    room = page.height - SPARE - len(head)
    if page.height < _ENOUGH:
        lines = [*head, Text(_far(scene)), *notice_lines(told, page, room - 1)]
        return drawn(lines[: max(1, page.height - SPARE)], page)
    notices = section(notice_lines(told, page, room // 2))
    room -= len(notices) + 3
    upper = checks(scene, max(2, room // 2, room - len(scene.criteria)), now)
    lower = criteria(scene, max(1, room - len(upper)), now)
    return drawn([*head, *section(upper), *section(lower), *notices], page)


def closing(scene: Scene, page: Page, now: float) -> Group:
    """The few lines that stay: how the run ended. The caller's summary, which follows, says how far it came."""
    word = describe_status(scene.end.status) if scene.end else "not finished"
    style = "green" if word == "proven" else "yellow"
    return drawn([*_header(scene, now), Text(word, style)], page)


def _doing(scene: Scene, now: float) -> str:
    """What the run does, and since when, or how long it still waits."""
    if scene.phase_ends is None:
        return f"{fold(scene.phase)}, {clock(now - scene.phase_began)}"
    return f"{fold(scene.phase)}, {clock(scene.phase_ends - now)} left (Ctrl+C stops, --resume continues)"


def _far(scene: Scene) -> str:
    findings = [row.finding for row in scene.checks.values() if row.finding]
    return f"{proven(scene)} · {describe_checks(findings)}"


def _header(scene: Scene, now: float) -> list[Text]:
    """The agent last: the name of a model can be long, and a narrow terminal cuts the end off."""
    agent = f"{scene.agent} ({scene.model})" if scene.model else scene.agent
    rung = f"rung {scene.rung[0] + 1} of {scene.rung[1]}" if scene.rung[1] > 1 else ""
    parts = (str(scene.place), rung, clock(now - scene.began), format_spend(scene.spend), agent)
    return [Text(fold(scene.title), style="bold"), Text(fold(" · ".join(part for part in parts if part)))]


def notice_lines(notices: Sequence[tuple[str, str]], page: Page, room: int) -> list[Text]:
    """Lines for notices, each a text and its level, oldest first. If `room` is too small, the oldest give way."""
    lines: list[Text] = []
    for text, level in reversed(notices):
        warns = level == "warning"
        more = wrapped(text, "yellow" if warns else "dim", page, "! " if warns else "  ")
        if len(lines) + len(more) > room:
            return lines or more[: max(room, 0)]
        lines = [*more, *lines]
    return lines


def wrapped(text: str, style: str, page: Page, mark: str = "") -> list[Text]:
    """`text` on as many lines as the page's width asks for, the first behind `mark`: a hint that is cut is none."""
    blank = " " * len(mark)
    lines = wrap(text, max(page.width, 20), initial_indent=mark, subsequent_indent=blank, break_on_hyphens=False)
    return [Text(line, style=style) for line in lines]


def section(lines: Sequence[Text]) -> list[Text]:
    """`lines` below an empty one; nothing for none."""
    return [Text(), *lines] if lines else []


def drawn(lines: Sequence[Text], page: Page) -> Group:
    """The lines, each cut to the width of the page."""
    return Group(*(_fitted(line, page) for line in lines))


def _fitted(line: Text, page: Page) -> Text:
    """`line` cut to one line of the terminal, in what its encoding can show."""
    line.no_wrap, line.overflow = True, "ellipsis"
    line.truncate(page.width, overflow="ellipsis")
    if not page.encoding.lower().startswith("utf"):
        line.plain = line.plain.translate(_ASCII).encode(page.encoding, "replace").decode(page.encoding)
    return line
