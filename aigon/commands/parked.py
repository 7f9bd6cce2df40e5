"""`aigon parked`: what was saved aside instead of destroyed."""

import click

from aigon.commands.common import answer, here, json_option
from aigon.commands.completers import complete_saved_aside


@click.command("parked")
@click.argument("action", type=click.Choice(["list", "restore"]), default="list")
@click.argument("ref", required=False, shell_complete=complete_saved_aside)
@json_option
def command(action: str, ref: str | None, as_json: bool) -> int:
    """List what was saved aside under `refs/aigon/parked/`, or bring one back as a branch of its own (restore REF)."""
    from aigon.job.branch import list_saved_work, restore_saved_work

    with here() as checkout:
        if action == "restore":
            branch = restore_saved_work(checkout, ref or "")
            answer({"branch": branch}, f"It is the branch {branch}. Look: git log -p {branch} -1", as_json)
            return 0
        rows = list_saved_work(checkout)
    lines = [f"{row['when']}  {row['ref']}  {row['subject']}" for row in rows]
    answer({"parked": rows}, "\n".join(lines) or "Nothing is saved aside.", as_json)
    return 0
