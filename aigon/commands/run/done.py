"""`aigon run done`: a criterion is done, says an agent or decides a person."""

import click

from aigon.commands.common import json_option, yes_option
from aigon.commands.run.ask import agent_option, decide_tasks, leave_note, tasks_argument


@click.command("done")
@tasks_argument
@agent_option
@json_option
@yes_option
def command(tasks: tuple[str, ...], agent: str | None, as_json: bool, yes: bool) -> int:
    """Say that TASK is done: a criterion, as in 42.1, or 1 on the branch of its feature.

    Inside a loop it is the agent's claim, which the assessment after its turn keeps or breaks. Outside of one it is
    `aigon approve`.

    Exit codes: 0 noted or decided, 2 there is no such criterion, 4 nobody said yes.
    """
    if leave_note("done", as_json, tasks=tasks):
        return 0
    return decide_tasks("approve", tasks, why="", agent=agent, as_json=as_json, yes=yes)
