"""One frame of the live view: a scene drawn as lines of text that fit the terminal."""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap

from rich.console import Group
from rich.text import Text

from aigon.journal.attempt import describe_checks
from aigon.journal.spending import format_spend
from aigon.model.checks import Finding
from aigon.model.criteria import Criterion
from aigon.model.outcomes import describe_outcome, describe_status
from aigon.text.quoting import fold
from aigon.views.terminal.lines import criterion_number, describe_result, format_check_time
from aigon.views.terminal.scene import ArenaScene, CheckProgress, LaneScene, Scene

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


def draw_run(scene: Scene, page: Page, now: float) -> Group:
    """`scene` at the monotonic second `now`, on at most as many lines as `page` has."""
    head = [*_draw_run_header(scene, now), *wrap_text(_describe_phase(scene, now), "cyan", page)]
    told = [(fold(notice.text), notice.level) for notice in scene.notices]
    room = page.height - SPARE - len(head)
    if page.height < _ENOUGH:
        lines = [*head, Text(_count_results(scene)), *draw_notices(told, page, room - 1)]
        return fit_lines(lines[: max(1, page.height - SPARE)], page)
    notices = draw_section(draw_notices(told, page, room // 2))
    room -= len(notices) + 3
    upper = draw_checks(scene, max(2, room // 2, room - len(scene.criteria)), now)
    lower = draw_criteria(scene, max(1, room - len(upper)), now)
    return fit_lines([*head, *draw_section(upper), *draw_section(lower), *notices], page)


def draw_run_end(scene: Scene, page: Page, now: float) -> Group:
    """The few lines that stay: how the run ended. The caller's summary, which follows, says how far it came."""
    word = describe_status(scene.end.status) if scene.end else "not finished"
    style = "green" if word == "proven" else "yellow"
    return fit_lines([*_draw_run_header(scene, now), Text(word, style)], page)


def _describe_phase(scene: Scene, now: float) -> str:
    """What the run does, and since when, or how long it still waits."""
    if scene.phase_ends is None:
        return f"{fold(scene.phase)}, {format_clock(now - scene.phase_began)}"
    return f"{fold(scene.phase)}, {format_clock(scene.phase_ends - now)} left (Ctrl+C stops, --resume continues)"


def _count_results(scene: Scene) -> str:
    findings = [row.finding for row in scene.checks.values() if row.finding]
    return f"{count_proven(scene)} · {describe_checks(findings)}"


def _draw_run_header(scene: Scene, now: float) -> list[Text]:
    """The agent last: the name of a model can be long, and a narrow terminal cuts the end off."""
    agent = f"{scene.agent} ({scene.model})" if scene.model else scene.agent
    rung = f"rung {scene.rung[0] + 1} of {scene.rung[1]}" if scene.rung[1] > 1 else ""
    parts = (str(scene.place), rung, format_clock(now - scene.began), format_spend(scene.spend), agent)
    return [Text(fold(scene.title), style="bold"), Text(fold(" · ".join(part for part in parts if part)))]


def draw_notices(notices: Sequence[tuple[str, str]], page: Page, room: int) -> list[Text]:
    """Lines for notices, each a text and its level, oldest first. If `room` is too small, the oldest give way."""
    lines: list[Text] = []
    for text, level in reversed(notices):
        warns = level == "warning"
        more = wrap_text(text, "yellow" if warns else "dim", page, "! " if warns else "  ")
        if len(lines) + len(more) > room:
            return lines or more[: max(room, 0)]
        lines = [*more, *lines]
    return lines


def wrap_text(text: str, style: str, page: Page, mark: str = "") -> list[Text]:
    """`text` on as many lines as the page's width asks for, the first behind `mark`: a hint that is cut is none."""
    blank = " " * len(mark)
    lines = wrap(text, max(page.width, 20), initial_indent=mark, subsequent_indent=blank, break_on_hyphens=False)
    return [Text(line, style=style) for line in lines]


def draw_section(lines: Sequence[Text]) -> list[Text]:
    """`lines` below an empty one; nothing for none."""
    return [Text(), *lines] if lines else []


def fit_lines(lines: Sequence[Text], page: Page) -> Group:
    """The lines, each cut to the width of the page."""
    return Group(*(_fit_line(line, page) for line in lines))


def _fit_line(line: Text, page: Page) -> Text:
    """`line` cut to one line of the terminal, in what its encoding can show."""
    line.no_wrap, line.overflow = True, "ellipsis"
    line.truncate(page.width, overflow="ellipsis")
    if not page.encoding.lower().startswith("utf"):
        line.plain = line.plain.translate(_ASCII).encode(page.encoding, "replace").decode(page.encoding)
    return line


_TIME = 8
"""Columns of a duration in a check's row: `12m 05s` fits."""

_TITLE = 24
"""The most columns that the titles of the checks take."""

_CHECK_MARKS = {"pass": ("✓", "green"), "fail": ("✗", "red"), "error": ("✗", "red"), "skipped": ("-", "yellow")}
_BOXES = {"met": ("[x]", "green"), "unmet": ("[ ]", ""), "unclear": ("[?]", "yellow")}


def format_clock(seconds: float) -> str:
    """A running time as a clock shows it: `0:42`, `1:02:03`."""
    minutes, second = divmod(max(0, int(seconds)), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def draw_checks(scene: Scene, room: int, now: float) -> list[Text]:
    """A line per check; where `room` is too small, what runs or is red before what waits or is green."""
    rows = list(scene.checks.values())
    width = min(_TITLE, max((len(row.title) for row in rows), default=0))
    if len(rows) <= room:
        return [_draw_check(row, width, now) for row in rows]
    ranked = sorted(range(len(rows)), key=lambda at: _rank_check(rows[at]))
    shown = [rows[at] for at in sorted(ranked[: room - 1])]
    more = Text(f"  and {len(rows) - len(shown)} more", style="dim")
    return [*(_draw_check(row, width, now) for row in shown), more]


def draw_criteria(scene: Scene, room: int, now: float) -> list[Text]:
    """How many are proven, then a box for each; where `room` is too small, the open ones first and the rest counted."""
    if not scene.criteria:
        return []
    heading = Text(count_proven(scene))
    if len(scene.criteria) <= room:
        return [heading, *(_draw_criterion(scene, criterion, now) for criterion in scene.criteria)]
    ordered = sorted(scene.criteria, key=lambda criterion: _find_status(scene, criterion) == "met")
    shown, hidden = ordered[: room - 1], ordered[room - 1 :]
    return [heading, *(_draw_criterion(scene, criterion, now) for criterion in shown), _count_hidden(scene, hidden)]


def count_proven(scene: Scene) -> str:
    """`3 of 5 criteria proven`."""
    met = sum(_find_status(scene, criterion) == "met" for criterion in scene.criteria)
    return f"{met} of {len(scene.criteria)} criteria proven"


def _rank_check(row: CheckProgress) -> int:
    if row.running is not None:
        return 0
    if not row.fresh or row.finding is None:
        return 2
    return 3 if row.finding.status == "pass" else 1


def _draw_check(row: CheckProgress, width: int, now: float) -> Text:
    title = f"{fold(row.title, width):{width}}"
    if row.running is not None:
        return Text(f"  ▸ {title} {format_clock(now - row.running):>{_TIME}}  running", style="cyan")
    if row.fresh and row.finding:
        return _draw_finding(row.finding, title)
    before = f" (was: {fold(describe_result(row.finding))})" if row.finding else ""
    return Text(f"  · {title} {'':{_TIME}}  waiting{before}", style="dim")


def _draw_finding(finding: Finding, title: str) -> Text:
    mark, style = _CHECK_MARKS[finding.status]
    return Text.assemble(
        "  ",
        (mark, style),
        f" {title} ",
        (f"{format_check_time(finding):>{_TIME}}", "dim"),
        f"  {_describe_finding(finding)}",
    )


def _describe_finding(finding: Finding) -> str:
    return fold(describe_result(finding))


def _find_status(scene: Scene, criterion: Criterion) -> str:
    verdict = scene.verdicts.get(criterion.number)
    return verdict.status if verdict else "unmet"


def _draw_criterion(scene: Scene, criterion: Criterion, now: float) -> Text:
    text = f" {criterion.number} {fold(criterion.text)}"
    since = scene.proving.get(criterion.number)
    if since is not None:
        return Text(f"  [▸]{text} · running {format_clock(now - since)}", style="cyan")
    box, style = _BOXES[_find_status(scene, criterion)]
    return Text.assemble("  ", (box, style), text, _draw_reason(scene, criterion))


def _draw_reason(scene: Scene, criterion: Criterion) -> tuple[str, str]:
    verdict = scene.verdicts.get(criterion.number)
    if verdict is None or verdict.status == "met" or not verdict.reason:
        return "", ""
    return f" · {fold(verdict.reason)}", "dim"


def _count_hidden(scene: Scene, hidden: Sequence[Criterion]) -> Text:
    met = sum(_find_status(scene, criterion) == "met" for criterion in hidden)
    unmet = len(hidden) - met
    kinds = f": {unmet} open, {met} proven" if met and unmet else " proven" if met else " open"
    return Text(f"  and {len(hidden)} more{kinds}", style="dim")


HINT = "Ctrl+C: each finishes its iteration. Twice: all stop now. --resume continues."
HEAD = ("agent", "iteration", "proven", "red", "time", "cost")
NARROW = 76
"""Columns below which time and cost of each are left out: what it does now says more."""
_LABEL = 20
"""The most columns that a label takes."""
_LANE_MARKS = {"met": ("✓", "green"), "broken_off": ("✗", "red"), "not_started": ("·", "dim")}


def draw_arena(stage: ArenaScene, page: Page, now: float) -> Group:
    """`stage` at the monotonic second `now`, on at most as many lines as `page` has."""
    head = [*_draw_arena_header(stage, now), *wrap_text(HINT, "dim", page)]
    room = page.height - SPARE
    told = [(_format_notice(stage, label, text), "warning") for label, text in stage.notices]
    notices = draw_section(draw_notices(told, page, (room - len(head)) // 2))
    table = _draw_lanes(stage, page, now, max(1, room - len(head) - 1 - len(notices)))
    lines = [*head, Text(), *table, *notices]
    return fit_lines(lines if len(lines) <= room else [*head[:1], *table][: max(1, room)], page)


def draw_arena_end(stage: ArenaScene, page: Page, now: float) -> Group:
    """What stays: the summary after it says the rest."""
    return fit_lines(_draw_arena_header(stage, now), page)


def _draw_arena_header(stage: ArenaScene, now: float) -> list[Text]:
    parts = (format_clock(now - stage.began), format_spend(stage.spend), stage.limits)
    return [
        Text(fold(f"{stage.title} · {stage.plan}"), style="bold"),
        Text(" · ".join(part for part in parts if part)),
    ]


def _draw_lanes(stage: ArenaScene, page: Page, now: float, room: int) -> list[Text]:
    """A heading and a line each; where `room` is too small, those that run before those that do not."""
    labels = list(stage.riders)
    if len(labels) + 1 > room:
        ranked = sorted(labels, key=lambda label: _rank_lane(stage.riders[label]))
        kept = set(ranked[: max(1, room - 2)])
        labels = [label for label in labels if label in kept]
    rows = [(label, _build_cells(label, stage.riders[label], now)) for label in labels]
    keep = len(HEAD) if page.width >= NARROW else len(HEAD) - 2
    widths = [max(len(cells[at]) for cells in (HEAD, *(cells for _, cells in rows))) for at in range(keep)]
    lines = [Text(f"  {_align_cells(HEAD, widths)}  now", style="dim")]
    lines += [_draw_lane(stage.riders[label], cells, widths, now) for label, cells in rows]
    hidden = len(stage.riders) - len(labels)
    return [*lines, Text(f"  and {hidden} more", style="dim")] if hidden else lines


def _rank_lane(rider: LaneScene) -> int:
    return 2 if rider.ended else 1 if rider.since is None else 0


def _build_cells(label: str, rider: LaneScene, now: float) -> tuple[str, ...]:
    scene, ended = rider.scene, rider.ended
    place = str(scene.place).removeprefix("iteration ").replace(" of ", "/") if scene.place.number else "-"
    proven = f"{rider.met}/{rider.total}" if rider.total else "-"
    red = sum(bool(r.fresh and r.finding and r.finding.status in ("fail", "error")) for r in scene.checks.values())
    seconds = ended.seconds if ended else 0.0 if rider.since is None else now - rider.since
    return (fold(label, _LABEL), place, proven, str(red), format_clock(seconds), format_spend(scene.spend) or "-")


def _draw_lane(rider: LaneScene, cells: Sequence[str], widths: Sequence[int], now: float) -> Text:
    waits = rider.since is None
    mark, style = ("·", "dim") if waits else ("▸", "cyan")
    end = rider.ended or rider.scene.end
    if end:
        mark, style = _LANE_MARKS.get(end.status, ("-", "yellow"))
    doing = fold(_describe_lane(rider, now))
    return Text.assemble((mark, style), f" {_align_cells(cells, widths)}  ", (doing, "" if mark == "▸" else style))


def _align_cells(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=False))


def _describe_lane(rider: LaneScene, now: float) -> str:
    """How it ended, or what it does now."""
    if rider.ended:
        return "proven" if rider.ended.status == "met" else rider.ended.summary
    if rider.since is None:
        return "queued"
    scene = rider.scene
    if scene.end:
        return "proven" if scene.end.status == "met" else describe_outcome(scene.end.outcome)
    if scene.phase_ends is not None:
        return f"{scene.phase}, {format_clock(scene.phase_ends - now)} left"
    return f"{_list_running(scene) or scene.phase}, {format_clock(now - scene.phase_began)}"


def _list_running(scene: Scene) -> str:
    """The checks and criteria that run; the judge, where checks are done and verdicts are not."""
    running = [
        row.title for name, row in scene.checks.items() if row.running is not None and criterion_number(name) is None
    ]
    running += [f"criterion {number}" for number in scene.proving]
    return f"checks: {', '.join(running)}" if running else ""


def _format_notice(stage: ArenaScene, label: str, text: str) -> str:
    who = f"{fold(label, _LABEL)}: " if label in stage.riders else ""
    return f"{who}{fold(text)}"
