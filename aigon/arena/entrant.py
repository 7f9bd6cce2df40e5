"""One candidate of an arena and the process of its loop."""

import json
import signal
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from aigon.arena.lane import Lane, LaneEnd
from aigon.errors import AigonError
from aigon.journal import records as registry
from aigon.journal.codec import decode
from aigon.journal.events import Event
from aigon.journal.state import State, replay
from aigon.model.candidates import Candidate
from aigon.process.children import Child

EventHandler = Callable[[Mapping[str, Any], Event | None], None]
END_SECONDS = 10.0
"""From the word that all has to end at once until a process that is still there is killed: a person waits no longer."""


@dataclass(slots=True)
class Entrant:
    """A candidate. `why` says who ended it, if not itself, and `kill_at` (monotonic) is when it is killed."""

    lane: Lane
    resume: bool
    child: Child | None = None
    began: float = 0.0
    why: str = ""
    sent: list[signal.Signals] = field(default_factory=list)
    kill_at: float | None = None

    @property
    def label(self) -> str:
        """What the candidate is called."""
        return self.lane.label

    def start(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: Path) -> None:
        """Start its loop. Raises OSError where that fails."""
        self.began = time.monotonic()
        self.child = Child(argv, cwd=cwd, env=env, log=log)

    def take(self, ready: Iterable[int], told: EventHandler) -> bool:
        """Take in what its loop sent; whether that has exited."""
        assert self.child is not None, "it was started"
        self._hear(self.child.read(ready), told)
        return self.child.over(ready)

    def finish(self, told: EventHandler) -> LaneEnd:
        """How it ended, once its loop has exited."""
        assert self.child is not None, "it was started"
        lines, code, errors = self.child.end()
        self._hear(lines, told)
        return self.lane.finish(
            code,
            killed_by=signal.Signals(-code).name if code < 0 else "",
            last_words=_find_last_words(errors),
            why=self.why,
            seconds=time.monotonic() - self.began,
        )

    def ask(self, number: signal.Signals) -> None:
        """Ask for the end of its iteration, once. One that has said its last word is left to go."""
        if number not in self.sent:
            self._send(number)

    def insist(self, number: signal.Signals | None, *, why: str = "") -> None:
        """Ask for its end at once, and kill it where that takes too long; None is for one that sees a stop file itself.

        SIGINT is sent again each time: a process that gets two at once sees one.
        """
        now = time.monotonic()
        if self.kill_at is None:
            self.kill_at, self.why = now + END_SECONDS, why
        if now >= self.kill_at:
            self._kill()
        elif number is None and now >= self.kill_at - END_SECONDS / 2:  # the stop file is gone by now, perhaps
            self.ask(signal.SIGTERM)
        elif number == signal.SIGINT:
            self._send(number)
        elif number:
            self.ask(number)

    def _send(self, number: signal.Signals) -> None:
        self.sent.append(number)
        if self.child and self.lane.end is None:
            self.child.signal(number)

    def _kill(self) -> None:
        if self.child:
            self.child.signal(signal.SIGKILL)

    def _hear(self, lines: Iterable[bytes], told: EventHandler) -> None:
        for line in lines:
            document = parse_event_line(line)
            if document is not None:
                event = decode_event(document)
                self.lane = self.lane.apply(event) if event else self.lane
                self.lane = replace(self.lane, hint=_find_hint(document) or self.lane.hint)
                told(document, event)


def _find_hint(document: Mapping[str, Any]) -> str:
    """What the error of a refused run says is to be done."""
    error = document.get("error")
    return str(error.get("hint") or "") if isinstance(error, dict) else ""


def _find_last_words(errors: str) -> str:
    """What a process said last: an error of aigon's own goes on for some lines, of which the first says what it is."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    own = [line for line in lines if line.startswith("aigon: ")]
    return (own or lines or [""])[-1]


EventDocument = Mapping[str, Any]
_ADDED = ("schema_version", "error", "success")
"""What a line has beside the event's own fields."""


def parse_event_line(line: bytes) -> EventDocument | None:
    """The document on a line; None for anything that is no event."""
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) and isinstance(document.get("event"), str) else None


def decode_event(document: EventDocument) -> Event | None:
    """The event that `aigon.journal.codec.to_ndjson` made this of; None for one that is not known here."""
    fields = {key: value for key, value in document.items() if key not in _ADDED}
    detail = fields.pop("outcome_detail", None)
    if isinstance(detail, dict):
        fields["outcome"] = {"kind": fields.get("outcome"), **detail}
    try:
        return decode(fields)
    except (ValueError, RecursionError):
        return None


def list_entrants(home: Path | None, candidates: Sequence[Candidate], resume: Collection[str]) -> list[Entrant]:
    """Everybody, in the order in which they were named."""
    return [Entrant(_begin_lane(home, each, each.label in resume), each.label in resume) for each in candidates]


def find_followers(home: Path | None, everybody: Sequence[Entrant]) -> tuple[str, frozenset[str]]:
    """Whose look at the base the others wait for, and who these are: the look is the same for all, and remembered.

    Nobody waits who is resumed, and nobody where the bases are not known to be one.
    """
    fresh = [each for each in everybody if not each.resume]
    bases = {_find_base(home, each.lane.candidate) for each in fresh}
    if len(fresh) < 2 or len(bases) != 1 or "" in bases:
        return "", frozenset()
    return fresh[0].label, frozenset(each.label for each in fresh[1:])


def _find_base(home: Path | None, candidate: Candidate) -> str:
    origin = registry.candidate_records(home, candidate).origin() if home else None
    return origin.commit if origin else ""


def _begin_lane(home: Path | None, candidate: Candidate, resumed: bool) -> Lane:
    """With what a run that is resumed came to so far."""
    lane = Lane(candidate)
    before = _replay_earlier(home, candidate) if resumed else None
    if before is None or before.started is None:
        return lane
    met = sum(verdict.status == "met" for verdict in before.last.verdicts) if before.last else 0
    return replace(
        lane,
        met=met,
        total=before.started.criteria_total,
        iterations=before.finished,
        finished=before.finished,
        spend=before.spend,
        commit=before.checkpoint,
    )


def _replay_earlier(home: Path | None, candidate: Candidate) -> State | None:
    """What its journal says; a damaged one is for its own loop to refuse."""
    try:
        return replay(registry.candidate_records(home, candidate).each()) if home else None
    except (AigonError, OSError):
        return None
