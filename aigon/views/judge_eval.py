"""The accuracy of a judge, for people and as data."""

from collections.abc import Iterator, Sequence

from msgspec import to_builtins

from aigon.journal.spending import format_cost
from aigon.judge.accuracy import AccuracyReport, Calls, JudgedCase, count_verdicts
from aigon.text import amounts


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
        "cases": [_case(each) for each in found.judged],
    }


def _case(judged: JudgedCase) -> dict[str, object]:
    return {
        "case": judged.case,
        "about": judged.about,
        "round": judged.round,
        **count_verdicts(judged.decided),
        "rejected_quotes": judged.rejected,
        "calls": len(judged.answers),
        "failures": [answer.failure for answer in judged.answers if answer.failure],
        "seconds": round(judged.seconds, 3),
        "criteria": to_builtins(judged.decided),
    }


def render_accuracy(found: AccuracyReport, verbose: bool = False) -> str:
    """Return the figures and every false tick; if `verbose`, a line per case and every other mistake."""
    table = [*_table(found.judged), ""] if verbose else []
    return "\n".join([*table, *_figures(found), *_wrong(found, verbose)])


def _figures(found: AccuracyReport) -> Iterator[str]:
    counts, calls, usage = count_verdicts(found.decided), found.calls, found.calls.usage
    once = "all criteria of a change at once" if found.mode == "all" else "one criterion at a time"
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
    yield f"  calls            {_calls(calls)}"
    yield f"  tokens           {usage.input:,} in, {usage.cached:,} from a cache, {usage.output:,} out"
    yield f"  cost             {_cost(calls)}"
    yield f"  time             {amounts.format_duration(sum(each.seconds for each in found.judged))}"


def _calls(calls: Calls) -> str:
    if not calls.failures:
        return str(calls.number)
    return f"{calls.number}, {len(calls.failures)} without an answer (the last: {calls.failures[-1]})"


def _cost(calls: Calls) -> str:
    # If some calls did not tell their cost, say so.
    if calls.cost is None or not calls.unsaid:
        return format_cost(calls.cost, calls.cost_status)
    return f"at least {amounts.format_dollars(calls.cost)}; {calls.unsaid} calls did not say"


def _wrong(found: AccuracyReport, verbose: bool) -> Iterator[str]:
    for each in found.judged:
        for one in each.decided:
            if one.is_false_tick:
                yield f"false tick: {each.case} {one.number}. {one.text}"
            elif verbose and one.said != one.truth:
                yield f"{one.said}, though {one.truth}: {each.case} {one.number}. {one.text} ({one.reason})"


def _table(judged: Sequence[JudgedCase]) -> Iterator[str]:
    """Yield a line per case and round; the round is named if there are several."""
    several = any(each.round > 1 for each in judged)
    names = [f"{each.case} ({each.round})" if several else each.case for each in judged]
    width = max(map(len, ["case", *names]))
    yield f"{'case':<{width}}  right  false  missed  unclear  rejected  calls   time"
    for name, each in zip(names, judged, strict=True):
        counts = count_verdicts(each.decided)
        right = f"{counts['right']}/{counts['verdicts']}"
        figures = f"{right:>5}  {counts['false_ticks']:>5}  {counts['missed_ticks']:>6}  {counts['unclear']:>7}"
        spent = f"{each.rejected:>8}  {len(each.answers):>5}  {amounts.format_duration(each.seconds):>5}"
        yield f"{name:<{width}}  {figures}  {spent}"
