"""Figures: statistics over all runs, and how accurate a judge is; as a table, a document, and a page."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import to_builtins

from aigon.files.resources import find_resource
from aigon.journal.spending import format_cost, format_spend
from aigon.journal.statistics import FEWEST, RunGroup, Spread, Statistics
from aigon.judge.accuracy import AccuracyReport, JudgedCase, count_verdicts
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


def build_accuracy_document(found: AccuracyReport) -> dict[str, object]:
    calls = found.calls
    usage = calls.usage
    return {
        "set": found.source,
        "judge": {"backend": found.backend, "model": found.model, "mode": found.mode},
        "complete": found.complete,
        "judgements": len(found.judged),
        "expected": found.expected,
        **count_verdicts(found.decided),
        "rejected_quotes": sum(each.rejected for each in found.judged),
        "wavering": [{"case": case, "criterion": number} for case, number in found.wavering],
        "calls": calls.number,
        "failed_calls": len(calls.failures),
        "tokens": {"input": usage.input, "cached": usage.cached, "output": usage.output},
        "cost": {"usd": calls.cost, "status": calls.cost_status},
        "seconds": round(sum(each.seconds for each in found.judged), 3),
        "cases": [
            {
                "case": each.case,
                "about": each.about,
                "round": each.round,
                **count_verdicts(each.decided),
                "rejected_quotes": each.rejected,
                "calls": len(each.answers),
                "failures": [answer.failure for answer in each.answers if answer.failure],
                "seconds": round(each.seconds, 3),
                "criteria": to_builtins(each.decided),
            }
            for each in found.judged
        ],
    }


def render_accuracy(found: AccuracyReport, verbose: bool = False) -> str:
    """Return the figures and every false tick; if `verbose`, a line per case and every other mistake."""
    lines = [*(_render_cases(found.judged) if verbose else ()), *_render_figures(found)]
    for each in found.judged:
        for one in each.decided:
            if one.is_false_tick:
                lines.append(f"false tick: {each.case} {one.number}. {one.text}")
            elif verbose and one.said != one.truth:
                lines.append(f"{one.said}, though {one.truth}: {each.case} {one.number}. {one.text} ({one.reason})")
    return "\n".join(lines)


def _render_figures(found: AccuracyReport) -> Iterator[str]:
    counts, calls, usage = count_verdicts(found.decided), found.calls, found.calls.usage
    once = "all criteria of a change at once" if found.mode == "all" else "one criterion at a time"
    lost = f", {len(calls.failures)} without an answer (the last: {calls.failures[-1]})" if calls.failures else ""
    cost = format_cost(calls.cost, calls.cost_status)
    if calls.cost is not None and calls.unsaid:
        cost = f"at least {format_dollars(calls.cost)}; {calls.unsaid} calls did not say"
    yield f"Judge: {found.backend} ({found.model}), {once}"
    yield f"Set: {found.source}"
    if not found.complete:
        yield f"Stopped early: {len(found.judged)} of {found.expected} judgements were made"
    yield f"  verdicts         {counts['verdicts']}, {counts['right']} of them right"
    yield f"  false ticks      {counts['false_ticks']}  (judged met, but not met: the dangerous ones)"
    yield f"  missed ticks     {counts['missed_ticks']}  (met, but judged not met)"
    yield f"  unclear          {counts['unclear']}  (left to a person; {counts['unclear_though_met']} of them are met)"
    yield f"  rejected quotes  {sum(each.rejected for each in found.judged)}"
    if max((each.round for each in found.judged), default=1) > 1:
        yield f"  wavering         {len(found.wavering)}  (criteria that were not decided alike in every round)"
    yield f"  calls            {calls.number}{lost}"
    yield f"  tokens           {usage.input:,} in, {usage.cached:,} from a cache, {usage.output:,} out"
    yield f"  cost             {cost}"
    yield f"  time             {format_duration(sum(each.seconds for each in found.judged))}"


def _render_cases(judged: Sequence[JudgedCase]) -> Iterator[str]:
    """Yield a line per case and round; the round is named if there are several."""
    several = any(each.round > 1 for each in judged)
    names = [f"{each.case} ({each.round})" if several else each.case for each in judged]
    width = max(map(len, ["case", *names]))
    yield f"{'case':<{width}}  right  false  missed  unclear  rejected  calls   time"
    for name, each in zip(names, judged, strict=True):
        counts = count_verdicts(each.decided)
        right = f"{counts['right']}/{counts['verdicts']}"
        figures = f"{right:>5}  {counts['false_ticks']:>5}  {counts['missed_ticks']:>6}  {counts['unclear']:>7}"
        spent = f"{each.rejected:>8}  {len(each.answers):>5}  {format_duration(each.seconds):>5}"
        yield f"{name:<{width}}  {figures}  {spent}"
    yield ""
