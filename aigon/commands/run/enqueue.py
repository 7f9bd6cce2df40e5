"""`aigon run enqueue`: propose or create another feature."""

import click

from aigon.commands.common import json_option
from aigon.commands.feature import create
from aigon.commands.run.ask import leave_note


@click.command("enqueue")
@click.argument("title", nargs=-1, required=True)
@click.option("--priority", type=click.Choice(["high", "medium", "low"]), help="Say how soon it should be built.")
@json_option
@click.pass_context
def command(context: click.Context, title: tuple[str, ...], priority: str | None, as_json: bool) -> int:
    """Put the feature TITLE (a few words) on the list.

    Inside a loop it is a proposal, listed in the summary of the run; the feature at hand stays as it is. Outside of one
    it is `aigon feature-create`.

    Exit codes: 0 noted or created, 2 a feature of that name exists.
    """
    if leave_note("enqueue", as_json, text=" ".join(title), priority=priority or ""):
        return 0
    made: int = context.invoke(create.command, title=title, priority=priority, as_json=as_json)
    return made
