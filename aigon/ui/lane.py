"""One run as pages show it: a fold of its journal and of what its agent does, in bounded memory."""

import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from aigon.api.runs import is_running
from aigon.api.watch import tail_run
from aigon.errors import AigonError, explain_error
from aigon.fleet.lease import CellSummary
from aigon.fleet.plan import read_note
from aigon.journal import events
from aigon.journal.account import count_changed_lines
from aigon.journal.events import Event
from aigon.journal.records import Records
from aigon.model.checks import Finding
from aigon.model.criteria import Promise
from aigon.model.failures import has_failed
from aigon.model.outcomes import get_status
from aigon.model.turns import CostStatus, Step
from aigon.records.portable import format_name
from aigon.text.quoting import clip, fold
from aigon.views.terminal.events import IterationCount, criterion_number
from aigon.views.terminal.lines import TurnProgress
from aigon.views.terminal.scene import Scene

ROWS = 200
"""Iterations that are kept: the newest."""
ALIVE = 0.5
"""Seconds after which the lock of a quiet run is looked at again."""
_GONE = (0, 0, 0)


class IterationRow(Struct, frozen=True):
    """An iteration in short: `checks` without their problems.

    `before` is the commit that it began at; `undone`: the branch went back.
    """

    number: int
    before: str
    commit: str = ""
    proven: int = 0
    total: int = 0
    checks: dict[str, Finding] = field(default_factory=dict)
    failures: tuple[str, ...] = ()
    promises: tuple[Promise, ...] = ()
    files: int = 0
    added: int = 0
    removed: int = 0
    agent: str = ""
    model: str = ""
    end: str = ""
    said: str = ""
    cost: float | None = None
    cost_status: CostStatus = "unknown"
    seconds: float = 0.0
    undone: bool = False


