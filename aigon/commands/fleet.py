"""`aigon fleet`: many features and agents on many machines."""

import sys
from contextlib import closing

import click

from aigon.commands.arena import AGENTS
from aigon.commands.common import Dollars, answer, here, json_option, open_main
from aigon.commands.completers import complete_open_features
from aigon.commands.help import Command, LazyGroup, Option

VERBS: dict[str, tuple[str, str]] = {
    "run": ("fleet", "Build features, each with each agent, under one limit."),
    "status": ("fleet", "See what each cell came to, from the remote."),
    "stop": ("fleet", "Let every cell finish its iteration, then end."),
    "worker": ("fleet", "Let this machine work for a scheduler."),
}
"""For each verb its module in `aigon.commands` and its line in the help."""


@click.group("fleet", cls=LazyGroup, verbs=VERBS)
def command() -> None:
    """Build many features on many machines that share a git remote."""


def run(
    features: tuple[str, ...],
    agents: tuple[str, ...],
    scheduler: str | None,
    local: int | None,
    max_cost: float | None,
    as_json: bool,
) -> int:
    """Build each feature with each agent, on as many workers as there are.

    Branches, records and leases are on the git remote. If a worker is killed, it loses its lease, and another one
    continues from the last push. You can run the command again at any time: proven cells stay proven, and the others
    continue.

    Exit codes: 0 all are proven; else the first of 130, 143, 7, 2, 1, 6, 5, 4, 3 that a cell ended with.
    """
    from aigon.errors import usage
    from aigon.files.home import STOP_FILES, ensure_home
    from aigon.fleet.cluster import open_cluster, require_dask
    from aigon.fleet.fleet import require_workers, run_fleet
    from aigon.fleet.plan import check_request, take_up
    from aigon.process.stop import Stop
    from aigon.run.implement import say
    from aigon.views.terminal.fleet import FleetLines, FleetLive

    if scheduler and local:
        raise usage("A fleet has one scheduler", where="--scheduler, --local", hint="Leave one of them out")
    require_dask()
    with open_main() as main:
        request = check_request(main, features, agents, max_cost)
        is_live = sys.stdout.isatty() and not as_json
        view = FleetLive(sys.stdout) if is_live else FleetLines(sys.stdout, sys.stderr, as_json=as_json)
        with open_cluster(scheduler or "", local or 1) as client:
            require_workers(client, request.kinds.values(), view.hear)
            plan = take_up(main, request, say)
            files = [main.root / name for name in STOP_FILES]
            stop = Stop(files, announce=lambda _: say("each cell finishes its iteration, then the fleet ends"))
            view.begin(plan.orders)
            with closing(view), closing(stop), stop.handling():
                ended = run_fleet(client, plan, ensure_home(main.common_dir), stop, view.hear)
        view.finish(ended)
    return ended.exit_code


RUN = Command(
    "run",
    callback=run,
    params=[
        click.Argument(["features"], nargs=-1, required=True, metavar="ID...", shell_complete=complete_open_features),
        AGENTS,
        Option(["--scheduler"], metavar="ADDRESS", help="Use the workers of this scheduler, such as tcp://big:8786."),
        Option(["--local"], type=click.IntRange(1, 64), metavar="N",
               help="Start N workers on this machine.  [default: 1]"),
        Option(["--max-cost"], type=Dollars(), metavar="USD",
               help="Spend at most this on all cells together; required here or as guards.maxCost."),
        Option(["--json", "as_json"], is_flag=True, help="Print one JSON document per line."),
    ],
    help=run.__doc__,
)  # fmt: skip


@click.command("status")
@json_option
def show_cells(as_json: bool) -> int:
    """Show the state of each cell and who works on it, as the git remote has it.

    Exit codes: 0 shown, 2 there is no remote, 7 it does not answer.
    """
    from msgspec import to_builtins

    from aigon.fleet.plan import REMOTE, read_leases
    from aigon.records.exchange import open_remote, read_prefix
    from aigon.views.terminal.fleet import render_cells

    with open_main() as main:
        notes = read_leases(open_remote(main, REMOTE), read_prefix(main), ())
    cells = {name: note.summary if note.state == "ended" else None for name, note in sorted(notes.items())}
    text = "\n".join(render_cells({name: (each, notes[name].owner) for name, each in cells.items()}))
    answer({"cells": [to_builtins(note) for _, note in sorted(notes.items())]}, text or "No cell was begun.", as_json)
    return 0


@click.command("stop")
@json_option
def stop(as_json: bool) -> int:
    """Stop the fleet that was started here: every cell finishes its iteration and pushes it; no other cell starts.

    Exit codes: 0 the fleet was asked to stop, 7 no fleet runs, or its scheduler does not answer.
    """
    from aigon.files.home import ensure_home
    from aigon.fleet.cluster import open_cluster
    from aigon.fleet.fleet import stop_fleet
    from aigon.fleet.note import require_running

    with here() as checkout:
        note = require_running(ensure_home(checkout.common_dir))
    with open_cluster(note.address, 0) as client:
        stop_fleet(client, note)
    text = "Asked: each cell finishes its iteration, then ends. Go on: aigon fleet run, with the same words"
    answer({"scheduler": note.address}, text, as_json)
    return 0


@click.command("worker")
@click.argument("address")
@click.option("--slots", type=click.IntRange(1, 1024), metavar="N", help="Work on N cells at a time.  [default: cores]")
def serve(address: str, slots: int | None) -> int:
    """Work for the Dask scheduler at ADDRESS, such as tcp://big:8786, until Ctrl+C.

    The worker offers the agents that `aigon doctor` finds here: a cell runs only where its agent can. Credentials of
    agents and of git are those of this machine.

    Exit codes: 0 ended, 7 the scheduler does not answer, or aigon's extra `fleet` is missing.
    """
    from aigon.fleet.cluster import serve_worker

    serve_worker(address, slots)
    return 0
