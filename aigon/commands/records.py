"""`aigon records`: let the records of a run travel with its branch."""

import click

from aigon.commands.common import answer, here, json_option
from aigon.commands.completers import complete_agents, complete_features

_DONE = {
    "push": "{name}: {done}, {ref} ({commit:.12})",
    "fetch": "{name}: {done}",
    "list": "{name}  {commit:.12}  {ref}",
}


@click.command("records")
@click.argument("action", type=click.Choice(["push", "fetch", "list"]))
@click.argument("feature", shell_complete=complete_features)
@click.option("--agent", metavar="NAME", shell_complete=complete_agents, help="Only those of this agent.")
@json_option
def command(action: str, feature: str, agent: str | None, as_json: bool) -> int:
    """Push the records of feature ID to the git remote with its branches, fetch them elsewhere, or list them.

    Where they were fetched, --resume goes on with the run, and feature-eval, report, replay and ui show it. They are
    claims there: feature-done proves the result again before it merges.

    Exit codes: 0 done, 2 there is nothing to push or fetch, 7 the remote or a record is not fit for it.
    """
    from msgspec import to_builtins

    from aigon.job.seat import open_main_checkout
    from aigon.records.exchange import fetch_records, list_records, push_records

    work = {"push": push_records, "fetch": fetch_records, "list": list_records}[action]
    with here() as checkout, open_main_checkout(checkout) as (main, _):
        rows = [to_builtins(each) for each in work(main, feature, agent)]
    text = "\n".join(_DONE[action].format(**row) for row in rows) or "There are no records on the remote."
    if action == "fetch":
        text += f"\nNext: aigon feature-status {feature}"
    answer({"records": rows}, text, as_json)
    return 0
