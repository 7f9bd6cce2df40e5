"""SCRATCHPAD.md and BUILD_LOG.md in the run folder. Nothing reads them back, and a run goes on without them.

Unlike SCRATCHPAD.md, BUILD_LOG.md may quote why a turn failed in the words of its program, as code. No agent gets it.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from aigon.files.atomic import write_view
from aigon.journal.attempt import Attempt, count_passed_checks
from aigon.journal.attempts import Attempts
from aigon.journal.events import Event, IterationFinished, RunFinished, RunStarted
from aigon.journal.memory import describe_ending, render_attempt, render_scratchpad, render_title, summarise_attempt
from aigon.journal.spending import Spend, describe_spend, format_cost
from aigon.model.assessments import CheckSummary
from aigon.model.checks import TestCounts
from aigon.model.criteria import VERDICT_WORDS
from aigon.model.outcomes import describe_outcome
from aigon.text.amounts import format_duration, format_timestamp
from aigon.text.quoting import code_span

_LONGEST = 200
_HEAD = """\
# Build log

Written by aigon after each iteration: who worked, what it changed, what the checks came to, what it took. What stands
in `code` comes from files, tools and agents.
"""
_COLUMNS = ("iteration", "begun", "by", "turn", "took", "changed", "checks", "tests", "criteria", "", "cost")
AttemptRenderer = Callable[[Attempt], str]


def render_build_log(
    attempts: Sequence[Attempt],
    *,
    base: Attempt | None = None,
    started: RunStarted | None = None,
    ended: RunFinished | None = None,
    row: AttemptRenderer | None = None,
    details: AttemptRenderer | None = None,
) -> Iterator[str]:
    """Yield the text of BUILD_LOG.md in parts, without the line breaks between them.

    `row` and `details` render an attempt, for a caller that caches the results.
    """
    known = [base, *attempts] if base else list(attempts)
    yield from (_HEAD, *([f"{_run(started)}\n"] if started else []))
    yield from (_cells(_COLUMNS), _cells(["---"] * len(_COLUMNS)))
    yield from map(row or render_row, known)
    yield f"\n{_total(attempts)}\n" if attempts else ""
    yield from [f"{_end(ended)}\n"] if ended else []
    yield from map(details or render_details, known)


def build_log(attempts: Sequence[Attempt], *, base: Attempt | None = None) -> str:
    """Return BUILD_LOG.md of a run that goes on."""
    return "\n".join(render_build_log(attempts, base=base))


def render_row(attempt: Attempt) -> str:
    """Return the table row of an attempt."""
    turned, name = attempt.tries > 0, str(attempt.number) if attempt.number else "base"
    return _cells(
        (
            name,
            format_timestamp(attempt.at),
            _who(attempt) if turned else "",
            (attempt.end or "broken off").replace("_", " ") if turned else "",
            format_duration(attempt.duration) if turned else "",
            f"{attempt.changed} (+{attempt.added} -{attempt.removed})" if attempt.changed else "0" if turned else "",
            "{}/{}".format(*count_passed_checks(attempt.checks)) if attempt.judged else "",
            _tests(attempt.checks),
            f"{attempt.proven}/{attempt.criteria}" if attempt.judged else "",
            ("better" if attempt.better else "no better" if attempt.judged else "not assessed") if turned else "",
            _cost(attempt) if turned else "",
        )
    )


def render_details(attempt: Attempt) -> str:
    """Return what there is to say of an attempt beside its row."""
    return "\n".join([f"## {render_title(attempt) if attempt.number else 'The base'}", "", *_details(attempt), ""])


def _details(attempt: Attempt) -> Iterator[str]:
    if attempt.number:
        yield f"- Turn: {describe_ending(attempt)}"
    if attempt.waited:
        yield f"- Waited for a usage limit or an overload: {format_duration(attempt.waited)}"
    if attempt.detail:
        yield f"- Said of its end: {code_span(attempt.detail, _LONGEST)}"
    if attempt.judged:
        name = f", failure {code_span(attempt.fingerprint, 20)}" if attempt.fingerprint else ""
        yield f"- Looked at: {format_timestamp(attempt.looked_at)}{name}"
    yield from (f"- {_check(check)}" for check in attempt.checks)
    for each in attempt.open:
        yield f"- Criterion {each.criterion}, {VERDICT_WORDS[each.status]}: {code_span(each.reason, _LONGEST)}"
    yield from (f"- Undone by aigon: {code_span(note, _LONGEST)}" for note in attempt.notes)
    for promise in attempt.promises:
        why = f" ({code_span(promise.why, _LONGEST)})" if promise.why else ""
        yield f"- Promise {code_span(promise.text, 80)}: {'kept' if promise.kept else 'broken'}{why}"


def _check(check: CheckSummary) -> str:
    mark = {"pass": "✅", "skipped": "⚠️"}.get(check.status, "❌")
    took = "remembered" if check.cached else format_duration(check.duration)
    failed = [f"; first: {code_span(check.complaints[0].text, _LONGEST)}"] if check.complaints else []
    said = code_span(check.summary, _LONGEST) or check.status
    return "".join([f"{mark} {code_span(check.title, 80)}: {said}{_counted(check.counts)} ({took})", *failed])


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
    return format_cost(attempt.cost, attempt.cost_status) + silent


def _total(attempts: Sequence[Attempt]) -> str:
    money = Spend(sum(a.cost or 0.0 for a in attempts), sum(a.unpriced for a in attempts))
    took = format_duration(sum(a.duration for a in attempts))
    turns = sum(a.tries for a in attempts)
    return f"Turns: {turns} in {len(attempts)} iterations, {took} of work, {describe_spend(money)}."


def _run(started: RunStarted) -> str:
    run = f"{code_span(started.run_id, 80)}{', resumed' if started.resumed else ''} at {format_timestamp(started.at)}"
    where = f"on branch {code_span(started.branch, 120)} from {code_span(started.base_commit[:12], 20)}"
    return f"Feature {code_span(started.feature_id, 80)} ({code_span(started.slug, 80)}), run {run}, {where}."


def _end(ended: RunFinished) -> str:
    how = code_span(describe_outcome(ended.outcome), 500)
    return f"Ended at {format_timestamp(ended.at)} with exit code {ended.exit_code}: {how}"


def _cell(text: str, limit: int) -> str:
    """Return a code span for a table, where a bar would begin another cell."""
    return code_span(text.replace("|", "¦"), limit)


def _cells(texts: Sequence[str]) -> str:
    return f"| {' | '.join(texts)} |"


SCRATCHPAD = "SCRATCHPAD.md"
BUILD_LOG = "BUILD_LOG.md"
SECONDS_BETWEEN_WRITES = 1.0
"""Seconds between two writings: files that are new burden the flush of the journal, which a run waits for."""


class MemorySink:
    """Writes both files after each iteration, at most once a second, and at the end of the run."""

    def __init__(self, folder: Path, past: Iterable[Event] = (), *, apart: float = SECONDS_BETWEEN_WRITES) -> None:
        self._folder = folder
        self._attempts = Attempts()
        self._started: RunStarted | None = None
        self._due, self._written, self._apart = False, -apart, apart
        self._scratchpad = [_remembering(told) for told in (render_attempt, summarise_attempt)]
        self._row, self._details = _remembering(render_row), _remembering(render_details)
        for event in past:
            self.take(event)

    @classmethod
    def after(cls, folder: Path, attempts: Attempts, started: RunStarted | None) -> "MemorySink":
        """Return a sink for a run that goes on, which knows its attempts so far."""
        sink = cls(folder)
        sink._attempts, sink._started = attempts, started
        return sink

    def __call__(self, event: Event) -> None:
        """Raises OSError if the files cannot be written."""
        self.take(event)
        if isinstance(event, RunFinished):
            self._write(event)
        elif isinstance(event, IterationFinished):
            self._due = True
            if time.monotonic() - self._written >= self._apart:
                self._write(None)

    def close(self) -> None:
        """Write what is not written yet."""
        if self._due:
            self._write(None)

    def take(self, event: Event) -> None:
        """Take `event` in without writing."""
        self._attempts = self._attempts.apply(event)
        if isinstance(event, RunStarted):
            self._started = event

    def _write(self, ended: RunFinished | None) -> None:
        self._due, self._written = False, time.monotonic()
        for name, lines in self._lines(ended).items():
            write_view(self._folder / name, _parts(lines))

    def rendered(self, ended: RunFinished | None) -> dict[str, str]:
        """Return both files by name; `ended` is how the run ended, if it has."""
        return {name: "\n".join(lines) for name, lines in self._lines(ended).items()}

    def _lines(self, ended: RunFinished | None) -> dict[str, Iterator[str]]:
        known = self._attempts
        log = render_build_log(
            known.all, base=known.base, started=self._started, ended=ended, row=self._row, details=self._details
        )
        return {SCRATCHPAD: render_scratchpad(known.all, *self._scratchpad), BUILD_LOG: log}


def _parts(lines: Iterator[str]) -> Iterator[str]:
    """Yield the lines with a line break between any two of them."""
    yield next(lines, "")
    for line in lines:
        yield "\n"
        yield line


def render_run_files(folder: Path, events: Iterable[Event]) -> dict[str, str]:
    """Return both files as a run with these events leaves them, by name; none before its first assessment."""
    sink, due, end = MemorySink(folder), False, None
    for event in events:
        sink.take(event)
        if isinstance(event, (RunStarted, IterationFinished, RunFinished)):
            end = event if isinstance(event, RunFinished) else None
            due = due or not isinstance(event, RunStarted)
    return sink.rendered(end) if due else {}


def list_titles() -> dict[str, str]:
    """Return the first line of both files, by name: the same for every run."""
    return {name: text.partition("\n")[0] for name, text in MemorySink(Path()).rendered(None).items()}


def _remembering(told: Callable[[Attempt], str]) -> Callable[[Attempt], str]:
    """Cache what `told` says of an attempt: the 200th iteration costs little more than the 10th."""
    known: dict[int, tuple[Attempt, str]] = {}

    def remembered(attempt: Attempt) -> str:
        if attempt.number not in known or known[attempt.number][0] is not attempt:
            known[attempt.number] = (attempt, told(attempt))
        return known[attempt.number][1]

    return remembered
