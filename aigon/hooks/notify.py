"""Tell others how a run ended. Whatever goes wrong here is logged, and changes nothing about the run."""

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Thread
from time import monotonic

from aigon.journal.amounts import spent
from aigon.journal.events import Event, RunFinished
from aigon.journal.state import State
from aigon.model.outcomes import describe_outcome
from aigon.text.quoting import folded

SCHEMA_VERSION = 1
LONGEST = 600
"""Characters of the line that chat services show."""
STEP = 0.2
"""Seconds between two looks at whether the wait is to be cut short."""

Tell = Callable[[bytes, float], str]
"""Hands a JSON document on within so many seconds: empty, or why it could not."""


@dataclass(frozen=True, slots=True)
class Target:
    """Somebody to be told. `on` are the statuses they want to know of (all, where it is empty), `seconds` its time.

    With `aside` it may take place beside others; otherwise it has the process to itself.
    """

    name: str
    tell: Tell
    seconds: float = 30.0
    on: tuple[str, ...] = ()
    aside: bool = False


class NotifySink:
    """Tells `targets` of the end of a run that had come to `state`. `redact` goes over all that is handed on.

    `hurried` gives the seconds that are left in all, None for no such limit.
    """

    def __init__(
        self,
        targets: Sequence[Target],
        state: State,
        *,
        redact: Callable[[bytes], bytes] = lambda text: text,
        hurried: Callable[[], float | None] = lambda: None,
    ) -> None:
        self._targets, self._state = targets, state
        self._redact, self._hurried = redact, hurried

    def __call__(self, event: Event) -> None:
        """Keep count; at the end, tell."""
        self._state = self._state.apply(event)
        if isinstance(event, RunFinished):
            self._tell([target for target in self._targets if not target.on or event.status in target.on], event)

    def close(self) -> None:
        """Nothing is held open."""

    def _tell(self, targets: Sequence[Target], event: RunFinished) -> None:
        body = self._redact(json.dumps(document(event, self._state)).encode())
        most = self._hurried()
        limits = [(target, target.seconds if most is None else min(most, target.seconds)) for target in targets]
        beside = [_begun(target, body, seconds) for target, seconds in limits if target.aside]
        for target, seconds in limits:
            if not target.aside:
                _say(target, target.tell(body, seconds))
        for waited in beside:
            _say(waited.target, waited.answer(self._hurried if most is None else lambda: None))


@dataclass(frozen=True, slots=True)
class _Waited:
    """A target that is being told in a thread; `end` is in monotonic seconds."""

    target: Target
    said: list[str]
    thread: Thread
    end: float

    def answer(self, hurried: Callable[[], float | None]) -> str:
        """What became of it by `end`, or by when somebody wants this process to be gone."""
        while self.thread.is_alive() and monotonic() < self.end and hurried() is None:
            self.thread.join(min(STEP, max(0.0, self.end - monotonic())))
        return self.said[0] if self.said else "no answer in time"


def _begun(target: Target, body: bytes, seconds: float) -> _Waited:
    """Told in a thread that nobody waits for longer than `seconds`: a name that is looked up knows no deadline."""
    said: list[str] = []
    thread = Thread(target=lambda: said.append(_told(target, body, seconds)), name="notify", daemon=True)
    thread.start()
    return _Waited(target, said, thread, monotonic() + seconds)


def _told(target: Target, body: bytes, seconds: float) -> str:
    try:
        return target.tell(body, seconds)
    except Exception as error:  # in a thread nobody would ever hear of it
        return repr(error)


def _say(target: Target, why: str) -> None:
    if why:
        logging.getLogger("aigon").warning("%s could not be told how the run ended: %s", target.name, folded(why))


def document(event: RunFinished, state: State) -> dict[str, object]:
    """The end of a run for others; `text` is what Slack and the like show."""
    started, look = state.started, state.last
    met = sum(verdict.status == "met" for verdict in look.verdicts) if look else 0
    total = started.criteria_total if started else 0
    feature = started.feature_id if started else ""
    slug = started.slug if started else ""
    tally = f"exit code {event.exit_code}, {met} of {total} criteria proven, {spent(state.spend)}"
    return {
        "schema_version": SCHEMA_VERSION,
        "text": folded(f"aigon, feature {feature} {slug}: {describe_outcome(event.outcome)} ({tally})", LONGEST),
        "feature": feature,
        "slug": slug,
        "run": started.run_id if started else "",
        "agent": started.agent if started else "",
        "branch": started.branch if started else "",
        "status": event.status,
        "success": event.status == "met",
        "exit_code": event.exit_code,
        "summary": event.summary,
        "criteria": {"met": met, "total": total},
        "iterations": event.iterations,
        "remaining_issues": list(event.remaining_issues),
        "spend": {"usd": round(state.spend.usd, 6), "unknown": state.spend.unknown},
        "commit": event.commit,
        "at": event.at,
    }
