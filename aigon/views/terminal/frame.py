"""One frame of the live view: scenes drawn as lines of text on a page that fits the terminal.

A run of its own has the whole frame, with its checks and criteria. The runs of an arena have a line each, and below
them what their agents do.
"""

from collections.abc import Callable, Sequence
from textwrap import wrap
from typing import TypeVar

from msgspec import Struct
from rich.console import Group
from rich.text import Text

from aigon.journal.attempt import describe_checks
from aigon.journal.spending import format_spend
from aigon.model.criteria import Criterion
from aigon.model.outcomes import describe_outcome, describe_status
from aigon.text.amounts import format_count
from aigon.text.quoting import align_columns, fold
from aigon.views.terminal.events import describe_result, describe_spent, format_check_time
from aigon.views.terminal.scene import ArenaScene, CheckProgress, Scene

_ASCII = str.maketrans({"✓": "+", "✗": "x", "▸": ">", "·": "-", "…": "."})
"""Replacements for the view's signs if the terminal's encoding lacks them."""


class Page(Struct, frozen=True):
    """The page to draw on: columns, lines and the terminal's encoding."""

    width: int
    height: int
    encoding: str = "utf-8"

    def wrap(self, text: str, style: str, mark: str = "") -> list[Text]:
        """Break `text` into lines of this width, the first behind `mark`, as a hint that is cut is useless."""
        indent = " " * len(mark)
        lines = wrap(text, max(self.width, 20), initial_indent=mark, subsequent_indent=indent, break_on_hyphens=False)
        return [Text(line, style=style) for line in lines]

    def wrap_notices(self, notices: Sequence[tuple[str, str]], room: int) -> list[Text]:
        """Draw notices, each a text and its level, oldest first. If `room` is too small, the oldest give way."""
        lines: list[Text] = []
        for text, level in reversed(notices):
            style, mark = ("yellow", "! ") if level == "warning" else ("dim", "  ")
            notice = self.wrap(text, style, mark)
            if len(lines) + len(notice) > room:
                return lines or notice[: max(room, 0)]
            lines = [*notice, *lines]
        return lines

    def fit(self, lines: Sequence[Text]) -> Group:
        """Cut each line to this width, in characters that the terminal's encoding has."""
        for line in lines:
            line.no_wrap, line.overflow = True, "ellipsis"
            line.truncate(self.width, overflow="ellipsis")
            if not self.encoding.lower().startswith("utf"):
                line.plain = line.plain.translate(_ASCII).encode(self.encoding, "replace").decode(self.encoding)
        return Group(*lines)


T = TypeVar("T")
SPARE = 2
"""Lines of the terminal left free: a frame as high as the terminal would scroll it."""
_ENOUGH = 14
"""Lines below which the lists give way to one line of counts: the rest of the view takes ten and a few notices."""
_STEPS, _FILES = 3, 5
"""Actions and files that are named, the last ones."""
_TIME_WIDTH = 8
"""`12m 05s` fits."""
_TITLE_WIDTH = 24
_LABEL_WIDTH = 20
_QUIET_SECONDS = 20.0
"""Seconds without a sign of life of an agent after which the view says for how long."""
_HEAD = ("agent", "iteration", "passed", "failed", "time", "cost")
_NARROW = 76
"""Columns below which time and cost of each lane are left out: what it does now says more."""
_CHECK_MARKS = {"pass": ("✓", "green"), "fail": ("✗", "red"), "error": ("✗", "red"), "skipped": ("-", "yellow")}
_LANE_MARKS = {"met": ("✓", "green"), "broken_off": ("✗", "red"), "not_started": ("·", "dim")}
_BOXES = {"met": ("[x]", "green"), "unmet": ("[ ]", ""), "unclear": ("[?]", "yellow")}


