"""The work on one cell, on a worker: take the lease and the records, run the agent, push what it comes to."""

import hashlib
import os
import signal
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec.structs import replace

from aigon import __version__
from aigon.arena.entrant import Entrant, build_command_line, list_entrants
from aigon.errors import AigonError, Exit, environment
from aigon.files.home import ensure_home, state_home
from aigon.files.locks import describe_holder, is_locked, lock_file
from aigon.fleet.lease import HOLD, CellOrder, CellSummary, Lease, LostLeaseError
from aigon.git.person import LOCAL_VARIABLES, NO_HOOKS, Checkout
from aigon.git.remote import PushError, Remote
from aigon.job.options import Options
from aigon.journal.events import Event, IterationFinished, IterationStarted
from aigon.journal.records import candidate_records, find_candidates
from aigon.process import children
from aigon.process.running import loop_lock
from aigon.process.start import capture_output
from aigon.process.stop import POLL_SECONDS
from aigon.records.exchange import RUNS, RecordRef, locate_ref, open_remote, plan_push, take_record
from aigon.records.portable import gather_record

RETRY = 5.0
"""Seconds after which a push to a remote that was away is tried again, less for a short lease."""
Tell = Callable[[CellSummary], object]


def work_on_cell(order: CellOrder, owner: str, tell: Tell, is_stopped: Callable[[], bool]) -> CellSummary:
    """Work on a cell until its run has ended, and return what it came to. What goes wrong is an answer, too.

    `tell` is told where it is, `is_stopped` says whether a person asked for its end.
    """
    began = time.monotonic()
    try:
        if order.aigon != __version__:
            what = f"This worker has aigon {__version__}, and the fleet {order.aigon}"
            raise environment(what, where=owner, hint=f"Install aigon {order.aigon} there")
        summary = _Cell(provide_clone(order), order, owner, tell, is_stopped).run()
    except LostLeaseError as error:
        summary = CellSummary("lost", int(Exit.STOPPED), str(error))
    except PushError as error:
        # What one machine cannot fetch, another may have.
        status = {"away": "away", "damaged": "unfit"}.get(error.trouble, "refused")
        summary = CellSummary(status, int(error.code), f"{error}: {error.hint}"[:2000])
    except AigonError as error:
        summary = CellSummary("unfit", int(error.code), f"{error}: {error.hint}"[:2000])
    except (OSError, MemoryError) as error:
        summary = CellSummary("unfit", int(Exit.ENVIRONMENT), f"{type(error).__name__}: {error}"[:2000])
    return replace(summary, worker=owner, seconds=time.monotonic() - began)


def provide_clone(order: CellOrder) -> Checkout:
    """Return this machine's clone of the repository, at the cell's base or further on. Raises AigonError (exit 7)."""
    folder = state_home() / "fleet" / hashlib.sha256(order.url.encode()).hexdigest()[:16]
    clone = folder / "repository"
    folder.mkdir(parents=True, exist_ok=True)
    if not _has_base(clone, order.base):
        with lock_file(folder / "clone.lock", inf):
            _bring_base(clone, order)
    return _open_clone(clone)


@lru_cache(maxsize=8)
def _open_clone(clone: Path) -> Checkout:
    """Return the clone, whose configuration is read once: before an agent of this worker could have altered it."""
    with Checkout.open(clone) as main:
        return main


def _has_base(clone: Path, base: str) -> bool:
    if not (clone / ".git" / "index").exists():
        return False
    head = (clone / ".git" / "HEAD").read_text().strip()
    return head == base or _open_clone(clone).is_ancestor(base, head)


def _bring_base(clone: Path, order: CellOrder) -> None:
    """Clone the repository if it is not here, and check out the cell's base unless the clone is further on."""
    if not clone.exists():
        env = {name: value for name, value in os.environ.items() if name not in LOCAL_VARIABLES}
        with TemporaryDirectory(dir=clone.parent) as draft:  # a worker that is killed leaves no half of a clone
            argv = ("git", "clone", "-q", "--no-checkout", "--", order.url, f"{draft}/repository")
            code, _, err = capture_output(argv, cwd=clone.parent, env={**env, "GIT_TERMINAL_PROMPT": "0"})
            if code:
                said = err.decode(errors="replace").strip()
                raise environment("git clone failed", where=order.url, hint=said)
            Path(draft, "repository").rename(clone)
    if not _has_base(clone, order.base):
        main = _open_clone(clone)
        if not main.commit_of(order.base):
            main.git(*NO_HOOKS, "fetch", "-q", "--no-tags", "origin", "+refs/heads/*:refs/remotes/origin/*")
        lock = clone / ".git" / "index.lock"
        if lock.exists() and not describe_holder(lock):  # of a worker that was killed
            lock.unlink(missing_ok=True)
        main.git(*NO_HOOKS, "checkout", "-q", "--force", "--detach", order.base)


