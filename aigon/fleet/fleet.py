"""Run all cells of a fleet: as many at a time as workers have places, under one limit, until each has ended."""

import json
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, convert, to_builtins
from msgspec.structs import replace

from aigon.arena.lane import combine_exit_codes
from aigon.errors import AigonError, Exit, environment
from aigon.files.atomic import write_atomic
from aigon.fleet.cluster import SLOTS, TOPIC, list_workers, name_stop, run_task
from aigon.fleet.order import CellOrder, CellSummary, format_label
from aigon.fleet.plan import FleetPlan
from aigon.process.stop import Stop

if TYPE_CHECKING:
    from distributed import Client, Future

NOTE = "fleet.json"
"""In the home of a repository: how to reach the fleet that runs."""
JOIN = 30.0
"""Seconds in which at least one worker has to be there."""
Hear = Callable[[str, CellSummary], object]


class FleetNote(Struct, frozen=True):
    """The fleet that runs: its name, and the address of its scheduler."""

    id: str
    address: str


class FleetEnd(Struct, frozen=True):
    """What every cell came to, by name, and one exit code for all."""

    cells: Mapping[str, CellSummary]
    exit_code: int
    proven: int
    usd: float


def run_fleet(client: "Client", plan: FleetPlan, home: Path, stop: Stop, hear: Hear) -> FleetEnd:
    """Run the cells of `plan` on the workers of `client`. `hear` is told of each step of a cell.

    Raises AigonError (exit 7) if no worker can do a cell, or the scheduler is gone.
    """
    from distributed.client import FuturesCancelledError
    from distributed.comm.core import CommClosedError

    note, address = home / NOTE, find_address(client)
    write_atomic(note, json.dumps(to_builtins(FleetNote(plan.id, address))).encode() + b"\n")
    try:
        return _Fleet(client, plan, stop, hear).run()
    except (CommClosedError, ConnectionError, FuturesCancelledError) as error:
        what = "The scheduler is gone; nothing that was pushed is lost"
        raise environment(what, where=address, hint="Start it, and run the same command again") from error
    finally:
        note.unlink(missing_ok=True)


class _Fleet:
    """The cells that wait, that workers have, and that have ended."""

    def __init__(self, client: "Client", plan: FleetPlan, stop: Stop, hear: Hear) -> None:
        from distributed import Event

        self._client, self._plan, self._stop, self._hear = client, plan, stop, hear
        self._address = find_address(client)
        self._asked = Event(name_stop(plan.id), client=client)
        done = {name: note.summary for name, note in plan.notes.items() if note.summary.status == "met"}
        self._ended: dict[str, CellSummary] = done
        self._waiting = deque(name for name in plan.orders if name not in done)
        self._running: dict[str, Future[Any]] = {}
        self._set_aside: dict[str, float] = {}

    def run(self) -> FleetEnd:
        for name, summary in self._ended.items():
            self._hear(name, summary)
        if self._waiting:
            self._require_workers()
        self._client.subscribe_topic(TOPIC, self._take_event)
        while self._waiting or self._running:
            if self._stop.asked and not self._asked.is_set():
                self._asked.set()
            if self._asked.is_set():
                self._leave_out("stopped before it began", Exit.STOPPED)
            self._submit()
            self._collect()
        return self._finish()

    def _require_workers(self) -> None:
        """Wait for a worker, and refuse agents that none has and workers that have another aigon."""
        deadline = time.monotonic() + JOIN
        while not (workers := list_workers(self._client)) and time.monotonic() < deadline:
            time.sleep(0.2)
        needed = {order.kind: order for order in self._plan.orders.values()}
        lacking = [kind for kind, each in needed.items() if not any(_label(each) in has for has in workers.values())]
        if lacking or not workers:
            listed = "; ".join(f"{name}: {', '.join(has)}" for name, has in workers.items()) or "there is no worker"
            what = f"No worker can run {', '.join(lacking)} with aigon {next(iter(needed.values())).aigon}"
            hint = f"aigon fleet worker {self._address}   # where it can; aigon doctor says what a machine lacks"
            raise environment(what, where=listed, hint=hint)
        for name, has in workers.items():
            if not any(_label(each) in has for each in needed.values()):
                self._hear(name, CellSummary("refused", said=f"this worker has {', '.join(has)}: it gets no cell"))

    def _take_event(self, event: Any) -> None:
        document = dict(event[1]) if isinstance(event, tuple | list) else dict(event)
        if document.pop("fleet", "") == self._plan.id:
            name = document.pop("cell")
            if name in self._running:
                self._hear(name, convert(document, CellSummary))

    def _submit(self) -> None:
        """Give cells to workers that have a place; none waits in the scheduler, where a kill would count against it."""
        places = int(sum(has.get(SLOTS, 0) for has in list_workers(self._client).values()))
        while self._waiting and len(self._running) < places:
            name = self._waiting.popleft()
            money = self._share()
            if money <= 0:
                self._ended[name] = CellSummary("not_started", int(Exit.SPENT), "the fleet's money is spent")
                continue
            order = replace(self._plan.orders[name], fleet=self._plan.id, money=money + self._spent(name))
            self._set_aside[name] = order.money
            self._running[name] = self._client.submit(
                run_task, to_builtins(order), resources={SLOTS: 1, _label(order): 1}, pure=False
            )

    def _spent(self, name: str) -> float:
        """Return what is known that a cell spent, in this fleet or an earlier one."""
        noted = self._plan.notes.get(name)
        return (self._ended.get(name) or (noted.summary if noted else CellSummary())).spend.usd

    def _share(self) -> float:
        """Return what a cell may spend: its share, with all that wait, of what is left. So the limit always holds."""
        idle = {*self._plan.orders} - {*self._set_aside}
        taken = sum(self._set_aside.values()) + sum(self._spent(name) for name in idle)
        return (self._plan.limit - taken) / (len(self._waiting) + 1)

    def _collect(self) -> None:
        from distributed import TimeoutError as NotYet
        from distributed import wait

        if not self._running:
            return
        try:
            done = wait(list(self._running.values()), timeout=0.5, return_when="FIRST_COMPLETED").done
        except NotYet:
            return
        for name, future in list(self._running.items()):
            if future in done:
                del self._running[name], self._set_aside[name]
                self._end(name, future)

    def _end(self, name: str, future: "Future[Any]") -> None:
        if future.status == "finished":
            summary = convert(future.result(), CellSummary)
        elif future.status in ("cancelled", "lost"):
            raise ConnectionError("the scheduler forgot a cell")
        else:
            summary = CellSummary(
                "broken_off", int(Exit.INTERNAL), f"its workers were lost: {future.exception()}"[:500]
            )
        self._ended[name] = summary
        self._hear(name, summary)
        if summary.status == "lost" and not self._asked.is_set():
            self._waiting.append(name)

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


def read_note(home: Path) -> FleetNote:
    """Return how to reach the fleet that runs. Raises AigonError (exit 7) if none was started here."""
    try:
        return convert(json.loads((home / NOTE).read_bytes()), FleetNote)
    except (OSError, ValueError, AigonError):
        raise environment("No fleet was started in this repository", where=str(home / NOTE),
                          hint="aigon fleet run 42 43 --agents claude --max-cost 20") from None  # fmt: skip


def stop_fleet(client: "Client", note: FleetNote) -> None:
    """Ask every cell to finish its iteration and push it, and let no other begin."""
    from distributed import Event

    Event(name_stop(note.id), client=client).set()
