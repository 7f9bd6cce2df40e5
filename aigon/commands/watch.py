"""`aigon watch`: build the task files of a folder as they come."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from aigon.commands.common import Dollars, Duration, answer, here, json_option
from aigon.commands.completers import complete_agents
from aigon.errors import usage
from aigon.job.options import Options

if TYPE_CHECKING:
    from aigon.config.models import Config
    from aigon.git.person import Checkout
    from aigon.process.stop import Stop


@click.command("watch")
@click.argument("folders", nargs=-1, metavar="[FOLDER]...", type=click.Path())
@click.option("--once", is_flag=True, help="End when nothing is left to build now.")
@click.option("--interval", type=Duration(), default="5s", show_default=True, metavar="TIME", help="Look so often.")
@click.option("--agent", shell_complete=complete_agents, metavar="NAME", help="Name the agent.")
@click.option("--parallel", type=click.IntRange(min=1), metavar="N", help="Build so many at a time.")
@click.option("--max-cost", type=Dollars(), metavar="USD", help="Stop when all loops have spent so much.")
@click.option("--dry-run", is_flag=True, help="Show what would be started.")
@json_option
def command(
    folders: tuple[str, ...],
    once: bool,
    interval: float,
    agent: str | None,
    parallel: int | None,
    max_cost: float | None,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Build each task file in FOLDER as soon as a person has committed it: a spec with `mode: ralph`.

    Each gets an ID, a branch, a worktree and a loop of its own; this checkout stays as it is, and nothing is merged.
    What needs a person waits in `aigon approvals`. The folders are those of watch.folders, by default the backlog.

    A cost limit is required. `aigon stop watch`, Ctrl+C, .aigon/STOP and EMERGENCY_STOP_RALPH stop the loops; the next
    watcher goes on with them. --json prints an event per line.

    Exit codes with --once: 0 all are proven, else the first of 7, 2, 1, 6, 5, 4, 3 that one ended with.
    """
    from aigon.job.options import get_limit
    from aigon.queue.folders import resolve_folders
    from aigon.queue.watch import Watcher, WatchOptions

    with open_queue("watch", record=not dry_run) as (main, config, stop):
        limit = max_cost or get_limit(config, Options(feature=""), "max_cost")
        if limit is None:
            hint = "Add --max-cost USD, or guards.maxCost to .aigon/config.json"
            raise usage("A watcher needs a cost limit: a folder that starts agents spends money", hint=hint)
        names = resolve_folders(main.root, folders or config.watch.folders)
        options = WatchOptions(names, limit, interval, agent or "", parallel, once or dry_run)
        watcher = Watcher(main, config, options, stop, make_teller(as_json))
        if dry_run:
            rows = [{"task": due.task.path, "title": due.spec.title, "waits": waits} for due, waits in watcher.plan()]
            lines = [f"{row['task']}: {row['waits'] or 'starts'}" for row in rows] or ["Nothing would start."]
            answer({"tasks": rows}, "\n".join(lines), as_json)
            return 0
        make_teller(as_json)("watching", f"watching {', '.join(names)}", folders=list(names))
        return watcher.run()


@contextmanager
def open_queue(name: str, *, record: bool = True) -> "Iterator[tuple[Checkout, Config, Stop]]":
    """Open the main checkout for a queue, of which a repository has one at a time, known to `doctor` and `stop`.

    Raises AigonError: exit 4 inside of a loop, exit 7 if another one runs or the checkout is not fit.
    """
    from contextlib import ExitStack, closing

    from aigon.config.loading import load_configuration, open_work_tree
    from aigon.files.home import ensure_home
    from aigon.files.locks import hold_lock
    from aigon.job import branch
    from aigon.job.seat import open_main_checkout
    from aigon.journal.records import new_run_id
    from aigon.process.running import keep_note
    from aigon.process.stop import Stop
    from aigon.run.authority import require_outside_a_run

    require_outside_a_run(name)
    with ExitStack() as held:
        checkout = held.enter_context(here())
        main, _ = held.enter_context(open_main_checkout(checkout))
        home = ensure_home(main.common_dir)
        stop = held.enter_context(closing(Stop()))
        if record:
            branch.require_sound(main)
            branch.require_configuration(main)
            held.enter_context(hold_lock(home / "locks" / "queue.lock", "The queue of this repository"))
            note = held.enter_context(keep_note(home, new_run_id(), "", name, ""))
            stop.requests = (note.request,) if note.request else ()
            branch.ignore_runtime_files(main)
        config = load_configuration(open_work_tree(main.root))
        held.enter_context(stop.handling())
        if config.watch.logs and record:
            branch.exclude_from_git(main, [f"/{config.watch.logs}/"], "logs of watched tasks")
        yield main, config, stop


def make_teller(as_json: bool) -> Callable[..., None]:
    """Return what prints the steps of a queue: a line each, for people or as JSON."""

    def tell(
        kind: str, text: str, *, event: object = None, document: Mapping[str, Any] | None = None, **data: Any
    ) -> None:
        if as_json:
            head = {"schema_version": 1, "event": kind, **({"text": text} if text else {}), **data}
            print(json.dumps({**head, **({"of_run": document} if document else {})}, ensure_ascii=False), flush=True)
        elif text or (text := _describe(data.get("feature", ""), event)):
            print(f"{datetime.now():%H:%M:%S} {text}", flush=True)

    return tell


def _describe(feature: str, event: object) -> str:
    """Return a line on an event of a loop; "" for those that people need not follow."""
    from aigon.journal.events import IterationFinished, IterationStarted

    match event:
        case IterationStarted():
            return f"feature {feature}: iteration {event.number} begins"
        case IterationFinished() if event.number:
            passed = sum(verdict.status == "met" for verdict in event.verdicts)
            return f"feature {feature}: iteration {event.number}: {passed} of {len(event.verdicts)} criteria passed"
        case _:
            return ""
