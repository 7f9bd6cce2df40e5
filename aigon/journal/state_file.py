"""`.aigon/loop-state-42.json`: the run for people, scripts and the arena. A projection of the journal.

It is written whole when the run enters another phase and when it ends. An iteration is encoded once, and only the
newest are listed, so that the 1,000th costs what the 10th does. STATE.json in the run folder has the little that a
script polls for.
"""

import contextlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from aigon.files.atomic import write_atomic, write_view
from aigon.journal.best import count_passed_criteria, is_unchanged_since
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
from aigon.journal.replay import dump_indented
from aigon.journal.spending import Spend
from aigon.journal.state import State, replay
from aigon.journal.state_document import NEWEST
from aigon.model.changes import Concern
from aigon.model.checks import Finding
from aigon.model.criteria import Verdict
from aigon.model.outcomes import describe_outcome
from aigon.model.turns import Turn

FLUSHED_AT = (RunStarted, Waiting, RecordRepaired, RunFinished)
"""Events after which the file is flushed: nothing may be written for long."""
WRITTEN_AT = (*FLUSHED_AT, IterationStarted)
"""Events after which it is written, besides those that begin another phase."""
Phase = Literal["base", "agent", "checks", "judge", "proof", "waiting", "ended"]
POLLED = ("schema_version", "run_id", "feature_id", "label", "agent", "status", "phase", "iteration", "max_iterations",
          "criteria_met", "criteria_total", "updated_at")  # fmt: skip
"""The keys of STATE.json."""
LISTED = 100
"""Iterations that the file lists, the newest: the journal and the iteration log have all."""
_OF_TURN = ("agent", "model", "turn", "rung", "cost")
"""Keys of an iteration that describe its turn; null if it had none."""


class EncodedIterations:
    """The newest iterations of a run as the file has them: JSON bytes by number. `left_out` counts the others."""

    def __init__(self) -> None:
        self.texts: dict[int, bytes] = {}
        self.left_out = 0
        self._turn: Turn | None = None
        self._begun: IterationStarted | None = None

    def take(self, event: Event) -> None:
        """Encode a finished iteration that has a commit, or the baseline. A resume's own assessment replaces it."""
        if isinstance(event, TurnEnded):
            self._turn = event.turn
        if isinstance(event, IterationStarted):
            self._begun = event
        if isinstance(event, IterationFinished) and (event.checkpoint or event.number == 0):
            document = {**_encode_iteration(event), **self._encode_turn(event.number)}
            self.texts[event.number] = json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")
            if len(self.texts) > LISTED:
                del self.texts[next(iter(self.texts))]
                self.left_out += 1

    def _encode_turn(self, number: int) -> Mapping[str, object]:
        """Return the turn of an iteration: the last one, or what was encoded before."""
        turn = self._turn
        if turn is None or turn.number != number:
            known = json.loads(self.texts[number]) if number in self.texts else {}
            return {key: known.get(key) for key in _OF_TURN}
        begun = self._begun if self._begun and self._begun.number == number else None
        return {
            "agent": turn.agent,
            "model": turn.model,
            "turn": turn.end,
            "rung": {"number": begun.rung + 1, "of": begun.rungs, "effort": begun.effort} if begun else None,
            "cost": {"usd": turn.cost, "status": turn.cost_status},
        }


