"""Dask: where the scheduler is, workers with labels for what can work there, and the task that works on a cell."""

import logging
import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import convert, to_builtins

from aigon import __version__
from aigon.errors import environment
from aigon.files.home import state_home
from aigon.fleet.cell import work_on_cell
from aigon.fleet.lease import CellOrder, CellSummary, format_label, name_owner
from aigon.installation import require_extra
from aigon.process.capacity import count_slots
from aigon.run.doctor import diagnose

if TYPE_CHECKING:
    from distributed import Client

SLOTS, TOPIC, MODULE = "agents", "aigon-cells", "aigon.fleet.cluster"
SETTINGS = {
    "distributed.scheduler.allowed-failures": 100,  # how often a cell's worker may be killed
    "distributed.worker.profile.enabled": False,  # looks at each thread 100 times a second
    "distributed.admin.tick.interval": "2s",  # of each process: 50 times a second by default
}
"""Dask's own, here and in the workers that are started from here: what measures tasks of milliseconds would take a
tenth of a core from cells that take minutes."""
TIMEOUT = 20.0
"""Seconds in which a scheduler answers."""


def require_dask() -> None:
    """Set Dask up. Raises AigonError (exit 7) without the extra."""
    require_extra("fleet", "distributed", purpose="A fleet")
    import dask

    dask.config.set(SETTINGS)


def list_resources(slots: int) -> dict[str, float]:
    """Return what a worker here offers: slots, and a label for each type of agent that can work here."""
    kinds = {agent.kind for agent in diagnose(Path.cwd(), os.environ).agents if not agent.problems} | {"command"}
    return {SLOTS: slots, **{format_label(__version__, kind): slots for kind in sorted(kinds) if kind}}


@contextmanager
def open_cluster(address: str, local: int) -> Iterator["Client"]:
    """Yield a client of the scheduler at `address`, or of one in this process with so many `local` workers.

    Raises AigonError (exit 7) if the scheduler does not answer.
    """
    require_dask()
    from distributed import Client, LocalCluster

    for name in ("distributed", "distributed.client"):  # what matters is said in aigon's own words
        logging.getLogger(name).setLevel(logging.CRITICAL)
    if address:
        with _connect(address) as client:
            yield client
        return
    each = max(1, count_slots() // local)
    with (
        LocalCluster(
            n_workers=local,
            threads_per_worker=each,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
            memory_limit=0,
            local_directory=str(_make_folder()),
            resources=list_resources(each),
            preload=[MODULE],
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def _connect(address: str) -> "Client":
    from distributed import Client

    try:
        return Client(address, timeout=TIMEOUT)
    except (OSError, ValueError) as error:
        hint = "dask scheduler   # starts one; then on each machine: aigon fleet worker ADDRESS"
        raise environment(f"The scheduler does not answer: {error}", where=address, hint=hint) from None


def _make_folder() -> Path:
    folder = state_home() / "fleet" / "dask"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def dask_setup(_worker: Any) -> None:
    """Prepare a worker, which Dask calls: Ctrl+C is for who started the fleet, and each cell ends by itself."""
    signal.signal(signal.SIGINT, lambda *_: None)  # what is ignored would be in loops, too, which are asked by it


def serve_worker(address: str, slots: int | None) -> None:
    """Be a worker of the scheduler at `address` until a signal or the scheduler ends it.

    Raises AigonError (exit 7) if the scheduler does not answer.
    """
    require_dask()
    _connect(address).close()
    import asyncio

    from distributed import Nanny

    number = slots or count_slots()

    async def serve() -> None:
        async with Nanny(
            address, nthreads=number, resources=list_resources(number), memory_limit=0, preload=[MODULE],
            local_directory=str(_make_folder()), name=name_owner(),
        ) as nanny:  # fmt: skip
            loop = asyncio.get_running_loop()
            for each in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(each, lambda: asyncio.ensure_future(nanny.close()))
            await nanny.finished()

    asyncio.run(serve())


def list_workers(client: "Client") -> dict[str, Mapping[str, float]]:
    """Return the resources of the workers that are there, by address."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    return {address: each["resources"] for address, each in workers.items()}


def name_stop(fleet: str) -> str:
    return f"aigon-stop-{fleet}"


def run_task(order: dict[str, Any]) -> dict[str, Any]:
    """Work on a cell as a task of Dask; only plain values travel."""
    from distributed import Event, get_client, get_worker

    cell, worker = convert(order, CellOrder), get_worker()
    stop = Event(name_stop(cell.fleet), client=get_client())

    def tell(summary: CellSummary) -> None:
        worker.log_event(TOPIC, {"fleet": cell.fleet, "cell": cell.name, **to_builtins(summary)})

    answer = work_on_cell(cell, f"{worker.name}-{name_owner()}", tell, _Asked(stop).is_stopped)
    return {**to_builtins(answer), "address": worker.address}


class _Asked:
    """Asks the scheduler every few seconds whether a person wants the fleet to end."""

    SECONDS = 2.0

    def __init__(self, stop: Any) -> None:
        self._stop, self._next, self._asked = stop, 0.0, False

    def is_stopped(self) -> bool:
        if not self._asked and time.monotonic() >= self._next:
            self._next = time.monotonic() + self.SECONDS
            self._asked = bool(self._stop.is_set())
        return self._asked
