"""`aigon cleanup`: remove a feature's worktrees, where nothing is lost by it."""

import sys

import click

from aigon.commands.common import answer, here, json_option
from aigon.commands.completers import complete_agents, complete_features
from aigon.errors import Exit


@click.command("cleanup")
@click.argument("feature", metavar="ID", shell_complete=complete_features)
@click.argument("agents", metavar="[AGENT]...", nargs=-1, shell_complete=complete_agents)
@click.option(
    "--park", is_flag=True, help="Save uncommitted work aside under refs/aigon/parked/, then remove its worktree."
)
@json_option
def command(feature: str, agents: tuple[str, ...], park: bool, as_json: bool) -> int:
    """Remove the worktrees of feature ID, or those of the agents named; branches and records stay.

    A worktree stays, and the exit code is 7, while a loop runs there or while it holds work that is in no commit.
    """
    from aigon.job.seat import open_main_checkout
    from aigon.worktrees.cleanup import clean_up_feature

    with here() as checkout, open_main_checkout(checkout) as (main, _):
        done = clean_up_feature(main, feature, agents, park=park, say=lambda line: print(line, file=sys.stderr))
    kept = [{"label": each.label, "path": each.path, "reason": reason} for each, reason in done.kept]
    removed = [{"label": each.label, "path": each.path, "branch": each.branch} for each in done.removed]
    document = {"feature": feature, "removed": removed, "kept": kept, "parked": list(done.parked)}
    parked = "".join(f"\nParked: {ref} (aigon parked restore {ref})" for ref in done.parked)
    answer(document, f"{len(removed)} removed, {len(kept)} kept{parked}", as_json)
    return Exit.ENVIRONMENT if kept else Exit.MET
