"""One attempt in words, for SCRATCHPAD.md and the prompt.

Whatever a repository or a tool chose (names of files, lines of output) stands in a code span on a line that aigon
began, so that it starts no heading, box or list of its own.
"""

from collections.abc import Iterator, Sequence

from aigon.journal.amounts import count_checks, duration
from aigon.journal.attempt import Attempt, Returned
from aigon.model.assessments import CheckSummary, Complaint, RemainingCriterion
from aigon.model.changes import FileChange
from aigon.model.criteria import VERDICT_WORDS
from aigon.text.quoting import code

FILES, LISTED, NOTES = 8, 8, 5
"""What is listed of one attempt; the rest is counted."""
LONGEST = 160
"""Characters of one text of others."""


def title(attempt: Attempt) -> str:
    """`Iteration 3: better than before`."""
    return f"Iteration {attempt.number}: {_progress(attempt)}"


def section(attempt: Attempt) -> str:
    """What was tried, what came of it and why, as a list; no line break at its end."""
    return "\n".join(_section(attempt))


def line(attempt: Attempt) -> str:
    """The same in a line."""
    reached = f"proven {attempt.proven} of {attempt.criteria}, {count_checks(attempt.checks)}"
    parts = [describe_changes(attempt, 3), reached] if attempt.judged else [ended(attempt)]
    parts += [f"red: {_listed([code(check.title, 40) for check in attempt.failing], 4)}"] if attempt.failing else []
    parts += [f"open: {_listed([str(each.criterion) for each in attempt.open], 10)}"] if attempt.open else []
    return "; ".join([*parts, *_same(attempt)])


def _progress(attempt: Attempt) -> str:
    if not attempt.judged:
        return "not looked at"
    if attempt.better:
        return "better than before"
    return "no better than before" if attempt.score == attempt.best else "worse than the best before"


def _section(attempt: Attempt) -> Iterator[str]:
    yield f"- Turn: {_who(attempt)}, {ended(attempt)}"
    if attempt.judged:
        yield f"- Changed: {describe_changes(attempt, FILES)}"
        yield f"- Came to: {_reached(attempt)}"
    yield from (text for check in attempt.failing[:LISTED] for text in _failed(check))
    yield from _rest(len(attempt.failing) - LISTED, "failing check", "failing checks")
    yield from (f"- {_open(each)}" for each in attempt.open[:LISTED])
    yield from _rest(len(attempt.open) - LISTED, "open criterion", "open criteria")
    yield from (f"- Came back: {_back(each)}" for each in attempt.returned[:LISTED])
    yield from (f"- Again: {text}" for text in _same(attempt))
    yield from (f"- Undone by aigon: {code(note, LONGEST)}" for note in attempt.notes[:NOTES])


def _who(attempt: Attempt) -> str:
    how = [code(attempt.model, 60)] if attempt.model else []
    how += [f"effort {code(attempt.effort, 20)}"] if attempt.effort else []
    how += [f"rung {attempt.rung + 1} of {attempt.rungs}"] if attempt.rungs > 1 else []
    return (code(attempt.agent, 60) or "nobody") + (f" ({', '.join(how)})" if how else "")


def ended(attempt: Attempt) -> str:
    """How the turn ended, in aigon's own words: `finished after 1m 12s`."""
    if not attempt.tries:
        return "no turn"
    if attempt.end is None:
        return "broken off"
    exited = f" (exit code {attempt.exit_code})" if attempt.end == "failed" and attempt.exit_code is not None else ""
    tries = f", at try {attempt.tries}" if attempt.tries > 1 else ""
    return f"{attempt.end.replace('_', ' ')}{exited} after {duration(attempt.duration)}{tries}"


def describe_changes(attempt: Attempt, most: int) -> str:
    """Return `2 files (+3 -1): ...`, of which at most `most` are named."""
    if not attempt.changed:
        return "no file"
    files = f"{attempt.changed} file{'s' if attempt.changed > 1 else ''} (+{attempt.added} -{attempt.removed})"
    return f"{files}: {_listed([_file(change) for change in attempt.changes], most, attempt.changed)}"


def _file(change: FileChange) -> str:
    how = {"A": "new, ", "D": "gone, "}.get(change.status, "")
    size = "binary" if change.added < 0 or change.removed < 0 else f"+{change.added} -{change.removed}"
    return f"{code(change.path, LONGEST) or 'a file without a name'} ({how}{size})"


def _listed(texts: Sequence[str], most: int, total: int | None = None) -> str:
    shown, rest = texts[:most], (len(texts) if total is None else total) - len(texts[:most])
    return ", ".join(shown) + (f" and {rest} more" if rest > 0 else "")


def _reached(attempt: Attempt) -> str:
    tests = sum(check.counts.passed for check in attempt.checks if check.counts)
    passed = (
        [f"{tests} test{'' if tests == 1 else 's'} passed"] if any(check.counts for check in attempt.checks) else []
    )
    return ", ".join([f"{attempt.proven} of {attempt.criteria} criteria proven", count_checks(attempt.checks), *passed])


def _failed(check: CheckSummary) -> Iterator[str]:
    yield f"- Failed: {code(check.title, 80) or 'a check'}: {code(check.summary, LONGEST) or check.status}"
    yield from (f"  - {_complaint(each)}" for each in check.complaints)


def _complaint(complaint: Complaint) -> str:
    at = f" in {code(complaint.where, LONGEST)}" if complaint.where else ""
    times = f", {complaint.times} times" if complaint.times > 1 else ""
    return f"{code(complaint.text, LONGEST) or 'it said nothing'}{at}{times}"


def _open(each: RemainingCriterion) -> str:
    reason = code(each.reason, LONGEST) or "no reason given"
    return f"Criterion {each.criterion}, {VERDICT_WORDS[each.status]}: {reason}"


def _rest(number: int, one: str, many: str) -> Iterator[str]:
    if number > 0:
        yield f"- And {number} more {one if number == 1 else many}"


def _back(each: Returned) -> str:
    names = f": {', '.join(code(name, LONGEST) for name in each.names)}" if each.names else ""
    many = f"{each.number} failure{'s' if each.number > 1 else ''}"
    return f"{many} of {code(each.title, 80) or 'a check'}, gone in between{names}"


def _same(attempt: Attempt) -> list[str]:
    same = [("the same failure as", attempt.again), ("the same files as", attempt.same_tree)]
    return [f"{what} {_named(number)}" for what, number in same if number is not None]


def _named(number: int) -> str:
    return f"in iteration {number}" if number else "on the base"
