"""Write files for people, which nothing reads back: what attempts tried, the steps of turns, the tasks of a feature.

SCRATCHPAD.md and BUILD_LOG.md are in the run folder. Only BUILD_LOG.md may quote why a turn failed in the words of its
program, as code; no agent gets it. `.aigon/tasks-42.json` and `prd.toon` are for people and other tools.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from aigon.files.atomic import write_view
from aigon.installation import require_extra
from aigon.journal.attempt import Attempt, CheckSummary, count_passed_checks
from aigon.journal.attempts import Attempts
from aigon.journal.events import Event, IterationFinished, RunFinished, RunStarted
from aigon.journal.memory import describe_ending, render_once, render_scratchpad, render_title
from aigon.journal.replay import dump_indented
from aigon.journal.spending import Spend, describe_spend, format_cost
from aigon.journal.steps import StepSink
from aigon.journal.tasks import build_tasks_document, build_tasks_table
from aigon.model.criteria import VERDICT_WORDS
from aigon.model.outcomes import describe_outcome
from aigon.run.sinks import SinkContext
from aigon.spec.prd import render_prd
from aigon.text.amounts import format_duration, format_timestamp
from aigon.text.quoting import code_span

SCRATCHPAD = "SCRATCHPAD.md"
BUILD_LOG = "BUILD_LOG.md"
MAX_CHARS = 200
_HEAD = """\
# Build log

Written by aigon after each iteration: who worked, what it changed, how the checks ended, what it took. Text in `code`
comes from files, tools and agents.
"""
_COLUMNS = ("iteration", "begun", "by", "turn", "took", "changed", "checks", "tests", "criteria", "", "cost")


def render_build_log(
    attempts: Sequence[Attempt],
    *,
    base: Attempt | None = None,
    started: RunStarted | None = None,
    ended: RunFinished | None = None,
) -> Iterator[str]:
    """Yield the text of BUILD_LOG.md in parts, without the line breaks between them."""
    known = [base, *attempts] if base else attempts
    yield _HEAD
    if started:
        run = f"{code_span(started.run_id, 80)}{', resumed' if started.resumed else ''}"
        branch = f"branch {code_span(started.branch, 120)} from {code_span(started.base_commit[:12], 20)}"
        feature = f"Feature {code_span(started.feature_id, 80)} ({code_span(started.slug, 80)})"
        yield f"{feature}, run {run} at {format_timestamp(started.at)}, on {branch}.\n"
    yield from (_join_cells(_COLUMNS), _join_cells(["---"] * len(_COLUMNS)))
    yield from map(render_row, known)
    yield f"\n{_sum_up(attempts)}\n" if attempts else ""
    if ended:
        how = code_span(describe_outcome(ended.outcome), 500)
        yield f"Ended at {format_timestamp(ended.at)} with exit code {ended.exit_code}: {how}\n"
    yield from map(render_details, known)


@render_once
def render_row(attempt: Attempt) -> str:
    """Return the table row of an attempt."""
    worker = ending = took = changed = passed = proven = progress = cost = ""
    if attempt.tries:
        effort = f" {_quote_cell(attempt.effort, 20)}" if attempt.effort else ""
        step = f" step {attempt.rung + 1}/{attempt.rungs}" if attempt.rungs > 1 else ""
        worker = f"{_quote_cell(attempt.agent, 40)} {_quote_cell(attempt.model, 40)}{effort}".strip() + step
        ending = (attempt.end or "broken off").replace("_", " ")
        took = format_duration(attempt.duration)
        changed = "0"
        progress = "better" if attempt.better else "no better" if attempt.judged else "not assessed"
        silent = f" and {attempt.unpriced} unknown" if attempt.unpriced and attempt.cost is not None else ""
        cost = format_cost(attempt.cost, attempt.cost_status) + silent
    if attempt.changed:
        changed = f"{attempt.changed} (+{attempt.added} -{attempt.removed})"
    if attempt.judged:
        passed = "{}/{}".format(*count_passed_checks(attempt.checks))
        proven = f"{attempt.proven}/{attempt.criteria}"
    counts = [check.counts for check in attempt.checks if check.counts]
    tests = f"{sum(c.passed for c in counts)}/{sum(c.total for c in counts)}" if counts else ""
    name, begun = str(attempt.number) if attempt.number else "base", format_timestamp(attempt.at)
    return _join_cells((name, begun, worker, ending, took, changed, passed, tests, proven, progress, cost))


@render_once
def render_details(attempt: Attempt) -> str:
    """Return what an attempt's row does not say."""
    return "\n".join([f"## {render_title(attempt) if attempt.number else 'The base'}", "", *_list_details(attempt), ""])


def _list_details(attempt: Attempt) -> Iterator[str]:
    if attempt.number:
        yield f"- Turn: {describe_ending(attempt)}"
    if attempt.waited:
        yield f"- Waited for a usage limit or an overload: {format_duration(attempt.waited)}"
    if attempt.detail:
        yield f"- Reported end: {code_span(attempt.detail, MAX_CHARS)}"
    if attempt.judged:
        name = f", failure {code_span(attempt.fingerprint, 20)}" if attempt.fingerprint else ""
        yield f"- Assessed: {format_timestamp(attempt.looked_at)}{name}"
    yield from (f"- {_describe_check(check)}" for check in attempt.checks)
    for each in attempt.open:
        yield f"- Criterion {each.criterion}, {VERDICT_WORDS[each.status]}: {code_span(each.reason, MAX_CHARS)}"
    yield from (f"- Undone by aigon: {code_span(note, MAX_CHARS)}" for note in attempt.notes)
    for promise in attempt.promises:
        why = f" ({code_span(promise.why, MAX_CHARS)})" if promise.why else ""
        yield f"- Promise {code_span(promise.text, 80)}: {'kept' if promise.kept else 'broken'}{why}"


