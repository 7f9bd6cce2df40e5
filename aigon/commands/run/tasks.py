"""`aigon run tasks`: the criteria of all open features."""

from typing import get_args

import click
from msgspec import to_builtins

from aigon.commands.common import answer, here, json_option

STATES = ("pending", "in-progress", "done", "skipped", "blocked")


@click.command("tasks")
@click.option("--status", "statuses", multiple=True, type=click.Choice(STATES), help="List only those; repeat it.")
@json_option
def command(statuses: tuple[str, ...], as_json: bool) -> int:
    """List the criteria of all open features as tasks. `aigon tasks ID` has the history of one feature.

    Skipped is what you waived or an agent left to you; blocked is what a run ended without, or what waits for another
    feature.
    """
    from aigon.job.seat import open_main_checkout
    from aigon.queue.listing import TaskState, list_tasks
    from aigon.views.tasks import render_queue_tasks

    assert get_args(TaskState) == STATES
    with here() as checkout, open_main_checkout(checkout) as (main, _):
        tasks = [each for each in list_tasks(main) if not statuses or each.status in statuses]
    answer({"tasks": [to_builtins(each) for each in tasks]}, render_queue_tasks(tasks), as_json)
    return 0
