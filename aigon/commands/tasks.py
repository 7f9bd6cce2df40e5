"""`aigon tasks`: the criteria of a feature as work to do."""

import click

from aigon.commands.common import answer, here, json_option
from aigon.commands.completers import complete_agents, complete_features

STATES = ("pending", "in_progress", "completed")


@click.command("tasks")
@click.argument("feature", metavar="ID", shell_complete=complete_features)
@click.option("--agent", metavar="NAME", shell_complete=complete_agents, help="Choose one of several agents.")
@click.option("--status", "statuses", multiple=True, type=click.Choice(STATES), help="List only those; repeat it.")
@click.option("--format", "form", type=click.Choice(("table", "json", "toon")), default="table", show_default=True,
              help="Print a table for people, JSON, or TOON, which needs aigon[toon].")  # fmt: skip
@json_option
def command(feature: str, agent: str | None, statuses: tuple[str, ...], form: str, as_json: bool) -> int:
    """See the criteria of feature ID as tasks: open, in progress or completed, and why one is open again.

    Tasks follow from what aigon saw in the last run, and from nothing that an agent says. Before the first run all are
    pending.

    Exit codes: 0, 2 there is no such feature or no run of that agent, 7 its record is damaged or the extra is missing.
    """
    from aigon.api import open_project
    from aigon.journal.tasks import build_tasks_document

    with here() as checkout:
        found = open_project(checkout.root).tasks(feature, agent)
    if form == "table" or as_json or form == "json":
        from aigon.views.tasks import render_tasks

        document = build_tasks_document(found, statuses)
        answer(document, render_tasks(found, statuses), as_json or form == "json")
        return 0
    from aigon.journal.tasks import build_tasks_table
    from aigon.spec.prd import render_prd

    print(render_prd(build_tasks_table(found, statuses)), end="")
    return 0