class Lane(Struct):
    """The newest run of a feature under one label; "" is the solo branch. `problem` says why it cannot be read.

    `changes` counts what was taken in. `answers` are the findings on the commands of criteria, by number. `cell` is
    what a fleet knows of a run elsewhere.
    """

    feature: str
    label: str
    records: Records
    changes: int = 0
    problem: str = ""
    running: bool = False
    started: events.RunStarted | None = None
    scene: Scene = field(default_factory=lambda: Scene(""))
    texts: dict[int, str] = field(default_factory=dict)
    answers: dict[int, Finding] = field(default_factory=dict)
    turn: TurnProgress = field(default_factory=TurnProgress)
    rows: dict[int, IterationRow] = field(default_factory=dict)
    last: events.IterationFinished | None = None
    cell: CellSummary | None = None
    _items: Iterator[Event | Step | bytes | None] | None = None
    _read: tuple[int, int, int] = _GONE
    _asked: float = 0.0
    _is_alive: bool = False

    @property
    def name(self) -> str:
        """Its name for people."""
        return self.label or (self.started.agent if self.started else "solo")

    @property
    def is_elsewhere(self) -> bool:
        """True if only a fleet knows of it: its record was not fetched, and nothing can be done with it here."""
        return self.cell is not None and self.started is None

    @property
    def status(self) -> str:
        """`running`, `broken_off`, `not_started`, or how the run ended."""
        if self.cell and self.is_elsewhere:
            return self.cell.status if self.running or self.cell.status != "running" else "broken_off"
        if self.running or not self.started:
            return "running" if self.running else "not_started"
        return get_status(self.scene.end.outcome) if self.scene.end else "broken_off"

    @property
    def commit(self) -> str:
        """The commit of the last iteration that counts, else the one that the run began at."""
        kept = [row.commit for row in self.rows.values() if row.commit and not row.undone]
        return kept[-1] if kept else self.started.head if self.started else ""

    @property
    def seconds(self) -> float:
        """The seconds it has been running, or ran, since its last start."""
        if self.cell and self.is_elsewhere:
            return self.cell.seconds
        last = self.scene.end.at if self.scene.end else self.last.at if self.last else ""
        return max(0.0, _find_epoch(last) - self.scene.began) if last and self.scene.began else 0.0

    def update(self, root: Path, home: Path) -> bool:
        """Take in what has come, from the journal's beginning if it is another one or went on; whether anything has."""
        now = _identify(self.records.journal)
        if now == _GONE and not self.started:
            return self._take_cell(home)
        if self._items is None and now == self._read and not self.running:
            return False
        before = self.changes, self.running, self.problem
        clock = time.monotonic()
        if now != self._read or clock - self._asked > ALIVE:
            self._asked, self._is_alive = clock, is_running(home, self.feature, self.label, self.records.journal)
        self.running = self._is_alive
        if self._items is None and now not in (self._read, _GONE):
            self._begin(root)
        if self._items is not None:
            self._take_all()
        self._read = now
        self.running = self.running and self.scene.end is None  # its process may live on for a moment
        if now == _GONE and self.started:
            self.problem = "The journal of this run is gone from aigon's state directory."
        return before != (self.changes, self.running, self.problem)

    def _take_cell(self, home: Path) -> bool:
        """Take in what a fleet says of a run whose record was not fetched; whether that is new."""
        note = read_note(home)
        cell = note.cells.get(format_name(self.feature, self.label))
        is_running = cell is not None and cell.status == "running" and note.is_running
        if cell is None or (cell, is_running) == (self.cell, self.running):
            return False
        self.cell, self.running, self.changes = cell, is_running, self.changes + 1
        self.scene = replace(
            self.scene, place=IterationCount(cell.iterations), total=cell.total, earlier_met=cell.met, spend=cell.spend,
            phase=f"at work on {cell.worker}", phase_began=self.scene.phase_began or time.time(),
            began=self.scene.began or time.time(),
        )  # fmt: skip
        self.problem = "" if cell.status in ("running", "met") else cell.said
        return True

    def _begin(self, root: Path) -> None:
        fresh = Lane(self.feature, self.label, self.records, self.changes + 1)
        for name in ("changes", "problem", "started", "scene", "texts", "answers", "turn", "rows", "last"):
            setattr(self, name, getattr(fresh, name))
        self._items = tail_run(root, self.records.journal, lambda: self._is_alive)

    def _take_all(self) -> None:
        try:
            for item in self._items or ():
                if item is None:
                    return
                self.changes += 1
                if isinstance(item, Step):
                    self.turn = self.turn.add(item)
                elif not isinstance(item, bytes):
                    self._apply(item)
        except AigonError as error:
            self.problem = explain_error(error)
        except OSError as error:
            self.problem = f"The journal cannot be read: {error.strerror}"
        self._items = None

    def _apply(self, event: Event) -> None:
        self.scene = self.scene.apply(event, _find_epoch(event.at))
        match event:
            case events.RunStarted():
                self.started, self.scene = event, replace(self.scene, end=None)
            case events.IterationStarted():
                self.turn = TurnProgress()
            case events.CriterionJudged():
                self.texts[event.verdict.criterion] = event.text
            case events.CheckFinished() if (number := criterion_number(event.finding.check)) is not None:
                self.answers[number] = event.finding
            case events.TurnEnded(turn=turn):
                row = IterationRow(
                    turn.number, self.commit, agent=turn.agent, model=turn.model, end=turn.end,
                    said=clip(turn.said, 4000), cost=turn.cost, cost_status=turn.cost_status, seconds=turn.duration,
                )  # fmt: skip
                self._keep(row)
            case events.IterationFinished():
                self._finish(event)
            case events.RolledBack():
                for row in [each for each in self.rows.values() if each.number > event.number]:
                    self.rows[row.number] = replace(row, undone=True)

    def _finish(self, event: events.IterationFinished) -> None:
        self.last, failures = event, list[str]()
        for finding in filter(has_failed, event.findings):  # the first words of what failed, a line each
            failures.append(fold(f"{finding.title}: {finding.summary or finding.status}", 200))
            for problem in finding.problems[:3]:
                place = f"{problem.file}:{problem.line} " if problem.file else ""
                failures.append(fold(f"{place}{problem.message}", 240))
        known = self.rows.get(event.number) or IterationRow(event.number, self.commit)
        files, (added, removed) = len(event.changes), count_changed_lines(event.changes)
        if not event.changes:  # a second assessment of an iteration keeps the changes of the first
            files, added, removed = known.files, known.added, known.removed
        self._keep(
            replace(
                known,
                commit=event.checkpoint or known.commit,
                proven=sum(verdict.status == "met" for verdict in event.verdicts),
                total=len(event.verdicts),
                checks={
                    each.check: replace(each, summary=fold(each.summary, 120), problems=(), excerpt="")
                    for each in event.findings
                    if criterion_number(each.check) is None
                },
                failures=tuple(failures),
                promises=event.promises,
                files=files,
                added=added,
                removed=removed,
            )
        )

    def _keep(self, row: IterationRow) -> None:
        self.rows[row.number] = row
        while len(self.rows) > ROWS:
            self.rows.pop(next(iter(self.rows)))


def list_lanes(home: Path | None) -> Iterator[Lane]:
    """Yield a lane for every feature and label of which there are records, nothing of it read yet."""
    for folder in sorted(home.glob("features/*/")) if home else ():
        records = Records(folder)
        candidate = records.candidate()
        feature, label = (candidate.feature, candidate.label) if candidate else (folder.name, "")
        yield Lane(feature, label, records)


def _identify(file: Path) -> tuple[int, int, int]:
    """Return what differs once a file was replaced or written to; zeros without a file."""
    try:
        about = file.stat()
    except OSError:
        return _GONE
    return about.st_ino, about.st_size, about.st_mtime_ns


def _find_epoch(at: str) -> float:
    try:
        return datetime.fromisoformat(at).timestamp()
    except ValueError:
        return 0.0