def _describe_check(check: CheckSummary) -> str:
    mark = {"pass": "✅", "skipped": "⚠️"}.get(check.status, "❌")
    took = "remembered" if check.cached else format_duration(check.duration)
    failed = f"; first: {code_span(check.complaints[0].text, MAX_CHARS)}" if check.complaints else ""
    tests = ""
    if counts := check.counts:
        numbers = {"passed": counts.passed, "failed": counts.failed, "errors": counts.errors, "skipped": counts.skipped}
        tests = f", {', '.join(f'{number} {name}' for name, number in numbers.items() if number or name == 'passed')}"
    summary = code_span(check.summary, MAX_CHARS) or check.status
    return f"{mark} {code_span(check.title, 80)}: {summary}{tests} ({took}){failed}"


def _sum_up(attempts: Sequence[Attempt]) -> str:
    money = Spend(sum(a.cost or 0.0 for a in attempts), sum(a.unpriced for a in attempts))
    took = format_duration(sum(a.duration for a in attempts))
    turns = sum(a.tries for a in attempts)
    return f"Turns: {turns} in {len(attempts)} iterations, {took} of work, {describe_spend(money)}."


def _quote_cell(text: str, limit: int) -> str:
    """Return a code span for a table, where a bar would begin another cell."""
    return code_span(text.replace("|", "¦"), limit)


def _join_cells(texts: Sequence[str]) -> str:
    return f"| {' | '.join(texts)} |"


class MemorySink:
    """Writes both files after iterations and at the end of the run."""

    def __init__(self, folder: Path, tried: Attempts | None = None, started: RunStarted | None = None) -> None:
        self._folder = folder
        self._tried, self._started = tried or Attempts(), started
        self._due = False

    def __call__(self, event: Event) -> None:
        """Raises OSError if the files cannot be written."""
        self.remember(event)
        if isinstance(event, RunFinished):
            self._write(event)
        elif isinstance(event, IterationFinished):
            self._due = True

    def settle(self) -> None:
        """Write what is not written yet."""
        if self._due:
            self._write(None)

    close = settle

    def remember(self, event: Event) -> None:
        """Take `event` in without writing."""
        self._tried = self._tried.apply(event)
        if isinstance(event, RunStarted):
            self._started = event

    def _write(self, ended: RunFinished | None) -> None:
        self._due = False
        for name, parts in self._render(ended).items():
            write_view(self._folder / name, parts)

    def render(self, ended: RunFinished | None) -> dict[str, str]:
        """Return both files by name; `ended` is how the run ended, if it has."""
        return {name: "".join(parts) for name, parts in self._render(ended).items()}

    def _render(self, ended: RunFinished | None) -> dict[str, Iterator[str]]:
        tried = self._tried
        log = render_build_log(tried.all, base=tried.base, started=self._started, ended=ended)
        return {SCRATCHPAD: _join(render_scratchpad(tried.all)), BUILD_LOG: _join(log)}


def _join(lines: Iterator[str]) -> Iterator[str]:
    """Yield the lines with a line break between any two of them, some hundred at a time: the file may be long."""
    gap = ""
    while part := [*islice(lines, 200)]:
        yield gap + "\n".join(part)
        gap = "\n"


def render_run_files(folder: Path, events: Iterable[Event]) -> dict[str, str]:
    """Return both files as a run with these events leaves them, by name; none before its first assessment."""
    sink, due, end = MemorySink(folder), False, None
    for event in events:
        sink.remember(event)
        if isinstance(event, (RunStarted, IterationFinished, RunFinished)):
            end = event if isinstance(event, RunFinished) else None
            due = due or not isinstance(event, RunStarted)
    return sink.render(end) if due else {}


def open_memory(run: SinkContext) -> MemorySink:
    """Return the sink, with the attempts of a run that is resumed."""
    return MemorySink(run.folder, run.state.tried, run.state.started)


def open_steps(run: SinkContext) -> StepSink:
    """Return the sink, which numbers on from the last turn."""
    return StepSink(run.folder, run.past)


class TasksSink:
    """Writes the files whole when a task has changed, and at the end of the run: an edit of them does not stay."""

    def __init__(self, run: SinkContext) -> None:
        label = f"-{run.label}" if run.label else ""
        self._path = run.folder.parent.parent / f"tasks-{run.feature}{label}.json"
        self._table = run.folder / "prd.toon" if run.toon else None
        self._state, self._due = run.state, False

    def __call__(self, event: Event) -> None:
        before, self._state = self._state.tasks, self._state.apply(event)
        self._due = self._due or self._state.tasks != before or isinstance(event, RunFinished)

    def settle(self) -> None:
        """Write what is not written yet. Raises OSError if a file cannot be written."""
        if not self._due:
            return
        self._due, tasks = False, self._state.tasks
        write_view(self._path, [dump_indented(build_tasks_document(tasks)), b"\n"])
        if self._table:
            write_view(self._table, render_prd(build_tasks_table(tasks)))

    close = settle


def open_tasks(run: SinkContext) -> TasksSink:
    """Return the sink, with the tasks of a run that is resumed. Raises AigonError (exit 7) if an extra is missing."""
    if run.toon:
        require_extra("toon", "toon_format", purpose="views.toon")
    return TasksSink(run)
