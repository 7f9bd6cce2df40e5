"""`aigon fleet`: many features and agents on many machines."""

import click

from aigon.commands.lazy import LazyGroup

VERBS: dict[str, tuple[str, str]] = {
    "run": ("fleet.run", "Build features, each with each agent, under one limit."),
    "status": ("fleet.status", "See what each cell came to, from the remote."),
    "stop": ("fleet.stop", "Let every cell finish its iteration, then end."),
    "worker": ("fleet.worker", "Let this machine work for a scheduler."),
}
"""For each verb its module in `aigon.commands` and its line in the help."""


@click.group("fleet", cls=LazyGroup, verbs=VERBS)
def command() -> None:
    """Build many features on many machines that share a git remote."""
