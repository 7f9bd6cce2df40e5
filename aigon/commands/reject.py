"""`aigon reject`: a person decides that criteria are not met."""

import click

from aigon.commands.approve import decide
from aigon.commands.common import json_option, yes_option


@click.command("reject")
@click.argument("feature", metavar="ID")
@click.argument("what", nargs=-1, metavar="CRITERION|RULE...")
@click.option("--why", required=True, help="What is missing: the agent is told.")
@click.option("--agent", help="Whose work, where several agents did the feature.")
@json_option
@yes_option
def command(feature: str, what: tuple[str, ...], why: str, agent: str | None, as_json: bool, yes: bool) -> int:
    """Decide that criteria of feature ID are not met by the last iteration commit; the next iteration is told WHY.

    It shows what is known and asks; --yes does not ask.

    Exit codes: 0 decided, 2 there is no such criterion, 4 nobody said yes.
    """
    return decide("reject", feature, what, why=why, agent=agent, as_json=as_json, yes=yes)