def draw_run(scene: Scene, page: Page, now: float) -> Group:
    """Draw a run at the monotonic second `now`, on at most as many lines as the page has."""
    if scene.phase_ends is None:
        phase = f"{fold(scene.phase)}, {format_clock(now - scene.phase_began)}{_describe_quiet(scene, now)}"
    else:
        left = format_clock(scene.phase_ends - now)
        phase = f"{fold(scene.phase)}, {left} left (Ctrl+C stops, --resume continues)"
    head = [*_draw_run_header(scene, now), *page.wrap(phase, "cyan")]
    texts = [(fold(notice.text), notice.level) for notice in scene.notices]
    if page.height >= _ENOUGH:
        head += _draw_turn(scene, page, now)
    room = page.height - SPARE - len(head)
    if page.height < _ENOUGH:
        counts = describe_checks([row.finding for row in scene.checks.values() if row.finding])
        lines = [*head, Text(f"{_count_passed(scene)} · {counts}"), *page.wrap_notices(texts, room - 1)]
        return page.fit(lines[: max(1, page.height - SPARE)])
    # A check or two, a criterion, its heading and the gaps always fit below.
    notices = _add_gap(page.wrap_notices(texts, min(room // 2, room - 7)))
    room -= len(notices) + 3
    checks = _draw_checks(scene, max(2, room // 2, room - len(scene.criteria)), now)
    criteria = _draw_criteria(scene, max(1, room - len(checks)), now)
    return page.fit([*head, *_add_gap(checks), *_add_gap(criteria), *notices])


def _draw_turn(scene: Scene, page: Page, now: float) -> list[Text]:
    """Draw what the agent did last, oldest first, and what the turn came to so far."""
    if (turn := scene.turn) is None:
        return []
    lines = [Text(f"  {fold(f'{step.kind} {step.text}')}", style="dim") for step in turn.steps[-_STEPS:-1]]
    for step in turn.steps[-1:]:
        since = f" · {format_clock(now - (step.at - scene.ahead))}"
        doing = fold(f"{step.kind} {step.text}", max(page.width - len(since) - 2, 10))
        lines.append(Text.assemble("▸ ", doing, (since, "dim")))
    names = ", ".join(file.rpartition("/")[2] for file in reversed(turn.files[-_FILES:]))
    files = f"{format_count(len(turn.files), 'file')} touched: {fold(names)}" if turn.files else ""
    so_far = " · ".join(filter(None, (describe_spent(turn.spent), files)))
    return [*lines, Text(f"  {so_far}", style="dim")] if so_far else lines


def _describe_quiet(scene: Scene, now: float) -> str:
    """Return for how long an agent at work has given no sign of life, if that is long."""
    if scene.turn is None:
        return ""
    quiet = now - (scene.phase_began if scene.turn.heard is None else scene.turn.heard - scene.ahead)
    return f" (quiet for {format_clock(quiet)})" if quiet >= _QUIET_SECONDS else ""


def draw_run_end(scene: Scene, page: Page, now: float) -> Group:
    """Draw the few lines that stay. The caller's summary follows them."""
    word = describe_status(scene.end.status) if scene.end else "not finished"
    return page.fit([*_draw_run_header(scene, now), Text(word, "green" if word == "proven" else "yellow")])


def draw_arena(arena: ArenaScene, page: Page, now: float) -> Group:
    """Draw an arena at the monotonic second `now`, on at most as many lines as the page has."""
    head = [*_draw_arena_header(arena, now), *page.wrap(arena.hint, "dim")]
    room = page.height - SPARE
    texts = [
        (f"{f'{fold(label, _LABEL_WIDTH)}: ' if label in arena.lanes else ''}{fold(text)}", "warning")
        for label, text in arena.notices
    ]
    notices = _add_gap(page.wrap_notices(texts, (room - len(head)) // 2))
    table = _draw_lanes(arena, page, now, max(1, room - len(head) - 1 - len(notices)))
    lines = [*head, Text(), *table]
    for label, scene in arena.lanes.items():
        turn = [] if scene.closed else _draw_turn(scene, page, now)
        if turn and len(lines) + len(notices) + len(turn) + 2 <= room:
            lines += [Text(), Text(fold(label), style="bold"), *turn]
    lines += notices
    return page.fit(lines if len(lines) <= room else [*head[:1], *table][: max(1, room)])


def draw_arena_end(arena: ArenaScene, page: Page, now: float) -> Group:
    """Draw the two lines that stay above the summary."""
    return page.fit(_draw_arena_header(arena, now))


def format_clock(seconds: float) -> str:
    """Return a running time as a clock shows it: `0:42`, `1:02:03`."""
    minutes, second = divmod(max(0, int(seconds)), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def _draw_run_header(scene: Scene, now: float) -> list[Text]:
    # The agent comes last: a model's name can be long, and a narrow terminal cuts the end off.
    agent = f"{scene.agent} ({scene.model})" if scene.model else scene.agent
    step = f"step {scene.step[0] + 1} of {scene.step[1]}" if scene.step[1] > 1 else ""
    parts = (str(scene.place), step, format_clock(now - scene.began), format_spend(scene.spend), agent)
    return [Text(fold(scene.title), style="bold"), Text(fold(" · ".join(filter(None, parts))))]


def _draw_checks(scene: Scene, room: int, now: float) -> list[Text]:
    """Draw a line per check. If `room` is too small, what runs or failed comes before what waits or passed."""
    rows = list(scene.checks.values())
    width = min(_TITLE_WIDTH, max((len(row.title) for row in rows), default=0))
    shown = _choose_shown(rows, room, _rank_check)
    return [*(_draw_check(row, width, now) for row in shown), *_count_hidden(len(rows) - len(shown))]


def _choose_shown(rows: Sequence[T], room: int, rank: Callable[[T], int]) -> list[T]:
    """Return as many rows as there is room for, with a line that counts the others: the first by rank, in order."""
    if len(rows) <= room:
        return list(rows)
    ranked = sorted(range(len(rows)), key=lambda at: rank(rows[at]))
    return [rows[at] for at in sorted(ranked[: max(1, room - 1)])]


def _count_hidden(number: int, what: str = "") -> list[Text]:
    return [Text(f"  and {number} more{what}", style="dim")] if number else []


def _rank_check(row: CheckProgress) -> int:
    if row.running is not None:
        return 0
    if not row.fresh or row.finding is None:
        return 2
    return 3 if row.finding.status == "pass" else 1


def _draw_check(row: CheckProgress, width: int, now: float) -> Text:
    title = f"{fold(row.title, width):{width}}"
    result = fold(describe_result(row.finding)) if row.finding else ""
    if row.running is not None:
        return Text(f"  ▸ {title} {format_clock(now - row.running):>{_TIME_WIDTH}}  running", style="cyan")
    if row.fresh and row.finding:
        time = (f"{format_check_time(row.finding):>{_TIME_WIDTH}}", "dim")
        return Text.assemble("  ", _CHECK_MARKS[row.finding.status], f" {title} ", time, f"  {result}")
    before = f" (was: {result})" if row.finding else ""
    return Text(f"  · {title} {'':{_TIME_WIDTH}}  waiting{before}", style="dim")


def _draw_criteria(scene: Scene, room: int, now: float) -> list[Text]:
    """Draw how many passed, then a box for each. If `room` is too small, those that did not pass come first."""
    if not scene.criteria:
        return []
    ordered: Sequence[Criterion] = scene.criteria
    if len(ordered) <= room:
        return [Text(_count_passed(scene)), *(_draw_criterion(scene, criterion, now) for criterion in ordered)]
    ordered = sorted(ordered, key=lambda criterion: _find_status(scene, criterion) == "met")
    hidden = ordered[room - 1 :]
    met = sum(_find_status(scene, criterion) == "met" for criterion in hidden)
    unmet = len(hidden) - met
    what = f": {unmet} open, {met} passed" if met and unmet else " passed" if met else " open"
    shown = [_draw_criterion(scene, criterion, now) for criterion in ordered[: room - 1]]
    return [Text(_count_passed(scene)), *shown, *_count_hidden(len(hidden), what)]


def _draw_criterion(scene: Scene, criterion: Criterion, now: float) -> Text:
    text = f" {criterion.number} {fold(criterion.text)}"
    since = scene.proving.get(criterion.number)
    if since is not None:
        return Text(f"  [▸]{text} · running {format_clock(now - since)}", style="cyan")
    verdict = scene.verdicts.get(criterion.number)
    reason = verdict.reason if verdict and verdict.status != "met" else ""
    box = _BOXES[_find_status(scene, criterion)]
    return Text.assemble("  ", box, text, (f" · {fold(reason)}" if reason else "", "dim"))


def _find_status(scene: Scene, criterion: Criterion) -> str:
    verdict = scene.verdicts.get(criterion.number)
    return verdict.status if verdict else "unmet"


def _count_passed(scene: Scene) -> str:
    met = sum(_find_status(scene, criterion) == "met" for criterion in scene.criteria)
    return f"{met} of {len(scene.criteria)} criteria passed"


def _draw_arena_header(arena: ArenaScene, now: float) -> list[Text]:
    parts = (format_clock(now - arena.began), format_spend(arena.spend), arena.limits)
    title = Text(fold(f"{arena.title} · {arena.plan}"), style="bold")
    return [title, Text(" · ".join(filter(None, parts)))]


def _draw_lanes(arena: ArenaScene, page: Page, now: float, room: int) -> list[Text]:
    """Draw a heading and a line each. If `room` is too small, those that run come before those that do not."""
    lanes = _choose_shown(
        list(arena.lanes.items()), room - 1, lambda lane: 2 if lane[1].closed else 1 if lane[1].since is None else 0
    )
    rows = [_HEAD, *(_build_cells(label, scene, now) for label, scene in lanes)]
    columns = len(_HEAD) if page.width >= _NARROW else len(_HEAD) - 2
    aligned = align_columns([row[:columns] for row in rows])
    aligned = [line.ljust(max(map(len, aligned))) for line in aligned]
    lines = [Text(f"  {aligned[0]}  now", style="dim")]
    for (_, scene), cells in zip(lanes, aligned[1:], strict=True):
        end = scene.closed or scene.end
        mark, style = ("·", "dim") if scene.since is None else ("▸", "cyan")
        mark, style = _LANE_MARKS.get(end.status, ("-", "yellow")) if end else (mark, style)
        phase = (fold(_describe_phase(scene, now)), "" if mark == "▸" else style)
        lines.append(Text.assemble((mark, style), f" {cells}  ", phase))
    return [*lines, *_count_hidden(len(arena.lanes) - len(lanes))]


def _build_cells(label: str, scene: Scene, now: float) -> tuple[str, ...]:
    place = str(scene.place).removeprefix("iteration ").replace(" of ", "/") if scene.place.number else "-"
    passed = f"{scene.met}/{scene.total}" if scene.total else "-"
    failed = sum(bool(r.fresh and r.finding and r.finding.status in ("fail", "error")) for r in scene.checks.values())
    seconds = scene.closed.seconds if scene.closed else 0.0 if scene.since is None else now - scene.since
    cost = format_spend(scene.spend) or "-"
    return (fold(label, _LABEL_WIDTH), place, passed, str(failed), format_clock(seconds), cost)


def _describe_phase(scene: Scene, now: float) -> str:
    """Return how a lane ended, or what it does now."""
    if scene.closed:
        return "proven" if scene.closed.status == "met" else scene.closed.summary
    if scene.since is None:
        return "queued"
    if scene.end:
        return "proven" if scene.end.status == "met" else describe_outcome(scene.end.outcome)
    if scene.phase_ends is not None:
        return f"{scene.phase}, {format_clock(scene.phase_ends - now)} left"
    running = [row.title for name, row in scene.checks.items() if row.running is not None]
    running += [f"criterion {number}" for number in scene.proving]
    phase = f"checks: {', '.join(running)}" if running else scene.phase
    last = "".join(f": {step.kind} {step.text}" for step in scene.turn.steps[-1:]) if scene.turn else ""
    return f"{phase}, {format_clock(now - scene.phase_began)}{_describe_quiet(scene, now)}{last}"


def _add_gap(lines: Sequence[Text]) -> list[Text]:
    return [Text(), *lines] if lines else []
