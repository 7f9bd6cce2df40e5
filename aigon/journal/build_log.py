"""BUILD_LOG.md: the history of a run for people. A row per iteration, then what each check came to.

Unlike SCRATCHPAD.md it may quote why a turn failed in the words of its program, as code. No agent is given it.
"""

from collections.abc import Callable, Iterator, Sequence

from aigon.journal.amounts import cost, duration, green_checks, spent
from aigon.journal.attempt import Attempt
from aigon.journal.attempt_words import ended, title
from aigon.journal.events import RunFinished, RunStarted
from aigon.journal.state import Spend
from aigon.model.assessments import CheckSummary
from aigon.model.checks import TestCounts
from aigon.model.criteria import VERDICT_WORDS
from aigon.model.outcomes import describe_outcome
from aigon.text.quoting import code
from aigon.text.timestamps import moment

_LONGEST = 200
_HEAD = """\
# Build log

Written by aigon after each iteration: who worked, what it changed, what the checks came to, what it took. What stands
in `code` comes from files, tools and agents.
"""
_COLUMNS = ("iteration", "begun", "by", "turn", "took", "changed", "checks", "tests", "criteria", "", "cost")
Told = Callable[[Attempt], str]


def build_log_lines(
    attempts: Sequence[Attempt],
    *,
    base: Attempt | None = None,
    started: RunStarted | None = None,
    ended: RunFinished | None = None,
    row: Told | None = None,
    details: Told | None = None,
) -> Iterator[str]:
    """The lines of BUILD_LOG.md, several at once at times, without the line breaks between them.

    `row` and `details` put an attempt into words, for a caller that remembers those.
    """
    known = [base, *attempts] if base else list(attempts)
    yield from (_HEAD, *([f"{_run(started)}\n"] if started else []))
    yield from (_cells(_COLUMNS), _cells(["---"] * len(_COLUMNS)))
    yield from map(row or row_of, known)
    yield f"\n{_total(attempts)}\n" if attempts else ""
    yield from [f"{_end(ended)}\n"] if ended else []
    yield from map(details or details_of, known)


def build_log(attempts: Sequence[Attempt], *, base: Attempt | None = None) -> str:
    """BUILD_LOG.md of a run that goes on."""
    return "\n".join(build_log_lines(attempts, base=base))


def row_of(attempt: Attempt) -> str:
    """The row of an attempt."""
    turned, name = attempt.tries > 0, str(attempt.number) if attempt.number else "base"
    return _cells(
        (
            name,
            moment(attempt.at),
            _who(attempt) if turned else "",
            (attempt.end or "broken off").replace("_", " ") if turned else "",
            duration(attempt.duration) if turned else "",
            f"{attempt.changed} (+{attempt.added} -{attempt.removed})" if attempt.changed else "0" if turned else "",
            "{}/{}".format(*green_checks(attempt.checks)) if attempt.judged else "",
            _tests(attempt.checks),
            f"{attempt.proven}/{attempt.criteria}" if attempt.judged else "",
            ("better" if attempt.better else "no better" if attempt.judged else "not looked at") if turned else "",
            _cost(attempt) if turned else "",
        )
    )


def details_of(attempt: Attempt) -> str:
    """What there is to say of an attempt beside its row."""
    return "\n".join([f"## {title(attempt) if attempt.number else 'The base'}", "", *_details(attempt), ""])


def _details(attempt: Attempt) -> Iterator[str]:
    if attempt.number:
        yield f"- Turn: {ended(attempt)}"
    if attempt.waited:
        yield f"- Waited for a usage limit or an overload: {duration(attempt.waited)}"
    if attempt.detail:
        yield f"- Said of its end: {code(attempt.detail, _LONGEST)}"
    if attempt.judged:
        name = f", failure {code(attempt.fingerprint, 20)}" if attempt.fingerprint else ""
        yield f"- Looked at: {moment(attempt.looked_at)}{name}"
    yield from (f"- {_check(check)}" for check in attempt.checks)
    for each in attempt.open:
        yield f"- Criterion {each.criterion}, {VERDICT_WORDS[each.status]}: {code(each.reason, _LONGEST)}"
    yield from (f"- Undone by aigon: {code(note, _LONGEST)}" for note in attempt.notes)
    for promise in attempt.promises:
        why = f" ({code(promise.why, _LONGEST)})" if promise.why else ""
        yield f"- Promise {code(promise.text, 80)}: {'kept' if promise.kept else 'broken'}{why}"


def _check(check: CheckSummary) -> str:
    mark = {"pass": "✅", "skipped": "⚠️"}.get(check.status, "❌")
    took = "remembered" if check.cached else duration(check.duration)
    failed = [f"; first: {code(check.complaints[0].text, _LONGEST)}"] if check.complaints else []
    said = code(check.summary, _LONGEST) or check.status
    return "".join([f"{mark} {code(check.title, 80)}: {said}{_counted(check.counts)} ({took})", *failed])


def _counted(counts: TestCounts | None) -> str:
    if counts is None:
        return ""
    parts = (
        ("passed", counts.passed),
        ("failed", counts.failed),
        ("errors", counts.errors),
        ("skipped", counts.skipped),
    )
    return f", {', '.join(f'{number} {name}' for name, number in parts if number or name == 'passed')}"


def _tests(checks: Sequence[CheckSummary]) -> str:
    counted = [check.counts for check in checks if check.counts]
    return f"{sum(c.passed for c in counted)}/{sum(c.total for c in counted)}" if counted else ""


def _who(attempt: Attempt) -> str:
    rung = f" rung {attempt.rung + 1}/{attempt.rungs}" if attempt.rungs > 1 else ""
    effort = f" {_cell(attempt.effort, 20)}" if attempt.effort else ""
    return f"{_cell(attempt.agent, 40)} {_cell(attempt.model, 40)}{effort}".strip() + rung


def _cost(attempt: Attempt) -> str:
    silent = f" and {attempt.unpriced} unknown" if attempt.unpriced and attempt.cost is not None else ""
    return cost(attempt.cost, attempt.cost_status) + silent


def _total(attempts: Sequence[Attempt]) -> str:
    money = Spend(sum(a.cost or 0.0 for a in attempts), sum(a.unpriced for a in attempts))
    took = duration(sum(a.duration for a in attempts))
    return f"Turns: {sum(a.tries for a in attempts)} in {len(attempts)} iterations, {took} of work, {spent(money)}."


def _run(started: RunStarted) -> str:
    run = f"{code(started.run_id, 80)}{', resumed' if started.resumed else ''} at {moment(started.at)}"
    where = f"on branch {code(started.branch, 120)} from {code(started.base_commit[:12], 20)}"
    return f"Feature {code(started.feature_id, 80)} ({code(started.slug, 80)}), run {run}, {where}."


def _end(ended: RunFinished) -> str:
    how = code(describe_outcome(ended.outcome), 500)
    return f"Ended at {moment(ended.at)} with exit code {ended.exit_code}: {how}"


def _cell(text: str, limit: int) -> str:
    """A code span for a table, where a bar would begin another cell."""
    return code(text.replace("|", "¦"), limit)


def _cells(texts: Sequence[str]) -> str:
    return f"| {' | '.join(texts)} |"
