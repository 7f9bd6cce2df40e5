"""`aigon run start`: build the features of the backlog, one after the other."""

import click

from aigon.commands.common import Dollars, json_option
from aigon.commands.completers import complete_agents
from aigon.commands.watch import make_teller, open_queue
from aigon.job.options import Options


@click.command("start")
@click.option("--max-iterations", type=click.IntRange(1, 20), default=20, show_default=True, metavar="N",
              help="Stop after so many turns, over all features.")  # fmt: skip
@click.option("--max-cost", type=Dollars(), metavar="USD", help="Stop when all loops have spent so much.")
@click.option("--agent", shell_complete=complete_agents, metavar="NAME", help="Name the agent.")
@json_option
def command(max_iterations: int, max_cost: float | None, agent: str | None, as_json: bool) -> int:
    """Build what an earlier start left unfinished, then the backlog by priority and ID, each in a worktree and a loop.

    A feature waits until those in its depends_on are merged. The limits count over all features of this invocation;
    the next one starts counting anew, and goes on where this one stopped. `aigon stop queue` stops it.

    Exit codes: 0 all are proven, else the first of 130, 143, 7, 2, 1, 6, 5, 4, 3 that applies.
    """
    from aigon.job.options import get_limit
    from aigon.queue.start import QueueRunner, StartOptions

    with open_queue("queue") as (main, config, stop):
        limit = max_cost or get_limit(config, Options(feature=""), "max_cost")
        options = StartOptions(max_iterations, limit, agent or "")
        return QueueRunner(main, config, options, stop, make_teller(as_json)).run()
