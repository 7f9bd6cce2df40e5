"""`aigon worktrees`: where agents have worktrees of their own, and how these are."""

import click

from aigon.commands.common import answer, here, json_option

SAID = {
    "there": "there",
    "uncommitted": "holds uncommitted work",
    "gone": "gone; a run makes it again from its branch",
    "broken": "there, but git does not know it; the next run repairs it",
}


@click.command("worktrees")
@json_option
def command(as_json: bool) -> int:
    """List the worktrees that aigon made in this repository, and how each is."""
    from msgspec import to_builtins

    from aigon.job.seat import open_main_checkout
    from aigon.worktrees.places import list_worktrees

    with here() as checkout, open_main_checkout(checkout) as (main, _):
        found = list_worktrees(main)
    lines = [
        f"{row.candidate.feature}  {row.candidate.label}  {row.candidate.branch}\n"
        f"    {row.candidate.path}  ({SAID[row.state]}{', a loop runs there' if row.running else ''})"
        for row in found
    ]
    table = [{**to_builtins(row.candidate), "state": row.state, "running": row.running} for row in found]
    answer({"worktrees": table}, "\n".join(lines) or "aigon made no worktrees here.", as_json)
    return 0
