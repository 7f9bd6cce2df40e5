"""The two lists of the live view, as lines: checks and criteria, each bounded to the room there is."""

from collections.abc import Sequence

from rich.text import Text

from aigon.model.checks import Finding
from aigon.model.criteria import Criterion
from aigon.text.quoting import fold
from aigon.views.terminal.phrases import result, took
from aigon.views.terminal.scene import Row, Scene

_TIME = 8
"""Columns of a duration in a check's row: `12m 05s` fits."""

_TITLE = 24
"""The most columns that the titles of the checks take."""

_MARKS = {"pass": ("✓", "green"), "fail": ("✗", "red"), "error": ("✗", "red"), "skipped": ("-", "yellow")}
_BOXES = {"met": ("[x]", "green"), "unmet": ("[ ]", ""), "unclear": ("[?]", "yellow")}


def clock(seconds: float) -> str:
    """A running time as a clock shows it: `0:42`, `1:02:03`."""
    minutes, second = divmod(max(0, int(seconds)), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def checks(scene: Scene, room: int, now: float) -> list[Text]:
    """A line per check; where `room` is too small, what runs or is red before what waits or is green."""
    rows = list(scene.checks.values())
    width = min(_TITLE, max((len(row.title) for row in rows), default=0))
    if len(rows) <= room:
        return [_check(row, width, now) for row in rows]
    ranked = sorted(range(len(rows)), key=lambda at: _rank(rows[at]))
    shown = [rows[at] for at in sorted(ranked[: room - 1])]
    more = Text(f"  and {len(rows) - len(shown)} more", style="dim")
    return [*(_check(row, width, now) for row in shown), more]


def criteria(scene: Scene, room: int, now: float) -> list[Text]:
    """How many are proven, then a box for each; where `room` is too small, the open ones first and the rest counted."""
    if not scene.criteria:
        return []
    heading = Text(proven(scene))
    if len(scene.criteria) <= room:
        return [heading, *(_criterion(scene, criterion, now) for criterion in scene.criteria)]
    ordered = sorted(scene.criteria, key=lambda criterion: _status(scene, criterion) == "met")
    shown, hidden = ordered[: room - 1], ordered[room - 1 :]
    return [heading, *(_criterion(scene, criterion, now) for criterion in shown), _counted(scene, hidden)]


def proven(scene: Scene) -> str:
    """`3 of 5 criteria proven`."""
    met = sum(_status(scene, criterion) == "met" for criterion in scene.criteria)
    return f"{met} of {len(scene.criteria)} criteria proven"


def _rank(row: Row) -> int:
    if row.running is not None:
        return 0
    if not row.fresh or row.finding is None:
        return 2
    return 3 if row.finding.status == "pass" else 1


def _check(row: Row, width: int, now: float) -> Text:
    title = f"{fold(row.title, width):{width}}"
    if row.running is not None:
        return Text(f"  ▸ {title} {clock(now - row.running):>{_TIME}}  running", style="cyan")
    if row.fresh and row.finding:
        return _found(row.finding, title)
    before = f" (was: {fold(result(row.finding))})" if row.finding else ""
    return Text(f"  · {title} {'':{_TIME}}  waiting{before}", style="dim")


def _found(finding: Finding, title: str) -> Text:
    mark, style = _MARKS[finding.status]
    return Text.assemble("  ", (mark, style), f" {title} ", (f"{took(finding):>{_TIME}}", "dim"), f"  {_said(finding)}")


def _said(finding: Finding) -> str:
    return fold(result(finding))


def _status(scene: Scene, criterion: Criterion) -> str:
    verdict = scene.verdicts.get(criterion.number)
    return verdict.status if verdict else "unmet"


def _criterion(scene: Scene, criterion: Criterion, now: float) -> Text:
    text = f" {criterion.number} {fold(criterion.text)}"
    since = scene.proving.get(criterion.number)
    if since is not None:
        return Text(f"  [▸]{text} · running {clock(now - since)}", style="cyan")
    box, style = _BOXES[_status(scene, criterion)]
    return Text.assemble("  ", (box, style), text, _why(scene, criterion))


def _why(scene: Scene, criterion: Criterion) -> tuple[str, str]:
    verdict = scene.verdicts.get(criterion.number)
    if verdict is None or verdict.status == "met" or not verdict.reason:
        return "", ""
    return f" · {fold(verdict.reason)}", "dim"


def _counted(scene: Scene, hidden: Sequence[Criterion]) -> Text:
    met = sum(_status(scene, criterion) == "met" for criterion in hidden)
    unmet = len(hidden) - met
    kinds = f": {unmet} open, {met} proven" if met and unmet else " proven" if met else " open"
    return Text(f"  and {len(hidden)} more{kinds}", style="dim")
