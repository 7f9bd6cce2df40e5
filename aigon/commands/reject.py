"""`aigon reject`: a person decides that criteria are not met."""

import click

from aigon.commands.approve import agent_option, decide
from aigon.commands.common import json_option, yes_option
from aigon.commands.completers import complete_open_features


@click.command("reject")
@click.argument("feature", metavar="ID", shell_complete=complete_open_features)
@click.argument("what", nargs=-1, metavar="CRITERION|RULE...")
@click.option("--why", required=True, metavar="TEXT", help="Tell the agent what is missing.")
@agent_option
@json_option
@yes_option
def command(feature: str, what: tuple[str, ...], why: str, agent: str | None, as_json: bool, yes: bool) -> int:
    """Decide as a person that criteria of feature ID are not met, and tell the agent why.

    The decision is about the last iteration commit; the next iteration is told WHY. It shows what is known and asks;
    with --yes it does not ask.

    Exit codes: 0 decided, 2 there is no such criterion, 4 nobody said yes.
    """
    return decide("reject", feature, what, why=why, agent=agent, as_json=as_json, yes=yes)