class _Cell:
    """A cell while this worker works on it. `known` is what the remote has of it, by ref."""

    def __init__(
        self, main: Checkout, order: CellOrder, owner: str, tell: Tell, is_stopped: Callable[[], bool]
    ) -> None:
        self._main, self._order, self._owner, self._tell, self._is_stopped = main, order, owner, tell, is_stopped
        self._home = ensure_home(main.common_dir)
        self._remote: Remote = open_remote(main, order.name)
        self._remote.patience = order.lease
        self._ref = locate_ref(order.prefix, "records", order.name)
        lease = locate_ref(order.prefix, "leases", order.name)
        self._lease = Lease(self._remote, lease, order.name, owner, order.lease)
        self._known: dict[str, str] = {}
        self._has_news, self._is_due, self._retry_at = False, False, 0.0
        self._pause = min(RETRY, order.lease / 20)

    def run(self) -> CellSummary:
        if is_locked(loop_lock(self._home, self._order.feature, self._order.label)):
            return CellSummary("held", said="its loop on this machine has not ended yet")
        if answer := self._lease.acquire(self._order.stale, self._ref, f"refs/heads/{self._order.branch}"):
            return answer
        with self._lease.keep():
            self._take()
        entrant = self._start()
        try:
            while not self._listen(entrant):
                self._attend(entrant)
        except BaseException:
            self._end(entrant)
            raise
        return self._finish(entrant)

    def _take(self) -> None:
        """Bring the records here up to those on the remote, which no other machine changes while the lease is held."""
        self._known = self._lease.known
        if self._ref not in self._known:
            raise environment(f"The remote has no record of {self._order.name}", where=self._remote.url)
        theirs = RecordRef(self._order.name, self._ref, self._known[self._ref])
        take_record(self._main, self._remote, theirs, self._known, give_way=True)
        (candidate,) = (
            each for each in find_candidates(self._home, self._order.feature) if each.label == self._order.label
        )
        self._candidate, self._records = candidate, candidate_records(self._home, candidate)

    def _start(self) -> Entrant:
        order, resume = self._order, self._records.has_begun()
        (entrant,) = list_entrants(self._home, [self._candidate], [self._candidate.label] if resume else [])
        options = Options(order.feature, loop=True, max_cost=order.money)
        env = {**os.environ, "AIGON_ARENA_STDIN": str(order.lease * HOLD)}
        log = self._main.root / RUNS / "fleet" / f"{order.name}.err"
        argv = build_command_line(self._candidate, options, resume=resume)
        entrant.start(argv, cwd=self._main.root, env=env, log=log)
        return entrant

    def _listen(self, entrant: Entrant) -> bool:
        assert entrant.child is not None, "it was started"
        ready = children.wait_for_ready([entrant.child], (), POLL_SECONDS)
        before = entrant.lane
        has_ended = entrant.take(ready, self._hear)
        if entrant.lane != before:
            self._tell(replace(_summarise(entrant, "running"), worker=self._owner))
        return has_ended

    def _hear(self, _document: Mapping[str, Any], event: Event | None) -> None:
        if isinstance(event, IterationFinished):
            self._has_news = True
        elif isinstance(event, IterationStarted) and event.number > 1:
            # The base goes with a renewal, the last iteration with the end.
            self._is_due = self._has_news

    def _attend(self, entrant: Entrant) -> None:
        """Push an iteration, or renew the lease; ask the loop to end if a person wants that."""
        if self._lease.is_over:
            raise LostLeaseError(f"The lease of {self._order.name} could not be renewed in time")
        if self._is_stopped():
            entrant.ask(signal.SIGINT)
        if (self._is_due or self._lease.is_due) and time.monotonic() >= self._retry_at:
            try:
                self._push()
                assert entrant.child is not None, "it was started"
                entrant.child.beat()
            except PushError as error:
                if error.trouble != "away":
                    raise
                self._retry_at = time.monotonic() + self._pause

    def _push(self, ended: CellSummary | None = None) -> None:
        """Push branch, record and lease as one; without a new iteration the lease alone."""
        changes = {}
        if self._has_news or ended:
            record = gather_record(self._records, self._candidate, self._main.root / RUNS)
            changes = plan_push(self._remote, record, self._ref, self._known, look=False)
        self._lease.push(changes, ended)
        self._known |= {ref: new for ref, (_, new) in changes.items()}
        self._has_news = self._is_due = False

    def _finish(self, entrant: Entrant) -> CellSummary:
        """Push what the run came to and give the lease back, as often as it takes while the lease lasts."""
        end = entrant.finish(self._hear)
        status = "unfit" if end.exit_code == Exit.ENVIRONMENT else end.status  # no space or memory left, for one
        summary = replace(_summarise(entrant, status), exit_code=end.exit_code, said=end.summary[:1000])
        if end.hint:
            summary = replace(summary, said=f"{summary.said}: {end.hint[:1000]}")
        while True:
            try:
                self._push(summary) if self._records.has_begun() else self._lease.push({}, summary)
                return summary
            except PushError as error:
                if error.trouble != "away":
                    raise
                time.sleep(self._pause)

    def _end(self, entrant: Entrant) -> None:
        """End the loop and its agent at once; what they did stays here."""
        assert entrant.child is not None, "it was started"
        entrant.insist(signal.SIGTERM, why="its lease was lost")
        while not self._listen(entrant):
            entrant.insist(signal.SIGTERM, why="its lease was lost")
        entrant.finish(self._hear)


def _summarise(entrant: Entrant, status: str) -> CellSummary:
    lane = entrant.lane
    return CellSummary(
        status, met=lane.met, total=lane.total, iterations=lane.iterations, spend=lane.spend, commit=lane.commit
    )
