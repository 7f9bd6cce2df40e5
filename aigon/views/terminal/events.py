"""Events in words: one line each, without the time."""

import re
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from aigon.journal import events
from aigon.journal.attempt import describe_checks
from aigon.journal.events import Event, HookStatus, Notice
from aigon.journal.spending import format_cost
from aigon.model.checks import Finding
from aigon.model.criteria import VERDICT_WORDS
from aigon.model.outcomes import describe_outcome
from aigon.model.turns import Spent, Turn
from aigon.text.amounts import format_count, format_dollars, format_duration, format_epoch
from aigon.text.quoting import fold

_DENIED = 2
"""Denied permissions that a line names; the log of the iteration has all of them."""
_TURN_ENDS = {
    "finished": "finished",
    "failed": "failed",
    "timed_out": "timed out",
    "not_started": "did not start",
    "killed": "was killed",
    "refused": "refused to work",
    "usage_limit": "hit a usage limit",
    "overloaded": "was rejected by an overloaded server",
    "bad_credentials": "has bad credentials",
    "unavailable": "lost its connection",
}
_HOOK_ENDS: dict[HookStatus, str] = {
    "ok": "finished",
    "failed": "failed",
    "timed_out": "timed out",
    "not_started": "did not run",
}


class IterationCount(Struct, frozen=True):
    """Iteration `number`, in an invocation that may do `limit` of them after the `finished` ones of earlier ones.

    `finished` is None until it is known: the first turn tells it if the caller did not.
    """

    number: int = 0
    limit: int = 0
    finished: int | None = None

    def apply(self, event: Event) -> "IterationCount":
        match event:
            case events.RunStarted():
                finished = self.finished if event.resumed else event.earlier_iterations
                return replace(self, number=0, limit=event.max_iterations, finished=finished)
            case events.IterationStarted(number=number):
                return replace(self, number=number, finished=number - 1 if self.finished is None else self.finished)
            case events.IterationFinished(number=number):
                return replace(self, number=number)
            case _:
                return self

    @property
    def is_earlier(self) -> bool:
        """True if an earlier invocation finished this iteration, and a resume only assesses its tree again."""
        return self.number <= (self.finished or 0)

    @property
    def limit_words(self) -> str:
        """`at most 5 iterations`; `at most 5 more iterations` after a resume."""
        return f"at most {format_count(self.limit, 'more iteration' if self.finished else 'iteration')}"

    def __str__(self) -> str:
        """`iteration 2 of 5`; before the first one `at most 5 iterations`."""
        if not self.number:
            return self.limit_words if self.limit else ""
        known = self.finished is not None and not self.is_earlier
        return f"iteration {self.number}" + (f" of {(self.finished or 0) + self.limit}" if known else "")


def is_warning(event: Event) -> bool:
    """Return whether even the quietest view shows it."""
    match event:
        case Notice(level=level):
            return level == "warning"
        case events.HookRan(status=status):
            return status != "ok"
        case events.TurnEnded(turn=turn):
            return turn.end != "finished"
        case _:
            return isinstance(event, events.Waiting | events.SavedAside | events.RolledBack | events.RecordRepaired)


def is_shown(event: Event) -> bool:
    """Return whether an event has a line. The verdict on a criterion's own command has one, and says what it means."""
    match event:
        case events.CheckStarted(check=name) | events.CheckFinished(finding=Finding(check=name)):
            return criterion_number(name) is None
        case _:
            return True


def describe_event(event: Event, place: IterationCount) -> str:
    """Return the line of `event`, without the time."""
    match event:
        case events.RunStarted():
            return _describe_start(event, place)
        case events.IterationStarted():
            model = f" with {event.model}" if event.model else ""
            effort = f", effort {event.effort}" if event.effort else ""
            step = f", step {event.rung + 1} of {event.rungs}" if event.rungs > 1 else ""
            return f"{place}: {event.agent} is working{model}{effort}{step}"
        case events.IterationFinished():
            return _describe_iteration(event, place)
        case events.RunFinished():
            return f"exit code {event.exit_code}: {describe_outcome(event.outcome)}"
        case events.CheckStarted():
            return f"{event.title}: running"
        case events.CheckFinished(finding=finding):
            return f"{_mark(finding)} {finding.title}: {describe_result(finding)} ({format_check_time(finding)})"
        case events.JudgeAsked():
            return f"judge: deciding {format_count(len(event.criteria), 'criterion')}"
        case events.CriterionJudged(verdict=verdict):
            why = f" ({verdict.reason})" if verdict.status != "met" and verdict.reason else ""
            return f"criterion {verdict.criterion} {VERDICT_WORDS[verdict.status]}: {event.text}{why}"
        case events.TurnEnded(turn=turn):
            return f"{describe_turn(turn)}, cost {format_cost(turn.cost, turn.cost_status)}"
        case events.Waiting():
            return f"{describe_wait(event)}. Ctrl+C stops, --resume continues"
        case events.SavedAside():
            return f"saved {event.what} aside as {event.commit[:7]} under {event.ref}"
        case events.RolledBack():
            return describe_rollback(event)
        case events.RecordRepaired():
            lost = format_count(event.lost, "line")
            return f"the record was damaged: {lost} lost; the original is kept as {event.kept_as}"
        case events.CommitIntended():
            return f"iteration commit {event.commit[:7]} on {event.branch}"
        case events.MoneySpent():
            return f"{event.what}: cost {format_cost(event.cost, event.status)}"
        case events.HookRan():
            return describe_hook(event)
        case Notice():
            return event.text if event.level == "info" else f"{event.level}: {event.text}"


