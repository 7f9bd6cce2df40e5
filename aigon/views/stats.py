"""Statistics as a table for a terminal, as a document, and as a page."""

from collections.abc import Iterator, Mapping

from msgspec import to_builtins

from aigon.files.resources import find_resource
from aigon.journal.spending import format_spend
from aigon.journal.statistics import FEWEST, RunGroup, Spread, Statistics
from aigon.model.outcomes import describe_status
from aigon.text.amounts import format_count, format_dollars, format_duration
from aigon.text.quoting import align_columns, fold

HEAD = ("runs", "proven", "iterations", "turns", "cost", "time")
_LONGEST_NAME = 32
_NARROW = 76
"""Columns below which turns and time are left out of the table."""


def build_stats_document(stats: Statistics, since: str) -> Mapping[str, object]:
    """Return the statistics as plain values."""
    groups = [_build_group(group) for group in stats.groups]
    return {"since": since or None, "by": stats.by, "total": _build_group(stats.total), "groups": groups,
            "unread": list(stats.unread)}  # fmt: skip


def _build_group(group: RunGroup) -> Mapping[str, object]:
    share = None if group.is_small else group.proven / group.runs
    return {**to_builtins(group), "is_small": group.is_small, "share_proven": share}


def render_stats_table(stats: Statistics, width: int) -> Iterator[str]:
    """Yield the lines of the table: a row for each group, and what is known of all."""
    if not stats.total.runs:
        yield "No run is on record"
    else:
        if stats.groups:
            rows = [(stats.by or "", *HEAD), *(list_cells(each) for each in stats.groups)]
            kept = [at for at, name in enumerate(rows[0]) if width >= _NARROW or name not in ("turns", "time")]
            yield from align_columns([[row[at] for at in kept] for row in rows])
            yield ""
        yield from align_columns(list_facts(stats.total))
        if any(group.is_small for group in (stats.total, *stats.groups)):
            yield f"n=: fewer than {FEWEST} runs, so no percentages and averages"
    yield from (f"not read: {fold(each)}" for each in stats.unread)


def list_cells(group: RunGroup) -> tuple[str, ...]:
    """Return the row of a group: its name, and what `HEAD` names."""
    return (
        fold(group.name, _LONGEST_NAME),
        str(group.runs),
        describe_share(group.proven, group.runs),
        describe_spread(group.iterations, with_mean=False),
        str(group.turns),
        format_spend(group.spend) or "-",
        format_duration(group.seconds),
    )


def list_facts(group: RunGroup) -> list[tuple[str, str]]:
    """Return what is known of a group, each fact with its name."""
    facts = [
        ("runs", f"{group.runs} on {format_count(group.features, 'feature')}, {format_duration(group.seconds)}"),
        ("proven", describe_share(group.proven, group.runs)),
        ("features proven", f"{group.features_proven} of {group.features}"),
        ("iterations to proven", describe_spread(group.iterations)),
        ("for each criterion", describe_spread(group.per_criterion)),
        ("cost", _describe_cost(group)),
    ]
    for number, step in group.steps.items():
        proven = f"runs proven on this step: {describe_share(step.proven, step.runs)}"
        facts.append((f"step {number}", f"{format_count(step.turns, 'turn')}, {proven}"))
    facts += [(f"ended: {describe_status(stop)}", str(count)) for stop, count in group.stops.items()]
    facts += [
        ("failures", f"{group.failures}, {group.repeated_failures} of them repeated"),
        ("ticks taken back", str(group.ticks_taken_back)),
        ("promises", f"{group.promises_kept} kept, {group.promises_broken} broken"),
        ("judge", f"{group.judge_overruled} of {group.judge_decisions} verdicts overruled by people"),
    ]
    return facts


def describe_share(part: int, whole: int) -> str:
    """Return `7 of 9 (78 %)`, and `2 of 3 (n=3)` if that is too few for a percentage."""
    return f"{part} of {whole} ({f'{100 * part / whole:.0f} %' if whole >= FEWEST else f'n={whole}'})"


def describe_spread(spread: Spread | None, *, with_mean: bool = True) -> str:
    """Return `mean 2.4, median 2, p90 5`; `n=3` for too few numbers, and `-` for none."""
    if spread is None:
        return "-"
    if spread.n < FEWEST:
        return f"n={spread.n}"
    mean = f"mean {spread.mean:.1f}, " if with_mean else ""
    return f"{mean}median {spread.median:.3g}, p90 {spread.p90:.3g}"


def _describe_cost(group: RunGroup) -> str:
    whole = format_spend(group.spend) or "-"
    each = f", {format_dollars(group.spend.usd / group.proven)} for each proven run" if group.proven else ""
    return whole + (each if group.spend.usd else "")


def render_stats_page(stats: Statistics, since: str) -> str:
    """Return the statistics as one page, which loads nothing."""
    from markupsafe import Markup

    from aigon.views.report.words import make_environment

    style = Markup(find_resource("templates", "report", "page.css").read_text(encoding="utf-8"))
    source = find_resource("templates", "report", "stats.html").read_text(encoding="utf-8")
    rows = [list_cells(group) for group in stats.groups]
    values = {"stats": stats, "since": since, "style": style, "head": HEAD, "facts": list_facts(stats.total)}
    return make_environment().from_string(source).render(rows=rows, **values)
