"""Verbs for what runs leave behind: worktrees, records, and what was saved aside."""

import sys

import click
from msgspec import to_builtins

from aigon.commands.common import answer, here, json_option, open_main
from aigon.commands.completers import complete_agents, complete_features, complete_saved_aside
from aigon.errors import Exit

SAID = {
    "there": "there",
    "uncommitted": "holds uncommitted work",
    "gone": "gone; a run makes it again from its branch",
    "broken": "there, but git does not know it; the next run repairs it",
}


@click.command("worktrees")
@json_option
def list_places(as_json: bool) -> None:
    """List the worktrees that aigon made in this repository, and the state of each."""
    from aigon.worktrees.places import list_worktrees

    with open_main() as main:
        found = list_worktrees(main)
    lines = [
        f"{row.candidate.feature}  {row.candidate.label}  {row.candidate.branch}\n"
        f"    {row.candidate.path}  ({SAID[row.state]}{', a loop runs there' if row.running else ''})"
        for row in found
    ]
    table = [{**to_builtins(row.candidate), "state": row.state, "running": row.running} for row in found]
    answer({"worktrees": table}, "\n".join(lines) or "There are no worktrees of aigon here.", as_json)


@click.command("cleanup")
@click.argument("feature", metavar="ID", shell_complete=complete_features)
@click.argument("agents", metavar="[AGENT]...", nargs=-1, shell_complete=complete_agents)
@click.option(
    "--park", is_flag=True, help="Save uncommitted work aside under refs/aigon/parked/, then remove its worktree."
)
@json_option
def clean_up(feature: str, agents: tuple[str, ...], park: bool, as_json: bool) -> int:
    """Remove the worktrees of feature ID, or those of the agents named; branches and records stay.

    A worktree stays, and the exit code is 7, while a loop runs there or while it holds uncommitted work.
    """
    from aigon.worktrees.cleanup import clean_up_feature

    with open_main() as main:
        done = clean_up_feature(main, feature, agents, park=park, say=lambda line: print(line, file=sys.stderr))
    kept = [{"label": each.label, "path": each.path, "reason": reason} for each, reason in done.kept]
    removed = [{"label": each.label, "path": each.path, "branch": each.branch} for each in done.removed]
    document = {"feature": feature, "removed": removed, "kept": kept, "parked": list(done.parked)}
    parked = "".join(f"\nParked: {ref} (aigon parked restore {ref})" for ref in done.parked)
    answer(document, f"{len(removed)} removed, {len(kept)} kept{parked}", as_json)
    return Exit.ENVIRONMENT if kept else Exit.MET


_RECORD_LINES = {
    "push": "{name}: {done}, {ref} ({commit:.12})",
    "fetch": "{name}: {done}",
    "list": "{name}  {commit:.12}  {ref}",
}


@click.command("records")
@click.argument("action", type=click.Choice(["push", "fetch", "list"]))
@click.argument("feature", shell_complete=complete_features)
@click.option("--agent", metavar="NAME", shell_complete=complete_agents, help="Choose only this agent's.")
@json_option
def exchange(action: str, feature: str, agent: str | None, as_json: bool) -> None:
    """Push the records of feature ID to the git remote with its branches, fetch them elsewhere, or list them.

    After a fetch, --resume continues the run, and feature-eval, report, replay and ui show it. Fetched records are
    claims: feature-done proves the result again before it merges.

    Exit codes: 0 done, 2 there is nothing to push or fetch, 7 a problem with the remote or a record.
    """
    from aigon.records.exchange import fetch_records, list_records, push_records

    work = {"push": push_records, "fetch": fetch_records, "list": list_records}[action]
    with open_main() as main:
        rows = [to_builtins(each) for each in work(main, feature, agent)]
    text = "\n".join(_RECORD_LINES[action].format(**row) for row in rows) or "There are no records on the remote."
    if action == "fetch":
        text += f"\nNext: aigon feature-status {feature}"
    answer({"records": rows}, text, as_json)


@click.command("parked")
@click.argument("action", type=click.Choice(["list", "restore"]), default="list")
@click.argument("ref", required=False, shell_complete=complete_saved_aside)
@json_option
def list_saved(action: str, ref: str | None, as_json: bool) -> None:
    """List what was saved aside under `refs/aigon/parked/`, or restore one of them as a branch of its own (restore
    REF).
    """
    from aigon.job.branch import list_saved_work, restore_saved_work

    with here() as checkout:
        if action == "restore":
            branch = restore_saved_work(checkout, ref or "")
            answer({"branch": branch}, f"It is the branch {branch}. Look: git log -p {branch} -1", as_json)
            return
        rows = list_saved_work(checkout)
    lines = [f"{row['when']}  {row['ref']}  {row['subject']}" for row in rows]
    answer({"parked": rows}, "\n".join(lines) or "Nothing is saved aside.", as_json)
