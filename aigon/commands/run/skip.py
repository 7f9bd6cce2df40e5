"""`aigon run skip`: an agent leaves a criterion to a person, or a person waives it."""

import click

from aigon.commands.common import json_option, yes_option
from aigon.commands.run.ask import agent_option, decide_tasks, leave_note, tasks_argument


@click.command("skip")
@tasks_argument
@click.option("--reason", required=True, metavar="TEXT", help="Say why.")
@agent_option
@json_option
@yes_option
def command(tasks: tuple[str, ...], reason: str, agent: str | None, as_json: bool, yes: bool) -> int:
    """Skip TASK: a criterion, as in 42.1, or 1 on the branch of its feature.

    Inside a loop the criterion stays open: the next turns work on the others first, and if it is still open at the end,
    a person is asked. Outside of one you waive it: it counts as decided, whatever the code, and the outcome says so.

    Exit codes: 0 noted or decided, 2 there is no such criterion, 4 nobody said yes.
    """
    if leave_note("skip", as_json, tasks=tasks, text=reason):
        return 0
    return decide_tasks("waive", tasks, why=reason, agent=agent, as_json=as_json, yes=yes)
