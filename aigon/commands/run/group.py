"""`aigon run`: work through a list of tasks, and what an agent may ask for meanwhile."""

import click

from aigon.commands.lazy import LazyGroup

VERBS: dict[str, tuple[str, str]] = {
    "start": ("run.start", "Build the features of the backlog, one after the other."),
    "tasks": ("run.tasks", "List the tasks of all open features."),
    "status": ("run.status", "See what was taken up, and what came of it."),
    "done": ("run.done", "Say that a task is done: a claim, or your approval."),
    "skip": ("run.skip", "Leave a task to a person, or waive it."),
    "reset": ("run.reset", "Take that back."),
    "enqueue": ("run.enqueue", "Propose another feature, or create it."),
    "convert": ("run.convert", "Make a spec of a table of tasks."),
}
"""For each verb its module in `aigon.commands` and its line in the help."""


@click.group("run", cls=LazyGroup, verbs=VERBS)
def command() -> None:
    """Work through a list of tasks."""
