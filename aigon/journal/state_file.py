"""`.aigon/loop-state-42.json`: the run for people, scripts and the arena. A projection of the journal.

Written whole when the run enters another phase and when it ends. What an iteration looks like is encoded once, so that
the 200th costs what the 10th does. STATE.json in the run folder has the little that a script polls for.
"""

import contextlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from aigon.files.atomic import write_atomic, write_view, write_whole
from aigon.journal.best import CachedRatings, count_passed_criteria, find_best, is_unchanged_since
from aigon.journal.events import (
    CheckStarted,
    Event,
    IterationFinished,
    IterationStarted,
    JudgeAsked,
    RecordRepaired,
    RunFinished,
    RunStarted,
    TurnEnded,
    Waiting,
)
from aigon.journal.spending import Spend
from aigon.journal.state import State
from aigon.journal.state_document import NEWEST
from aigon.model.changes import Concern
from aigon.model.checks import Finding
from aigon.model.criteria import Verdict
from aigon.model.outcomes import describe_outcome
from aigon.model.turns import Turn

WRITTEN_AT = (RunStarted, IterationStarted, Waiting, RecordRepaired, RunFinished)
"""Events after which the file is written, beside those with which another phase begins."""
Phase = Literal["base", "agent", "checks", "judge", "proof", "waiting", "ended"]
POLLED = ("schema_version", "run_id", "feature_id", "label", "agent", "status", "phase", "iteration", "max_iterations",
          "criteria_met", "criteria_total", "updated_at")  # fmt: skip
"""What STATE.json has of the state."""
_OF_TURN = ("agent", "model", "turn", "rung", "cost")
"""What is told of an iteration's turn; null where it had none."""


class EncodedIterations:
    """The iterations of a run as the file tells of them, by number; `texts` is that in JSON, as bytes."""

    def __init__(self) -> None:
        self.texts: dict[int, bytes] = {}
        self._turn: Turn | None = None
        self._begun: IterationStarted | None = None

    def take(self, event: Event) -> None:
        """Encode a finished iteration; a look that committed nothing, other than the one at the base, is not one.

        A resume's own look at an iteration (an approval, a broken-off first turn) takes the place of the one before.
        """
        if isinstance(event, TurnEnded):
            self._turn = event.turn
        if isinstance(event, IterationStarted):
            self._begun = event
        if isinstance(event, IterationFinished) and (event.checkpoint or event.number == 0):
            told = {**_iteration(event), **self._of_turn(event.number)}
            self.texts[event.number] = json.dumps(told, ensure_ascii=False).encode("utf-8", "replace")

    def _of_turn(self, number: int) -> Mapping[str, object]:
        """What the turn was: it is the last one, or was told already."""
        if self._turn and self._turn.number == number:
            begun = self._begun if self._begun and self._begun.number == number else None
            return _turn(self._turn, begun)
        known = json.loads(self.texts[number]) if number in self.texts else {}
        return {key: known.get(key) for key in _OF_TURN}


