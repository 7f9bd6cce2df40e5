"""The rest of a report: changes by file, integrity, what was saved aside or said, earlier runs, the log."""

from aigon.journal.account import FeatureAccount, WorkAccount, count_changed_lines, seconds_between
from aigon.journal.history import IterationRecord, RunRecord
from aigon.model.changes import Concern, ConcernLevel, FileChange
from aigon.model.outcomes import describe_outcome
from aigon.text.amounts import format_count, format_duration, format_timestamp
from aigon.views.report.markup import Bounds, Links, Markup, block, folding, joined, line, tag
from aigon.views.report.words import passing, title_of

_LEVELS: dict[ConcernLevel, tuple[str, str]] = {
    "restore": ("!", "put back"),
    "review": ("?", "to review"),
    "note": ("·", "noted"),
}
_STATUSES = {"A": "added", "D": "deleted", "M": "changed", "T": "another kind of file"}
_LISTED = 40
"""Notices and saved aside things that are listed."""


def changes(account: FeatureAccount, work: WorkAccount, bounds: Bounds) -> Markup:
    """The files that differ from the base, the largest change first."""
    if not work.changes or work.last is None:
        return tag("p", "Nothing is changed since the base.", class_="none")
    by_size = sorted(work.changes, key=lambda c: -(max(c.added, 0) + max(c.removed, 0)))
    added, removed = count_changed_lines(work.changes)
    most = max(max(c.added, 0) + max(c.removed, 0) for c in work.changes)
    rows = (_file(Links(account, work), change, most) for change in by_size[: bounds.files])
    heads = (tag("th", name, scope="col") for name in ("File", "", "Lines", ""))
    table = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows), class_="changes")
    left = len(by_size) - bounds.files
    return joined(
        [
            tag("p", f"{format_count(len(by_size), 'file')}, +{added:,} −{removed:,} lines since the base."),
            tag("div", table, class_="scroll", tabindex="0", role="group", aria_label="Changed files"),
            tag("p", f"{format_count(left, 'smaller change')} not listed.", class_="how") if left > 0 else None,
        ]
    )


def _file(links: Links, change: FileChange, most: int) -> Markup:
    binary = change.added < 0 or change.removed < 0
    lines = "binary" if binary else f"+{change.added:,} −{change.removed:,}"
    gone = change.status == "D"
    path = tag("code", change.path, class_="path") if gone else links.file(change.path)
    status = _STATUSES.get(change.status[:1], change.status)
    return tag(
        "tr", tag("td", path), tag("td", status), tag("td", lines, class_="number"), tag("td", _bar(change, most))
    )


def _bar(change: FileChange, most: int) -> Markup | None:
    """How large it is beside the largest: added and removed, which the numbers say too."""
    added, removed = max(change.added, 0), max(change.removed, 0)
    if not most or not added + removed:
        return None
    a, r = (round(80 * each / most, 1) for each in (added, removed))
    parts = [tag("rect", x=0, y=1, width=a, height=8, class_="added") if a else None]
    parts += [tag("rect", x=a, y=1, width=r, height=8, class_="removed") if r else None]
    return tag("svg", *parts, viewBox="0 0 80 10", width=80, height=10, aria_hidden="true", class_="bar")


def integrity(account: FeatureAccount, work: WorkAccount, bounds: Bounds) -> Markup:
    """What the checks cannot see, at the last look and, where that has gone since, at earlier ones."""
    now = {(c.rule, c.key): c for c in work.last.look.concerns} if work.last else {}
    seen = {(c.rule, c.key): (c, step) for step in work.steps for c in step.look.concerns}
    found = [tag("li", *_concern(account, work, *seen[key], past=key not in now, bounds=bounds)) for key in seen]
    none = "No findings." if work.last else "Nothing has been looked at yet."
    return tag("ul", *found, class_="concerns") if found else tag("p", none, class_="none")


def _concern(
    account: FeatureAccount, work: WorkAccount, concern: Concern, step: IterationRecord, *, past: bool, bounds: Bounds
) -> list[object]:
    sign, word = _LEVELS[concern.level]
    paths = [Links(account, work).file(path, commit=step.look.checkpoint) for path in concern.paths[:10]]
    when = f" Seen at {title_of(step).lower()}; it is gone since." if past else ""
    return [
        tag("span", tag("b", sign), f" {word}", class_=f"sign {concern.level}"),
        joined([" ", tag("code", concern.rule), ": ", line(concern.what, bounds.text), when]),
        joined([" ", joined(paths, ", ")]) if paths else None,
    ]


def said(work: WorkAccount, bounds: Bounds) -> Markup | None:
    """Warnings of aigon, what was saved aside, what could not be read."""
    warnings = dict.fromkeys(notice.text for notice in work.history.notices if notice.level == "warning")
    items = [tag("li", line(each, bounds.text)) for each in warnings if each not in passing(work)]
    items += [tag("li", "Parked: ", line(p.what, 200), " ", tag("code", p.ref)) for p in work.history.parked]
    items += [tag("li", "Not read: ", line(each, 300)) for each in work.unread]
    left = len(items) - _LISTED
    more = [tag("li", f"{left} more")] if left > 0 else []
    return tag("ul", *items[:_LISTED], *more) if items else None


def runs(work: WorkAccount) -> Markup | None:
    """How each invocation of the loop ended, where there was more than one."""
    if len(work.history.runs) < 2:
        return None
    return tag("ol", *(tag("li", _run(run)) for run in work.history.runs[-_LISTED:]), class_="runs")


def _run(run: RunRecord) -> Markup:
    kind = "resumed" if run.started.resumed else "started"
    ended = describe_outcome(run.finished.outcome) if run.finished else "has not said how it ended"
    took = format_duration(seconds_between(run.started.at, run.heard))
    return joined([f"{format_timestamp(run.started.at)} {kind}, {took}: ", line(ended, 300)])


def log(work: WorkAccount, bounds: Bounds) -> Markup | None:
    """The iteration log as the branch has it, folded away."""
    if not work.log.strip() or not bounds.log:
        return None
    return folding(joined(["The iteration log ", tag("code", work.log_path)]), block(work.log, bounds.log))
