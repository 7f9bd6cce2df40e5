"""One candidate of an arena: the command line of its loop, the process, and what it sends."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from aigon.arena.lane import Lane, LaneEnd
from aigon.errors import AigonError
from aigon.job.options import DEFAULTS, Options, spell_option
from aigon.journal import records as registry
from aigon.journal.events import Event
from aigon.journal.replay import decode
from aigon.journal.state import State, replay
from aigon.model.agents import Candidate
from aigon.process.children import Child, wait_for_ready
from aigon.process.stop import POLL_SECONDS, Stop
from aigon.text.untrusted import text_at

EventHandler = Callable[[Mapping[str, Any], Event | None], None]
END_SECONDS = 10.0
"""From the request to end at once until a process is killed: a person waits no longer."""


class Entrant(Struct):
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
        return self.lane.label

    def start(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: Path) -> None:
        """Start its loop. Raises OSError."""
        self.began = time.monotonic()
        self.child = Child(argv, cwd=cwd, env=env, log=log)

    def take(self, ready: Iterable[int], hear: EventHandler) -> bool:
        """Take in what its loop sent, and return whether the loop has exited."""
        assert self.child is not None, "it was started"
        self._hear(self.child.read(ready), hear)
        return self.child.over(ready)

    def finish(self, hear: EventHandler) -> LaneEnd:
        """Return how it ended, once its loop has exited."""
        assert self.child is not None, "it was started"
        lines, code, errors = self.child.end()
        self._hear(lines, hear)
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
        """Ask for its end at once, and kill it if that takes too long. None is for one that sees a stop file itself.

        SIGINT is sent again each time: a process that gets two at once sees one.
        """
        now = time.monotonic()
        if self.kill_at is None:
            self.kill_at, self.why = now + END_SECONDS, why
        if now >= self.kill_at:
            if self.child:
                self.child.signal(signal.SIGKILL)
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

    def _hear(self, lines: Iterable[bytes], hear: EventHandler) -> None:
        for line in lines:
            document = parse_event_line(line)
            if document is not None:
                event = decode_event(document)
                self.lane = self.lane.apply(event) if event else self.lane
                hint = text_at(document, "error", "hint")  # of a run that was refused
                self.lane = replace(self.lane, hint=hint or self.lane.hint)
                hear(document, event)


def listen(
    running: Mapping[str, Entrant],
    stop: Stop,
    hear: Callable[[str, Mapping[str, Any], Event | None], None],
    seconds: float = POLL_SECONDS,
) -> Iterator[tuple[str, LaneEnd]]:
    """Wait for what these loops send, let `hear` have it with their names, and yield those that have exited."""
    loops = [each.child for each in running.values() if each.child]
    ready = wait_for_ready(loops, () if stop.now else (stop.fileno(),), seconds)
    for name, each in list(running.items()):
        heard = partial(hear, name)
        if each.take(ready, heard):
            yield name, each.finish(heard)


def _find_last_words(errors: str) -> str:
    """Return what a process said last; of an error of aigon's own, which has several lines, the first one."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    own = [line for line in lines if line.startswith("aigon: ")]
    return (own or lines or [""])[-1]


EventDocument = Mapping[str, Any]
_ADDED = ("schema_version", "error", "success")
"""The fields of a line that are not the event's own."""


def parse_event_line(line: bytes) -> EventDocument | None:
    """Return the document on a line; None for anything that is no event."""
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) and isinstance(document.get("event"), str) else None


def decode_event(document: EventDocument) -> Event | None:
    """Return the event that `aigon.journal.sinks` encoded; None for one that this version does not know."""
    fields = {key: value for key, value in document.items() if key not in _ADDED}
    detail = fields.pop("outcome_detail", None)
    if isinstance(detail, dict):
        fields["outcome"] = {"kind": fields.get("outcome"), **detail}
    try:
        return decode(fields)
    except (ValueError, RecursionError):
        return None


def list_entrants(home: Path | None, candidates: Sequence[Candidate], resume: Collection[str]) -> list[Entrant]:
    """Return everybody, in the order in which they were named."""
    return [Entrant(_begin_lane(home, each, each.label in resume), each.label in resume) for each in candidates]


def find_followers(home: Path | None, everybody: Sequence[Entrant]) -> tuple[str, frozenset[str]]:
    """Return who assesses the base first, and who waits for that: the assessment is the same for all, and remembered.

    A resumed candidate does not wait, and none does if the candidates may have different bases.
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
    """Return a lane with what a run that is resumed came to so far."""
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
    """Return what its journal says. A damaged one is for its own loop to refuse."""
    try:
        return replay(registry.candidate_records(home, candidate).each()) if home else None
    except (AigonError, OSError):
        return None


OWN = (
    "feature", "loop", "resume", "agents", "worktree", "parallel", "first_proven", "arena", "time_left", "line_up",
    "judge_model", "judge_agent", "sources",
)  # fmt: skip
"""Options that each loop gets in its own way, and not as they were given."""


def build_command_line(candidate: Candidate, options: Options, *, resume: bool) -> list[str]:
    """Return the command line that starts the loop of `candidate`."""
    how = ["--resume"] if resume else ["--loop"] if options.loop else []
    words = [*how, "--agent", candidate.agent, "--worktree", "--json", *forward_options(options)]
    return [sys.executable, "-P", "-m", "aigon", "feature-implement", *words, "--", candidate.feature]


def forward_options(options: Options) -> list[str]:
    """The options that hold for all loops, as words. Each loop reads variables itself."""
    words: list[str] = []
    for name, value in asdict(options).items():
        if name not in OWN and value != DEFAULTS[name] and options.sources.get(name) != "environment":
            words += spell_option(name, value)
    if options.accept_spec and not options.yes:
        words.append("--yes")  # who may accept it was asked before; a loop without a terminal cannot ask again
    return words


def build_environment(folder: Path, left: float | None) -> Mapping[str, str]:
    """This process's own, with the folder that all share, and the seconds that are `left` for the loop.

    The loop ends when this process is gone.
    """
    time = {} if left is None else {"AIGON_ARENA_LEFT": str(left)}
    return {**os.environ, "AIGON_ARENA": str(folder), "AIGON_ARENA_STDIN": "1", **time}
