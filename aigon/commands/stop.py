"""`aigon stop`: ask the loops of a feature to end."""

import click

from aigon.commands.common import answer, here, json_option
from aigon.commands.completers import complete_agents, complete_open_features


@click.command("stop")
@click.argument("feature", metavar="ID", shell_complete=complete_open_features)
@click.argument("agents", metavar="[AGENT]...", nargs=-1, shell_complete=complete_agents)
@click.option("--now", is_flag=True, help="End their turns at once, as a second Ctrl+C does; nothing is lost.")
@json_option
def command(feature: str, agents: tuple[str, ...], now: bool, as_json: bool) -> int:
    """Stop the loops on feature ID, or those of the agents named, after their iteration, as Ctrl+C does.

    It reaches loops in this checkout, in worktrees and in an arena, from anywhere in the repository, and does not wait
    for their end. `aigon stop watch` and `aigon stop queue` end a watcher and `aigon run start` with their loops. They
    end as interrupted (130); --resume continues. To stop every loop of a repository, and keep new
    ones from starting a turn, create the file .aigon/STOP and remove it later.

    Exit codes: 0 asked, 2 there is no such feature, 7 no loop of it runs.
    """
    from aigon.api import open_project
    from aigon.process.running import QUEUES
    from aigon.run.authority import require_outside_a_run

    require_outside_a_run("stop")
    with here() as checkout:
        asked = open_project(checkout.root).stop(feature, agents, now=now)
    what = "to stop at once" if now else "to finish the iteration and stop"
    lines = [f"Asked feature {each.feature}{f' ({each.label})' if each.label else ''} {what}" for each in asked]
    rows = [{"label": each.label, "run_id": each.run_id, "pid": each.loop.pid, "since": each.since} for each in asked]
    is_queue = feature in QUEUES
    next_ = "Next: aigon run status" if is_queue else f"Next: aigon feature-status {asked[0].feature}"
    answer({"feature": feature, "now": now, "asked": rows}, "\n".join([*lines, next_]), as_json)
    return 0
