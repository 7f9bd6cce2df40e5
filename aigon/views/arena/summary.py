"""How an arena ended, as the text that stays: a line per candidate, then what a person would type next."""

from collections.abc import Iterator, Sequence

from aigon.arena.outcome import ArenaEnded, Ended
from aigon.journal.spending import format_spend
from aigon.model.candidates import format_run_command
from aigon.model.outcomes import describe_status
from aigon.text.amounts import format_duration
from aigon.text.quoting import fold

HEAD = ("agent", "outcome", "criteria", "iterations", "cost", "time", "branch")


def summary(feature: str, ended: ArenaEnded) -> Iterator[str]:
    """Its lines."""
    rows = [HEAD, *(_row(one) for one in ended.candidates)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(HEAD))]
    yield from (_aligned(row, widths) for row in rows)
    yield ""
    for one in ended.candidates:
        if one.status != "met":
            yield f"{one.label}: {fold(one.summary)}"
        if one.hint:
            yield f"  do: {fold(one.hint)}"
        if one.status == "broken_off":
            yield f"  output: .aigon/runs/arena-{feature}/{one.label}.err"
    yield from _next(feature, ended.candidates)


def again(feature: str, one: Ended) -> str:
    """The command with which a candidate goes on; empty for one that has nothing to go on with or to."""
    if one.resumable:
        return format_run_command(feature, fold(one.label))
    return format_run_command(feature, fold(one.label), "--loop") if not one.criteria_total else ""


def _row(one: Ended) -> tuple[str, ...]:
    outcome = describe_status(one.status)
    criteria = f"{one.criteria_met} of {one.criteria_total}" if one.criteria_total else "-"
    time = format_duration(one.seconds) if one.seconds else "-"
    return (one.label, outcome, criteria, str(one.iterations), format_spend(one.spend) or "-", time, fold(one.branch))


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()


def _next(feature: str, candidates: Sequence[Ended]) -> Iterator[str]:
    if any(one.criteria_total for one in candidates):  # there is nothing to compare where nobody ran
        yield f"Next: aigon feature-eval {feature}"
    for one in candidates:
        if one.status != "met" and not one.hint and (command := again(feature, one)):
            yield f"  {'resume' if one.resumable else 'start'} {one.label}: {command}"