class StateFileSink:
    """Keeps the state file at `path` up to date; `iterations` are those of earlier invocations."""

    def __init__(self, path: Path, iterations: EncodedIterations | None = None) -> None:
        self._path = path
        self._iterations = iterations or EncodedIterations()
        self._worths = CachedRatings()
        self._phase: Phase = "base"

    @classmethod
    def after(cls, path: Path, past: Iterable[Event]) -> "StateFileSink":
        """A sink that knows the iterations of earlier invocations."""
        sink = cls(path)
        for event in past:
            sink.remember(event)
        return sink

    def __call__(self, event: Event, state: State) -> None:
        before = self._phase
        self.remember(event)
        if isinstance(event, WRITTEN_AT) or self._phase != before:
            self.write(event, state)

    def remember(self, event: Event) -> None:
        """Take `event` in, and write nothing."""
        self._iterations.take(event)
        self._phase = _phase(event) or self._phase

    def write(self, event: Event, state: State) -> None:
        """Write the file whole, and what is polled of it into the run folder, where nobody relies on it."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        parts = self._parts(event, state)
        if isinstance(event, WRITTEN_AT):
            write_atomic(self._path, parts)
        else:  # a phase alone is not worth a flush
            write_whole(self._path, parts, [self._path.parent])
        head = _head(event, state, self._worths, self._phase)
        with contextlib.suppress(OSError):
            folder = self._path.parent / "runs" / str(head["run_id"])
            write_view(folder / "STATE.json", json.dumps({key: head[key] for key in POLLED}, indent=2) + "\n")

    def rendered(self, event: Event, state: State) -> bytes:
        """What is in the file after `event`."""
        return b"".join(self._parts(event, state))

    def _parts(self, event: Event, state: State) -> Sequence[bytes]:
        values = _head(event, state, self._worths, _phase(event) or self._phase)
        head = json.dumps(values, ensure_ascii=False, indent=2).encode("utf-8", "replace")
        first = head[: head.rindex(b"\n}")] + b',\n  "iterations": [\n    '
        texts = [text for each in self._iterations.texts.values() for text in (b",\n    ", each)][1:]
        return [first, *texts, b"\n  ]\n}\n"]

    def close(self) -> None:
        """Nothing is held open."""


def find_last_write(events: Iterable[Event]) -> int | None:
    """Return the place of the last of these events after which the file is written, from 0; None if there is none."""
    phase, last = "base", None
    for at, event in enumerate(events):
        before, phase = phase, _phase(event) or phase
        if isinstance(event, WRITTEN_AT) or phase != before:
            last = at
    return last


def _phase(event: Event) -> Phase | None:
    """Return the phase that begins with `event`; None if it goes on in the one that it is in."""
    match event:
        case RunStarted():
            return "checks" if event.resumed else "base"
        case IterationStarted():
            return "agent"
        case TurnEnded():
            return "checks"
        case JudgeAsked():
            return "judge"
        case CheckStarted(check="proof"):
            return "proof"
        case Waiting():
            return "waiting"
        case RunFinished():
            return "ended"
        case _:
            return None


def _head(event: Event, state: State, worths: CachedRatings, phase: Phase) -> dict[str, object]:
    started, look = state.started, state.last
    assert started is not None, "a run begins with its RunStarted"
    ended = event if isinstance(event, RunFinished) else None
    return {
        "schema_version": NEWEST,
        "feature_id": started.feature_id,
        "slug": started.slug,
        "label": started.label,
        "run_id": started.run_id,
        "agent": started.agent,
        "mode": started.mode,
        "branch": started.branch,
        "base_commit": started.base_commit,
        "spec": started.spec_path,
        "pid": started.pid,
        "host": started.host,
        "status": ended.status if ended else "running",
        "phase": phase,
        "stop_reason": describe_outcome(ended.outcome) if ended else None,
        "exit_code": ended.exit_code if ended else None,
        "iteration": state.finished if ended else state.iteration,
        "max_iterations": started.max_iterations,
        "validation_skipped": started.skip_validation,
        "started_at": started.at,
        "updated_at": event.at,
        "checkpoint": state.checkpoint,
        "proven_commit": ended.commit if ended and ended.status == "met" else None,
        "content": look.content if look else "",
        "criteria_met": sum(v.status == "met" for v in look.verdicts) if look else 0,
        "criteria_total": started.criteria_total,
        "criteria": [_criterion(v) for v in look.verdicts] if look else [],
        "checks": [_check(f) for f in look.findings] if look else [],
        "integrity": [_concern(c) for c in look.concerns] if look else [],
        "spend": _spend(state.spend),
        "feature_spend": _spend(state.earlier.and_(state.spend)),
        "rung": {"number": state.climbs + 1, "model": state.model, "effort": state.effort},
        "waiting": _waiting(event) if isinstance(event, Waiting) else None,
        "best": _best(state, worths),
        "rolled_back": _rolled_back(state),
    }


def _best(state: State, worths: CachedRatings) -> dict[str, object] | None:
    """The checkpoint at which most was proven, of those that the branch can go back to.

    Number 0 is where the run began; `latest`: the branch stands there.
    """
    looks = list(state.looks.values())
    look = find_best(looks, state.base, worths) or (looks[0] if looks else None)
    if look is None:
        return None
    met, total = count_passed_criteria(look), len(look.verdicts)
    latest = look.number == looks[-1].number or is_unchanged_since(state.tried.done, look.number)
    return {
        "number": look.number,
        "checkpoint": look.checkpoint,
        "criteria_met": met,
        "criteria_total": total,
        "latest": latest,
    }


def _rolled_back(state: State) -> dict[str, object] | None:
    """Where the branch went back to when the run ended; `undone` are the iterations that are parked as `ref`."""
    went = state.rolled_back
    if went is None:
        return None
    undone = list(state.taken_back)
    return {"number": went.number, "commit": went.commit, "ref": went.ref, "why": went.why, "undone": undone}


def _spend(spend: Spend) -> dict[str, object]:
    return {"usd": round(spend.usd, 6), "unknown": spend.unknown}


def _waiting(event: Waiting) -> dict[str, object]:
    return {"agent": event.agent, "reason": event.reason, "until": event.until}


def _turn(turn: Turn, begun: IterationStarted | None) -> Mapping[str, object]:
    return {
        "agent": turn.agent,
        "model": turn.model,
        "turn": turn.end,
        "rung": {"number": begun.rung + 1, "of": begun.rungs, "effort": begun.effort} if begun else None,
        "cost": {"usd": turn.cost, "status": turn.cost_status},
    }


def _iteration(event: IterationFinished) -> Mapping[str, object]:
    return {
        "number": event.number,
        "started_at": event.started_at,
        "ended_at": event.at,
        **dict.fromkeys(_OF_TURN[:-1]),
        "promises": [{"text": one.text, "kept": one.kept, "why": one.why} for one in event.promises],
        "checkpoint": event.checkpoint or None,
        "checks": [_check(finding) for finding in event.findings],
        "criteria": [_criterion(verdict) for verdict in event.verdicts],
        "integrity": [_concern(concern) for concern in event.concerns],
        "cost": None,
        "feedback": event.feedback,
    }


def _check(finding: Finding) -> dict[str, object]:
    counts = finding.counts
    return {
        "name": finding.check,
        "role": finding.role,
        "status": finding.status,
        "summary": finding.summary,
        "duration": round(finding.duration, 3),
        "cached": finding.cached,
        "tests": {"passed": counts.passed, "total": counts.total} if counts else None,
    }


def _criterion(verdict: Verdict) -> dict[str, object]:
    return {
        "number": verdict.criterion,
        "verdict": verdict.status,
        "method": verdict.method,
        "evidence": verdict.evidence,
        "reason": verdict.reason,
    }


def _concern(concern: Concern) -> dict[str, object]:
    return {"rule": concern.rule, "level": concern.level, "what": concern.what, "paths": list(concern.paths)}