class StateFileSink:
    """Keeps the state file at `path` up to date; `past` are the events of earlier invocations."""

    def __init__(self, path: Path, past: Iterable[Event] = ()) -> None:
        self._path = path
        self._iterations = EncodedIterations()
        self._phase: Phase = "base"
        for event in past:
            self.remember(event)

    def __call__(self, event: Event, state: State) -> None:
        before = self._phase
        self.remember(event)
        if isinstance(event, WRITTEN_AT) or self._phase != before:
            self.write(event, state)

    def remember(self, event: Event) -> None:
        """Take `event` in without writing."""
        self._iterations.take(event)
        self._phase = _begin_phase(event) or self._phase

    def write(self, event: Event, state: State) -> None:
        """Write the file, and STATE.json into the run folder, which nothing depends on."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        head = self._describe(event, state)
        parts = self._encode(head)
        if isinstance(event, FLUSHED_AT):
            write_atomic(self._path, parts)
        else:
            write_view(self._path, parts)
        with contextlib.suppress(OSError):
            folder = self._path.parent / "runs" / str(head["run_id"])
            write_view(folder / "STATE.json", [dump_indented({key: head[key] for key in POLLED}), b"\n"])

    def render(self, event: Event, state: State) -> bytes:
        """Return what is in the file after `event`."""
        return b"".join(self._encode(self._describe(event, state)))

    def close(self) -> None:
        """Nothing is open."""

    def _encode(self, values: Mapping[str, object]) -> Sequence[bytes]:
        head = dump_indented(values)
        first = head[: head.rindex(b"\n}")] + b',\n  "iterations": [\n    '
        return [first, b",\n    ".join(self._iterations.texts.values()), b"\n  ]\n}\n"]

    def _describe(self, event: Event, state: State) -> dict[str, object]:
        """Return every key of the file but the iterations."""
        started, look = state.started, state.last
        assert started is not None, "a run begins with its RunStarted"
        ended = event if isinstance(event, RunFinished) else None
        waits = event if isinstance(event, Waiting) else None
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
            "phase": _begin_phase(event) or self._phase,
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
            "criteria_met": count_passed_criteria(look) if look else 0,
            "criteria_total": started.criteria_total,
            "criteria": [_encode_verdict(verdict) for verdict in look.verdicts] if look else [],
            "checks": [_encode_finding(finding) for finding in look.findings] if look else [],
            "integrity": [_encode_concern(concern) for concern in look.concerns] if look else [],
            "spend": _encode_spend(state.spend),
            "feature_spend": _encode_spend(state.earlier.and_(state.spend)),
            "rung": {"number": state.climbs + 1, "model": state.model, "effort": state.effort},
            "waiting": {"agent": waits.agent, "reason": waits.reason, "until": waits.until} if waits else None,
            "best": _describe_best(state),
            "rolled_back": _encode_rollback(state),
            "tasks": state.tasks.count(),
            "iterations_left_out": self._iterations.left_out,
        }


def render_state_file(events: Sequence[Event]) -> bytes | None:
    """Return the file as a run with these events leaves it; None if it is not written."""
    last = find_last_write(events)
    if last is None:
        return None
    state = replay(events[: last + 1])
    return StateFileSink(Path(), events[: last + 1]).render(events[last], state)


def find_last_write(events: Iterable[Event]) -> int | None:
    """Return the index of the last of these events after which the file is written, or None."""
    phase, last = "base", None
    for index, event in enumerate(events):
        before, phase = phase, _begin_phase(event) or phase
        if isinstance(event, WRITTEN_AT) or phase != before:
            last = index
    return last


def _begin_phase(event: Event) -> Phase | None:
    """Return the phase that begins with `event`; None if the run stays in its phase."""
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


def _describe_best(state: State) -> dict[str, object] | None:
    """Return the commit with the best assessment of those that the branch can go back to.

    Number 0 is where the run began; `latest`: the branch is there.
    """
    look, newest = state.looks.best, state.looks.newest
    if look is None:
        return None
    return {
        "number": look.number,
        "checkpoint": look.checkpoint,
        "criteria_met": count_passed_criteria(look),
        "criteria_total": len(look.verdicts),
        "latest": look.number == newest[-1].number or is_unchanged_since(state.tried.done, look.number),
    }


def _encode_rollback(state: State) -> dict[str, object] | None:
    back = state.rolled_back
    if back is None:
        return None
    undone = list(state.taken_back)
    return {"number": back.number, "commit": back.commit, "ref": back.ref, "why": back.why, "undone": undone}


def _encode_spend(spend: Spend) -> dict[str, object]:
    return {"usd": round(spend.usd, 6), "unknown": spend.unknown}


def _encode_iteration(event: IterationFinished) -> Mapping[str, object]:
    return {
        "number": event.number,
        "started_at": event.started_at,
        "ended_at": event.at,
        **dict.fromkeys(_OF_TURN[:-1]),
        "promises": [{"text": one.text, "kept": one.kept, "why": one.why} for one in event.promises],
        "checkpoint": event.checkpoint or None,
        "checks": [_encode_finding(finding) for finding in event.findings],
        "criteria": [_encode_verdict(verdict) for verdict in event.verdicts],
        "integrity": [_encode_concern(concern) for concern in event.concerns],
        "cost": None,
        "feedback": event.feedback,
    }


def _encode_finding(finding: Finding) -> dict[str, object]:
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


def _encode_verdict(verdict: Verdict) -> dict[str, object]:
    return {
        "number": verdict.criterion,
        "verdict": verdict.status,
        "method": verdict.method,
        "evidence": verdict.evidence,
        "reason": verdict.reason,
    }


def _encode_concern(concern: Concern) -> dict[str, object]:
    return {"rule": concern.rule, "level": concern.level, "what": concern.what, "paths": list(concern.paths)}
