"""`aigon run`: work through a list of tasks, and what an agent may ask for meanwhile."""

import click

from aigon.commands.lazy import LazyGroup

VERBS: dict[str, tuple[str, str]] = {}
"""For each verb its module in `aigon.commands` and its line in the help."""


@click.group("run", cls=LazyGroup, verbs=VERBS)
def command() -> None:
    """Work through a list of tasks."""
