"""Run all cells of a fleet: as many at a time as workers have places, under one limit, until each has ended."""

import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, convert, to_builtins
from msgspec.structs import replace

from aigon import __version__
from aigon.arena.lane import combine_exit_codes
from aigon.errors import Exit, environment
from aigon.fleet.cluster import SLOTS, TOPIC, list_workers, name_stop, run_task
from aigon.fleet.lease import AGAIN, CellOrder, CellSummary, format_label
from aigon.fleet.plan import FleetNote, FleetPlan, update_note, write_note
from aigon.process.stop import Stop

if TYPE_CHECKING:
    from distributed import Client, Future

JOIN = 30.0
"""Seconds in which at least one worker has to be there."""
TRIES = 3
"""Machines that a cell is given to before it counts as refused."""
PAUSE, LOOK = 5.0, 0.5
"""Seconds until a cell is tried again, less for a short lease, and between two looks at what has ended."""
Hear = Callable[[str, CellSummary], object]


class FleetEnd(Struct, frozen=True):
    """The results of all cells, by name, and one exit code for all."""

    cells: Mapping[str, CellSummary]
    exit_code: int
    proven: int
    usd: float


def run_fleet(client: "Client", plan: FleetPlan, home: Path, stop: Stop, hear: Hear) -> FleetEnd:
    """Run the cells of `plan` on the workers of `client`. `hear` is told of each step of a cell.

    Raises AigonError (exit 7) if the scheduler is gone.
    """
    from distributed.client import FuturesCancelledError
    from distributed.comm.core import CommClosedError

    fleet, address = _Fleet(client, plan, home, stop, hear), find_address(client)
    try:
        return fleet.run()
    except (CommClosedError, ConnectionError, FuturesCancelledError) as error:
        what = "The scheduler is gone; nothing that was pushed is lost"
        raise environment(what, where=address, hint="Start it, and run the same command again") from error
    finally:
        update_note(home, plan.id, "", fleet.cells)


def require_workers(client: "Client", kinds: Collection[str], hear: Hear) -> None:
    """Wait for a worker, and name those that get no cell. Raises AigonError (exit 7) for agents that none has."""
    deadline = time.monotonic() + JOIN
    while not (workers := list_workers(client)) and time.monotonic() < deadline:
        time.sleep(LOOK)
    address = "" if client.cluster else find_address(client)  # nobody joins the scheduler of one command
    for name, summary in judge_workers(kinds, workers, address).items():
        hear(name, summary)


def judge_workers(
    kinds: Collection[str], workers: Mapping[str, Mapping[str, float]], address: str
) -> dict[str, CellSummary]:
    """Return the workers that get no cell, by name. Raises AigonError (exit 7) for agents that none has."""
    labels = {kind: format_label(__version__, kind) for kind in kinds}
    if lacking := [kind for kind, label in labels.items() if not any(label in has for has in workers.values())]:
        listed = "; ".join(f"{name}: {', '.join(has)}" for name, has in workers.items()) or "there is no worker"
        what = f"No worker can run {', '.join(lacking)} with aigon {__version__}"
        hint = "aigon doctor   # says what a machine lacks"
        hint = f"{hint}\naigon fleet worker {address}   # on a machine that can" if address else hint
        raise environment(what, where=listed, hint=hint)
    return {
        name: CellSummary("refused", said=f"this worker has {', '.join(has)}: it gets no cell")
        for name, has in workers.items()
        if not {*labels.values()} & {*has}
    }


