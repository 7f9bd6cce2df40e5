"""Verbs that build many features on this machine: `aigon watch` and `aigon run start`, and their status."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, get_args

import click
from msgspec import to_builtins

from aigon.commands.common import Dollars, Duration, answer, here, json_events_option, json_option, open_main
from aigon.commands.completers import complete_agents, complete_open_features
from aigon.errors import usage
from aigon.job.options import Options

if TYPE_CHECKING:
    from aigon.config.models import Config
    from aigon.git.person import Checkout
    from aigon.journal.queue import QueueEntry
    from aigon.process.stop import Stop


@click.command("watch")
@click.argument("folders", nargs=-1, metavar="[FOLDER]...", type=click.Path())
@click.option("--once", is_flag=True, help="End when nothing is left to build.")
@click.option(
    "--interval",
    type=Duration(),
    default="5s",
    show_default=True,
    metavar="TIME",
    help="Look for new files this often.",
)
@click.option("--agent", shell_complete=complete_agents, metavar="NAME", help="Choose the agent.")
@click.option("--parallel", type=click.IntRange(min=1), metavar="N", help="Build at most N features at a time.")
@click.option("--max-cost", type=Dollars(), metavar="USD", help="Stop when all loops together have spent this much.")
@click.option("--dry-run", is_flag=True, help="Show what would be started.")
@json_events_option
def watch(
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

    Each feature gets an ID, a branch, a worktree and a loop of its own. This checkout stays as it is, and nothing is
    merged. Decisions for a person wait in `aigon approvals`. Without FOLDER, aigon watches watch.folders, by default
    the backlog.

    A cost limit is required. `aigon stop watch`, Ctrl+C, .aigon/STOP and EMERGENCY_STOP_RALPH stop the loops; the next
    watcher continues them.

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
            nothing = f"Nothing would start. A task is a committed file with `mode: ralph` in {' or '.join(names)}."
            lines = [f"{row['task']}: {row['waits'] or 'starts'}" for row in rows] or [nothing]
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
    from aigon.journal.records import new_run_id
    from aigon.process.running import keep_note
    from aigon.process.stop import Stop
    from aigon.run.invocations import require_outside_a_run

    require_outside_a_run(name)
    with ExitStack() as held:
        main = held.enter_context(open_main())
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
        elif text or (text := _describe_event(data.get("feature", ""), event)):
            print(f"{datetime.now():%H:%M:%S} {text}", flush=True)

    return tell


def _describe_event(feature: str, event: object) -> str:
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


@click.command("start")
@click.option("--max-iterations", type=click.IntRange(1, 20), default=20, show_default=True, metavar="N",
              help="Stop after N turns over all features.")  # fmt: skip
@click.option("--max-cost", type=Dollars(), metavar="USD", help="Stop when all loops together have spent this much.")
@click.option("--agent", shell_complete=complete_agents, metavar="NAME", help="Choose the agent.")
@json_events_option
def start(max_iterations: int, max_cost: float | None, agent: str | None, as_json: bool) -> int:
    """Build the backlog by priority and ID, each feature in a worktree and a loop. Unfinished features come first.

    A feature waits until the features in its depends_on are merged. The limits apply to all features of this command;
    the next start begins to count again and continues where this one stopped. `aigon stop queue` stops it.

    Exit codes: 0 all are proven, else the first of 130, 143, 7, 2, 1, 6, 5, 4, 3 that applies.
    """
    from aigon.job.options import get_limit
    from aigon.queue.backlog import QueueRunner, StartOptions

    with open_queue("queue") as (main, config, stop):
        limit = max_cost or get_limit(config, Options(feature=""), "max_cost")
        options = StartOptions(max_iterations, limit, agent or "")
        return QueueRunner(main, config, options, stop, make_teller(as_json)).run()


@click.command("status")
@click.option("--tail", type=click.IntRange(min=0), default=0, metavar="N", help="Also show the last N steps.")
@json_option
def show_queue(tail: int, as_json: bool) -> None:
    """Show whether `aigon watch` or `aigon run start` is running here, and the result of each task it started.

    Exit codes: 0, 7 the record is damaged.
    """
    from aigon.queue.backlog import read_queue_status

    with open_main() as main:
        found = read_queue_status(main, tail)
    lines = [f"{each.feature}: pid {each.loop.pid}, since {each.since}" for each in found.running]
    lines = lines or ["Neither `aigon watch` nor `aigon run start` runs here."]
    lines += [describe_entry(each) for each in found.entries]
    lines += ["", *(f"{each.at[:19]} {describe_entry(each)}" for each in found.steps)] if found.steps else []
    document = {
        "running": [{"what": each.feature, "pid": each.loop.pid, "since": each.since} for each in found.running],
        "tasks": [to_builtins(each) for each in found.entries],
        "steps": [to_builtins(each) for each in found.steps],
    }
    answer(document, "\n".join(lines), as_json)


def describe_entry(entry: "QueueEntry") -> str:
    from aigon.model.outcomes import describe_status
    from aigon.text.quoting import fold

    about = f" (feature {entry.feature})" if entry.feature and entry.feature != entry.path else ""
    reason = fold(entry.reason, 200)  # of one that has ended it is a sentence that begins with how
    if entry.state == "ended":
        return f"{entry.path}{about}: {reason or describe_status(entry.outcome)}"
    state = "under way" if entry.state == "taken" else "waits for you"
    return f"{entry.path}{about}: {state}{f': {reason}' if reason else ''}"


STATES = ("pending", "in-progress", "done", "skipped", "blocked")


@click.command("tasks")
@click.option(
    "--status", "statuses", multiple=True, type=click.Choice(STATES), help="List only tasks in this state; repeat it."
)
@json_option
def list_queue_tasks(statuses: tuple[str, ...], as_json: bool) -> None:
    """List the criteria of all open features as tasks. `aigon tasks ID` has the history of one feature.

    Skipped: you waived it, or an agent left it to you. Blocked: a run ended without it, or it waits for another
    feature.
    """
    from aigon.queue.backlog import TaskState, list_tasks
    from aigon.views.tasks import render_queue_tasks

    assert get_args(TaskState) == STATES
    with open_main() as main:
        tasks = [each for each in list_tasks(main) if not statuses or each.status in statuses]
    answer({"tasks": [to_builtins(each) for each in tasks]}, render_queue_tasks(tasks), as_json)


@click.command("stop")
@click.argument("feature", metavar="ID", shell_complete=complete_open_features)
@click.argument("agents", metavar="[AGENT]...", nargs=-1, shell_complete=complete_agents)
@click.option("--now", is_flag=True, help="End turns at once, like a second Ctrl+C; nothing is lost.")
@json_option
def stop_loops(feature: str, agents: tuple[str, ...], now: bool, as_json: bool) -> None:
    """Stop the loops on feature ID, or those of the agents named, after their current iteration, like Ctrl+C.

    It finds loops in this checkout, in worktrees and in an arena, from anywhere in the repository. It does not wait for
    their end. `aigon stop watch` and `aigon stop queue` end a watcher and `aigon run start` with their loops. The loops
    end as interrupted (130); --resume continues them. To stop every loop of a repository and keep new ones from
    starting a turn, create the file .aigon/STOP; remove it later.

    Exit codes: 0 the loops were asked to stop, 2 there is no such feature, 7 no loop works on it.
    """
    from aigon.api import open_project
    from aigon.process.running import QUEUES
    from aigon.run.invocations import require_outside_a_run

    require_outside_a_run("stop")
    with here() as checkout:
        asked = open_project(checkout.root).stop(feature, agents, now=now)
    what = "to stop at once" if now else "to finish the iteration and stop"
    name = QUEUES.get(feature, f"feature {asked[0].feature}")
    lines = [f"Asked {name}{f' ({each.label})' if each.label else ''} {what}" for each in asked]
    rows = [{"label": each.label, "run_id": each.run_id, "pid": each.loop.pid, "since": each.since} for each in asked]
    next_ = "Next: aigon run status" if feature in QUEUES else f"Next: aigon feature-status {asked[0].feature}"
    answer({"feature": feature, "now": now, "asked": rows}, "\n".join([*lines, next_]), as_json)