def _describe_start(event: events.RunStarted, place: IterationCount) -> str:
    verb = "resumed" if event.resumed else "started"
    skipped = ", validation skipped" if event.skip_validation and event.purpose == "build" else ""
    limit = f"{format_count(event.criteria_total, 'criterion')}, {place.limit_words}"
    return f"{event.subject} {verb}: {event.agent} on {event.branch}, {limit}{skipped}"


def _describe_iteration(event: events.IterationFinished, place: IterationCount) -> str:
    met = sum(verdict.status == "met" for verdict in event.verdicts)
    results = f"{met} of {len(event.verdicts)} criteria passed, {describe_checks(event.findings)}"
    if not event.number:
        return f"base: {results}"
    if place.is_earlier:
        return f"{place} checked again: {results}"
    return f"{place} finished: {'' if event.changes else 'no files changed, '}{results}"


def _mark(finding: Finding) -> str:
    """Return the mark that the iteration log gives it."""
    if finding.status == "pass":
        return "⚠️" if any(problem.severity == "warning" for problem in finding.problems) else "✅"
    return "⚠️" if finding.status == "skipped" else "❌"


def criterion_number(check: str) -> int | None:
    """Return the number of the criterion whose own command the check is; None for the project's checks."""
    match = re.fullmatch(r"criterion-(\d+)", check)
    return int(match[1]) if match else None


def describe_result(finding: Finding) -> str:
    """Return the summary of a check, or its status if it has none."""
    return finding.summary or finding.status


def format_check_time(finding: Finding) -> str:
    """Return how long a check ran, or `cached` if its result is from an earlier run on the same tree."""
    return "cached" if finding.cached else format_duration(finding.duration)


def describe_turn(turn: Turn) -> str:
    """`claude finished after 1m 12s`, `claude failed after 3.0s: exit code 1 (see LOG)`.

    When a limit ends and what was denied come before the program's own words, which may be long.
    """
    resets = format_epoch(turn.resets_at) if turn.resets_at is not None else ""
    until = f" until {resets}" if resets else ""
    after = f" after {format_duration(turn.duration)}" if turn.duration else ""
    more = f" and {len(turn.denied) - _DENIED} more" if len(turn.denied) > _DENIED else ""
    names = ", ".join(fold(name, 50) for name in turn.denied[:_DENIED]) + more
    how = f"{turn.agent} {_TURN_ENDS[turn.end]}{until}{after}{f', denied: {names}' if names else ''}"
    if turn.end == "finished":
        return how
    # An adapter's reason may begin with the very words that `_TURN_ENDS` has for it.
    why = turn.detail.partition(": ")[2] if turn.detail.startswith(_TURN_ENDS[turn.end]) else turn.detail
    return how + (f": {why}" if why else "") + (f" (see {turn.log})" if turn.log else "")


def describe_spent(spent: Spent) -> str:
    """`15,203 tokens, $0.12`, as far as the program says; "" for nothing."""
    tokens = format_count(spent.tokens, "token") if spent.tokens else ""
    return ", ".join(filter(None, (tokens, format_dollars(spent.usd) if spent.usd else "")))


def describe_wait(event: events.Waiting) -> str:
    """Return for whom the run waits, until when by the clock of the event, and why."""
    try:
        until = f" until {datetime.fromisoformat(event.at) + timedelta(seconds=event.seconds):%H:%M:%S}"
    except (ValueError, OverflowError):
        until = ""
    why = f": {event.reason}" if event.reason else ""
    return f"waiting for {event.agent}{until} ({format_duration(event.seconds)}){why}"


def describe_rollback(event: events.RolledBack) -> str:
    """`back to iteration 2 (1a2b3c4): 3 of 4 passed there; iteration 4 has 2 of 4 passed`."""
    to = f"iteration {event.number}" if event.number else "the base"
    return f"back to {to} ({event.commit[:7]}): {event.why}"


def describe_hook(ran: events.HookRan) -> str:
    """`hook before_checks (hooks.before_checks) failed after 0.2s: no database`."""
    after = f" after {format_duration(ran.duration)}" if ran.duration else ""
    veto = " and stops the run" if ran.veto else ""
    words = [line for line in ran.output.splitlines() if line.strip()]
    why = f": {words[-1].strip()}" if ran.status != "ok" and words else ""
    return f"hook {ran.point} ({ran.name}) {_HOOK_ENDS[ran.status]}{after}{veto}{why}"


LONGEST = 200
"""Characters in a line, the time included."""


def stamp_line(text: str, column: str = "", at: datetime | None = None) -> str:
    """Return the time of day, `column` as it is, and `text` on one line of at most `LONGEST` characters.

    Without `at` the time is that of writing: events carry the moment they are about, which may lie before an earlier
    line's.
    """
    head = f"{at or datetime.now():%H:%M:%S} {column}"
    return head + fold(text, max(LONGEST - len(head), 1))
