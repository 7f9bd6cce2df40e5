"""`aigon fleet run`: build features, each with each agent, on the workers of a scheduler or on this machine."""

import sys

import click

from aigon.commands.arena import AGENTS
from aigon.commands.common import Dollars, here
from aigon.commands.completers import complete_open_features
from aigon.commands.help import Command, Option


def run(
    features: tuple[str, ...],
    agents: tuple[str, ...],
    scheduler: str | None,
    local: int | None,
    max_cost: float | None,
    as_json: bool,
) -> int:
    """Build each FEATURE with each agent, as many at a time as the workers have places.

    Branches, records and leases are on the git remote. A worker that is killed loses its lease, and another one goes on
    from what was pushed. Run it again after anything: what is proven stays proven, and the rest goes on.

    Exit codes: 0 all are proven; else the first of 130, 143, 7, 2, 1, 6, 5, 4, 3 that a cell ended with.
    """
    from aigon.errors import usage
    from aigon.files.home import STOP_FILES, ensure_home
    from aigon.fleet.cluster import open_cluster, require_dask
    from aigon.fleet.fleet import run_fleet
    from aigon.fleet.plan import plan_fleet
    from aigon.job.seat import open_main_checkout
    from aigon.process.stop import Stop
    from aigon.run.implement import say
    from aigon.views.terminal.fleet import FleetLines

    if scheduler and local:
        raise usage("A fleet has one scheduler", where="--scheduler, --local", hint="Leave one of them out")
    require_dask()
    with here() as checkout, open_main_checkout(checkout) as (main, _):
        plan = plan_fleet(main, features, agents, max_cost, say)
        lines = FleetLines(sys.stdout, sys.stderr, list(plan.orders), as_json=as_json)
        with open_cluster(scheduler or "", local or 1) as client:
            files = [main.root / name for name in STOP_FILES]
            stop = Stop(files, announce=lambda _: say("each cell finishes its iteration, then the fleet ends"))
            with stop.handling():
                ended = run_fleet(client, plan, ensure_home(main.common_dir), stop, lines.hear)
            stop.close()
        lines.finish(ended)
    return ended.exit_code


command = Command(
    "run",
    callback=run,
    params=[
        click.Argument(["features"], nargs=-1, required=True, metavar="ID...", shell_complete=complete_open_features),
        AGENTS,
        Option(["--scheduler"], metavar="ADDRESS", help="Use the workers of this scheduler, such as tcp://big:8786."),
        Option(["--local"], type=click.IntRange(1, 64), metavar="N",
               help="Start N workers on this machine.  [default: 1]"),
        Option(["--max-cost"], type=Dollars(), metavar="USD",
               help="Spend at most this on all cells together; needed here or as guards.maxCost."),
        Option(["--json", "as_json"], is_flag=True, help="Print one JSON document per line."),
    ],
    help=run.__doc__,
)  # fmt: skip
