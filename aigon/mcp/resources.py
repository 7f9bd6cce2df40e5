"""Features as documents for clients that read resources, and who is told when one of them changes."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from mcp.server import MCPServer
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourceUpdated, ServerEvent

from aigon.mcp.tools import TaskTools
from aigon.spec.features import ROOT

ALL = "aigon://features"
_INTERVAL = 1.0
"""Seconds between looks for changes, while a client listens."""

Stamp = tuple[int, int]


class CountingBus(InMemorySubscriptionBus):
    """A bus that knows whether anybody listens."""

    def __init__(self) -> None:
        super().__init__()
        self.listeners = 0

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Register `listener` and return what takes it out again."""
        remove = super().subscribe(listener)
        self.listeners += 1
        is_over = False

        def unsubscribe() -> None:
            nonlocal is_over
            remove()
            self.listeners -= not is_over
            is_over = True

        return unsubscribe


def add_resources(server: MCPServer[Any], tools: TaskTools) -> None:
    """Add the list of features, and status, report and journal of each."""

    @server.resource(ALL, mime_type="application/json", title="Features")
    def features() -> str:
        """Every feature of every project that this server serves."""
        tasks = [tools.list_tasks(each.project_id).tasks for each in tools.list_projects().projects]
        return json.dumps([task.model_dump() for listed in tasks for task in listed], ensure_ascii=False)

    @server.resource(ALL + "/{task_id}", mime_type="application/json", title="Status of a feature")
    def status(task_id: str) -> str:
        """Criteria with verdicts and evidence, runs, and why they stopped."""
        return tools.get_task(task_id).model_dump_json()

    @server.resource(ALL + "/{task_id}/report", mime_type="text/markdown", title="Report on a feature")
    def report(task_id: str) -> str:
        """The report on a feature as a page: evidence and cost."""
        project, name = tools.served.find_task(task_id)
        return project.report(name, "md").text

    @server.resource(ALL + "/{task_id}/journal", mime_type="application/x-ndjson", title="Journal of a feature")
    def journal(task_id: str) -> str:
        """Every event of the last run, one JSON document a line."""
        from aigon.journal.replay import encode

        project, run = tools.find_run(task_id)
        events = project.follow(run, is_cancelled=lambda: True)
        return "".join(f"{json.dumps(encode(each), ensure_ascii=False)}\n" for each in events)


@asynccontextmanager
async def announce_changes(bus: CountingBus, tools: TaskTools) -> AsyncIterator[None]:
    """Publish what changed while a client listens: a feature's state file, and the specs that there are."""

    async def watch() -> None:
        before: dict[str, Stamp] = {}
        while True:
            now = await anyio.to_thread.run_sync(lambda: dict(_list_stamps(tools))) if bus.listeners else {}
            changed = [uri for uri in now if before and before.get(uri) != now[uri]]
            for uri in [*changed, *([ALL] if changed or (before and before.keys() - now.keys() and now) else [])]:
                await bus.publish(ResourceUpdated(uri=uri))
            before = now
            await anyio.sleep(_INTERVAL)

    async with anyio.create_task_group() as group:
        group.start_soon(watch)
        yield
        group.cancel_scope.cancel()


def _list_stamps(tools: TaskTools) -> Iterator[tuple[str, Stamp]]:
    """Yield the address of each document with what tells that its content is another one."""
    for project in tools.served.open_all():
        for file in sorted((project.root / ".aigon").glob("loop-state-*.json")):
            name = tools.served.name_task(project, file.stem.removeprefix("loop-state-").partition("-")[0])
            for part in ("", "/report", "/journal"):
                yield f"{ALL}/{name}{part}", _stamp(file)
        for file in sorted(project.root.glob(f"{ROOT}/*/feature-*.md")):
            yield f"file:{file}", _stamp(file)


def _stamp(file: Path) -> Stamp:
    try:
        found = file.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size
