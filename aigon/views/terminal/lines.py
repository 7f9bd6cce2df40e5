"""Events for people without a terminal: one line each, with the time of day."""

from datetime import datetime
from typing import TextIO

from aigon.files.pipe import write_line
from aigon.journal.attempt import describe_checks
from aigon.journal.events import (
    CheckFinished,
    CheckStarted,
    CommitIntended,
    CriterionJudged,
    Event,
    HookRan,
    IterationFinished,
    IterationStarted,
    JudgeAsked,
    MoneySpent,
    Notice,
    RecordRepaired,
    RolledBack,
    RunFinished,
    RunStarted,
    SavedAside,
    TurnEnded,
    Waiting,
)
from aigon.journal.spending import format_cost
from aigon.model.checks import Finding
from aigon.model.criteria import VERDICT_WORDS
from aigon.model.outcomes import describe_outcome
from aigon.text.amounts import format_count
from aigon.text.quoting import fold
from aigon.views.terminal.phrases import asked_by, hook, price, result, took, turn, waits, went_back
from aigon.views.terminal.place import Place

LONGEST = 200
"""Characters in a line, the time included."""


class LineSink:
    """Writes a line per event to `stream`, plain text always, until nobody reads any more.

    `finished` is the last iteration of earlier invocations, where the caller knows it.
    """

    def __init__(self, stream: TextIO, *, finished: int | None = None) -> None:
        self._stream = stream
        self._place = Place(finished=finished)
        self._open = True

    def __call__(self, event: Event) -> None:
        """Write `event`. A reader that went away is no error; any other failure to write is an OSError."""
        self._place = self._place.apply(event)
        if self._open and not _told_later(event):
            self._open = write_line(self._stream, stamp_line(describe_event(event, self._place)))

    def close(self) -> None:
        """Write nothing from here on. The stream stays open: it is the caller's."""
        self._open = False


def _told_later(event: Event) -> bool:
    """Whether this is about a criterion's own command: the verdict, with what it means, has a line of its own."""
    match event:
        case CheckStarted(check=name) | CheckFinished(finding=Finding(check=name)):
            return asked_by(name) is not None
        case _:
            return False


def stamp_line(text: str, column: str = "") -> str:
    """Return the time of day, `column` as it is, and `text` on one line of at most `LONGEST` characters.

    The time is that of writing: events carry the moment they are about, which may lie before an earlier line's.
    """
    head = f"{datetime.now():%H:%M:%S} {column}"
    return head + fold(text, max(LONGEST - len(head), 1))


def describe_event(event: Event, place: Place) -> str:
    """Return what the line of `event` says."""
    match event:
        case RunStarted() | IterationStarted() | IterationFinished() | RunFinished():
            return _step(event, place)
        case CheckStarted():
            return f"{event.title}: running"
        case CheckFinished():
            return _found(event.finding)
        case JudgeAsked():
            return f"judge: deciding {format_count(len(event.criteria), 'criterion')}"
        case CriterionJudged():
            return _judged(event)
        case TurnEnded():
            return f"{turn(event.turn)}, {price(event.turn)}"
        case Waiting():
            return f"{waits(event)}. Ctrl+C stops, --resume continues"
        case SavedAside():
            return f"parked {event.what} as {event.commit[:7]} under {event.ref}"
        case RolledBack():
            return went_back(event)
        case RecordRepaired():
            lost = format_count(event.lost, "line")
            return f"the record was damaged: {lost} lost; the original is kept as {event.kept_as}"
        case CommitIntended():
            return f"checkpoint {event.commit[:7]} on {event.branch}"
        case MoneySpent():
            return f"{event.what}: cost {format_cost(event.cost, event.status)}"
        case HookRan():
            return hook(event)
        case Notice():
            return event.text if event.level == "info" else f"{event.level}: {event.text}"


def _step(event: RunStarted | IterationStarted | IterationFinished | RunFinished, place: Place) -> str:
    match event:
        case RunStarted():
            return _run(event, place)
        case IterationStarted():
            model = f" with {event.model}" if event.model else ""
            effort = f", effort {event.effort}" if event.effort else ""
            rung = f"{effort}, rung {event.rung + 1} of {event.rungs}" if event.rungs > 1 else effort
            return f"{place}: {event.agent} is working{model}{rung}"
        case IterationFinished():
            return _finished(event, place)
        case RunFinished():
            return f"exit code {event.exit_code}: {describe_outcome(event.outcome)}"


def _run(event: RunStarted, place: Place) -> str:
    verb = "resumed" if event.resumed else "started"
    skipped = ", validation skipped" if event.skip_validation else ""
    limit = f"{format_count(event.criteria_total, 'criterion')}, {place.limit_words}"
    name = " ".join(dict.fromkeys((event.feature_id, event.slug)))
    return f"feature {name} {verb}: {event.agent} on {event.branch}, {limit}{skipped}"


def _finished(event: IterationFinished, place: Place) -> str:
    if not event.number:
        return f"base: {_tally(event)}"
    if place.is_earlier:
        return f"{place} checked again: {_tally(event)}"
    unchanged = "" if event.changes else "no files changed, "
    return f"{place} finished: {unchanged}{_tally(event)}"


def _found(finding: Finding) -> str:
    return f"{_mark(finding)} {finding.title}: {result(finding)} ({took(finding)})"


def _judged(event: CriterionJudged) -> str:
    verdict = event.verdict
    why = f" ({verdict.reason})" if verdict.status != "met" and verdict.reason else ""
    return f"criterion {verdict.criterion} {VERDICT_WORDS[verdict.status]}: {event.text}{why}"


def _tally(event: IterationFinished) -> str:
    met = sum(verdict.status == "met" for verdict in event.verdicts)
    return f"{met} of {len(event.verdicts)} criteria proven, {describe_checks(event.findings)}"


def _mark(finding: Finding) -> str:
    """The mark that the iteration log gives it."""
    if finding.status == "pass":
        return "⚠️" if any(problem.severity == "warning" for problem in finding.problems) else "✅"
    return "⚠️" if finding.status == "skipped" else "❌"