class _Fleet:
    """The cells that wait, that workers have, and that have ended."""

    def __init__(self, client: "Client", plan: FleetPlan, home: Path, stop: Stop, hear: Hear) -> None:
        from distributed import Event

        self._client, self._plan, self._home, self._stop, self._tell = client, plan, home, stop, hear
        self.cells: dict[str, CellSummary] = {}
        self._noted = 0.0
        self._asked = Event(name_stop(plan.id), client=client)
        done = {name: note.summary for name, note in plan.notes.items() if note.summary.status == "met"}
        self._ended: dict[str, CellSummary] = done
        self._waiting = deque(name for name in plan.orders if name not in done)
        self._running: dict[str, Future[Any]] = {}
        self._set_aside: dict[str, float] = {}
        self._held: dict[str, tuple[str, float]] = {}
        self._due: dict[str, float] = {}
        self._unfit: dict[str, set[str]] = {}
        self._fit: dict[str, set[str]] = {}

    def run(self) -> FleetEnd:
        write_note(self._home, self._plan.id, find_address(self._client), {})
        for name, summary in self._ended.items():
            self._hear(name, summary)
        self._client.subscribe_topic(TOPIC, self._take_event)
        while self._waiting or self._running:
            if self._stop.asked and not self._asked.is_set():
                self._asked.set()
            if self._asked.is_set():
                self._leave_out("stopped before it began", Exit.STOPPED)
            self._take_back()
            self._submit()
            self._collect()
        return self._finish()

    def _hear(self, name: str, summary: CellSummary) -> None:
        """Tell where a cell is, and write it down for pages, once a second."""
        self.cells[name] = summary
        self._tell(name, summary)
        if time.monotonic() - self._noted >= 1:
            self._noted = time.monotonic()
            update_note(self._home, self._plan.id, find_address(self._client), dict(self.cells))

    def _take_event(self, event: Any) -> None:
        document = dict(event[1]) if isinstance(event, tuple | list) else dict(event)
        if document.pop("fleet", "") == self._plan.id:
            name = document.pop("cell")
            if name in self._running:
                self._hear(name, convert(document, CellSummary))

    def _submit(self) -> None:
        """Give cells to workers that have a place; none waits in the scheduler, where a kill would count against it."""
        now = time.monotonic()
        due = [name for name in self._waiting if self._due.get(name, now) <= now]
        workers = list_workers(self._client) if due else {}
        if (cluster := self._client.cluster) and due and len(workers) < len(cluster.worker_spec):
            cluster.scale(len(cluster.worker_spec))  # Dask forgets a worker that takes long to start again
        places = int(sum(has.get(SLOTS, 0) for has in workers.values()))
        for name in due[: max(0, places - len(self._running))]:
            self._waiting.remove(name)
            money = self._share()
            if money <= 0:
                self._ended[name] = CellSummary("not_started", int(Exit.SPENT), "the fleet's money is spent")
                continue
            commit, since = self._held.get(name, ("", now))
            order = self._plan.orders[name]
            stale = commit if now - since >= order.lease else ""
            order = replace(order, fleet=self._plan.id, money=money + self._sum_spent(name), stale=stale)
            self._set_aside[name] = order.money
            if name in self._unfit:
                self._fit[name] = workers.keys() - self._unfit[name]
            self._running[name] = self._client.submit(
                run_task, to_builtins(order), resources={SLOTS: 1, _label(order): 1}, pure=False,
                workers=list(self._fit.get(name, ())) or None,
            )  # fmt: skip

    def _take_back(self) -> None:
        """Let cells wait again that are for certain workers which are all gone: Dask would wait for these forever."""
        bound = [name for name in self._running if self._fit.get(name)]
        workers = list_workers(self._client) if bound else {}
        for name in bound:
            if not self._fit[name] & workers.keys():
                self._running.pop(name).cancel()
                del self._set_aside[name]
                self._waiting.append(name)

    def _sum_spent(self, name: str) -> float:
        """Return what is known that a cell spent, in this fleet or an earlier one."""
        noted = self._plan.notes.get(name)
        return (self._ended.get(name) or (noted.summary if noted else CellSummary())).spend.usd

    def _share(self) -> float:
        """Return what a cell may spend: its share, with all that wait, of what is left. So the limit always holds."""
        idle = {*self._plan.orders} - {*self._set_aside}
        taken = sum(self._set_aside.values()) + sum(self._sum_spent(name) for name in idle)
        return (self._plan.limit - taken) / (len(self._waiting) + 1)

    def _collect(self) -> None:
        from distributed import TimeoutError as NotYet
        from distributed import wait

        if not self._running:
            time.sleep(LOOK)
            return
        try:
            done = wait(list(self._running.values()), timeout=LOOK, return_when="FIRST_COMPLETED").done
        except NotYet:
            return
        for name, future in list(self._running.items()):
            if future in done:
                del self._running[name], self._set_aside[name]
                self._end(name, future)

    def _end(self, name: str, future: "Future[Any]") -> None:
        if future.status == "finished":
            summary = self._judge(name, future.result())
        elif future.status in ("cancelled", "lost"):
            raise ConnectionError("the scheduler forgot a cell")
        else:
            summary = CellSummary(
                "broken_off", int(Exit.INTERNAL), f"its workers were lost: {future.exception()}"[:500]
            )
        self._ended[name] = summary
        self._hear(name, summary)
        if summary.status in AGAIN and not self._asked.is_set():
            # One that is held waits until this very lease has been there for longer than a lease lasts.
            now, lease = time.monotonic(), self._plan.orders[name].lease
            if summary.lease and self._held.get(name, ("", 0.0))[0] != summary.lease:
                self._held[name] = (summary.lease, now)
            self._due[name] = self._held[name][1] + lease if summary.lease else now + min(PAUSE, lease / 20)
            self._waiting.append(name)

    def _judge(self, name: str, answer: dict[str, Any]) -> CellSummary:
        """Return what a cell came to; where a machine was unfit, it is for another one, as long as there is one."""
        summary = convert(answer, CellSummary)
        if summary.status != "unfit":
            return summary
        unfit = self._unfit.setdefault(name, set())
        unfit.add(answer["address"])
        able = {
            address for address, has in list_workers(self._client).items() if _label(self._plan.orders[name]) in has
        }
        return summary if able - unfit and len(unfit) < TRIES else replace(summary, status="refused")

    def _leave_out(self, why: str, code: Exit) -> None:
        for name in self._waiting:
            self._ended[name] = CellSummary("not_started", int(code), why)
        self._waiting.clear()

    def _finish(self) -> FleetEnd:
        cells = {name: self._ended[name] for name in self._plan.orders}
        codes = [each.exit_code for each in cells.values() if each.status != "met"]
        proven = sum(each.status == "met" for each in cells.values())
        code = combine_exit_codes(codes) if codes else int(Exit.MET)
        return FleetEnd(cells, code, proven, sum(each.spend.usd for each in cells.values()))


def find_address(client: "Client") -> str:
    """Return the address of the scheduler."""
    assert client.scheduler is not None, "it is connected"
    return str(client.scheduler.address)


def _label(order: CellOrder) -> str:
    return format_label(order.aigon, order.kind)


def stop_fleet(client: "Client", note: FleetNote) -> None:
    """Ask every cell to finish its iteration and push it, and let no other begin."""
    from distributed import Event

    Event(name_stop(note.id), client=client).set()
