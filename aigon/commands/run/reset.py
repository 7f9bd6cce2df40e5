"""`aigon run reset`: take back what was said or decided about a criterion."""

import click

from aigon.commands.common import json_option, yes_option
from aigon.commands.run.ask import agent_option, decide_tasks, leave_note, tasks_argument


@click.command("reset")
@tasks_argument
@agent_option
@json_option
@yes_option
def command(tasks: tuple[str, ...], agent: str | None, as_json: bool, yes: bool) -> int:
    """Take back what was said of TASK: a criterion, as in 42.1, or 1 on the branch of its feature.

    Inside a loop that is the agent's own `done` or `skip`. Outside of one it is every decision of a person on it.

    Exit codes: 0 noted or decided, 2 there is no such criterion, 4 nobody said yes.
    """
    if leave_note("reset", as_json, tasks=tasks):
        return 0
    return decide_tasks("reset", tasks, why="", agent=agent, as_json=as_json, yes=yes)
