"""The failure log of a feature: which attempts failed, at what, how often the same failure came."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from aigon.journal.attempt import Attempt
from aigon.journal.attempts import attempts
from aigon.journal.events import Event, RunStarted
from aigon.model.turns import TEMPORARY_ENDS


@dataclass(frozen=True, slots=True)
class Failed:
    """An attempt that failed, the `number`th of the feature (from 1), in the run `run_id`.

    `times` is how often its failure came in all, `nth` which of these times it is (from 1); 0 where it has no name.
    `label` tells the agents of an arena apart, and is empty in solo mode.
    """

    number: int
    run_id: str
    attempt: Attempt
    nth: int = 0
    times: int = 0
    label: str = ""


def failure_log(runs: Iterable[Sequence[Event]]) -> tuple[tuple[Failed, ...], int]:
    """The failed attempts over the `runs` of a feature, oldest first, and how many attempts there were.

    One has failed whose look found something red or open, or whose turn did not end as it should.
    """
    every = [(*_run(events), attempt) for events in runs for attempt in attempts(events)]
    times = Counter(attempt.fingerprint for _, _, attempt in every if attempt.fingerprint)
    seen: Counter[str] = Counter()
    found: list[Failed] = []
    for number, (run_id, label, attempt) in enumerate(every, 1):
        seen[attempt.fingerprint] += 1
        name = attempt.fingerprint
        if has_failed(attempt):
            found.append(Failed(number, run_id, attempt, seen[name] if name else 0, times[name], label))
    return tuple(found), len(every)


def has_failed(attempt: Attempt) -> bool:
    """Whether an attempt failed. One that was only held up, or that is still under way, has not."""
    if attempt.fingerprint:
        return True
    return attempt.tries > 0 and attempt.end not in ("finished", None, *TEMPORARY_ENDS)


def _run(events: Sequence[Event]) -> tuple[str, str]:
    """The id of a run, and the label of its agent, where it has one."""
    started = next((event for event in events if isinstance(event, RunStarted)), None)
    if started is None:
        return "", ""
    return started.run_id, started.label if started.mode != "solo" else ""
