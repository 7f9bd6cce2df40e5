"""`aigon feature-implement`: have an agent work on a feature until every criterion is proven."""

import gc
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from aigon.commands.common import (
    Dollars,
    Duration,
    answer,
    confirm,
    find_env_options,
    here,
    judge_option,
    profile_option,
    require_consent,
    sandbox_option,
    yes_option,
)
from aigon.commands.completers import (
    complete_agents,
    complete_models,
    complete_open_features,
)
from aigon.commands.root import Command, option, rare_option, rare_setting, setting
from aigon.errors import AigonError, explain_error
from aigon.job.options import Options

if TYPE_CHECKING:
    from aigon.journal.sinks import Observer
    from aigon.run.session import Session
    from aigon.views.terminal.lines import Loudness


@click.command("feature-implement", cls=Command)
@click.argument("feature", metavar="ID", shell_complete=complete_open_features)
@option("--loop", "--ralph", "loop", is_flag=True, help="Repeat until proven, or until a limit or a guard stops it.")
@option("--dry-run", is_flag=True, help="Show the plan and the whole first prompt; change nothing.")
@setting(
    "--agent",
    "agents",
    multiple=True,
    metavar="NAME",
    shell_complete=complete_agents,
    group="Agents",
    help="Choose the agent: claude, claude:opus, ... (`aigon doctor` lists them). Repeat it for an arena.",
)
@rare_setting(
    "--model", metavar="NAME", shell_complete=complete_models, group="Agents", help="Choose the agent's model."
)
@rare_option(
    "--worktree/--no-worktree",
    default=None,
    group="Agents",
    help="Work in a worktree of the agent's own, or in this checkout.",
)
@rare_option(
    "--parallel", type=click.IntRange(min=1), metavar="N", group="Agents", help="Run at most N agents at a time."
)
@rare_option("--first-proven", is_flag=True, group="Agents", help="End the other agents once one is proven.")
@rare_option(
    "--promise",
    "promises",
    multiple=True,
    metavar="TEXT",
    group="Agents",
    help="Set the phrase by which the agent claims to be done; repeat it for stages.  [default: COMPLETE]",
)
@setting(
    "--max-iterations",
    type=int,
    metavar="N",
    group="Limits",
    help="Stop after N iterations, 1 to 20; --resume adds as many again.  [default: 5]",
)
@setting("--max-cost", type=Dollars(), group="Limits", help="Stop when all agents together have spent this much.")
@setting("--max-time", type=Duration(), group="Limits", help="Stop when the run has taken this long, such as 2h.")
@rare_setting(
    "--iteration-timeout", type=Duration(), group="Limits", help="End an agent's turn after this long.  [default: 30m]"
)
@rare_setting(
    "--idle-timeout",
    type=Duration(),
    group="Limits",
    help="End a turn after this long without output or CPU activity.  [default: never]",
)
@rare_setting(
    "--max-consecutive-failures",
    "--max-consec-fails",
    type=int,
    metavar="N",
    group="Limits",
    help="Stop after N failed turns in a row.  [default: 3]",
)
@rare_setting(
    "--max-wait",
    type=Duration(zero=True),
    group="Limits",
    help="Wait at most this long for a usage limit or an overloaded server (0: do not wait).  [default: 6h]",
)
@judge_option("Choose who decides open criteria: agent, anthropic, command, none.", group="Checks", rare=True)
@profile_option(group="Checks", rare=True)
@rare_setting(
    "--validation-script", metavar="PATH", group="Checks", help="Run this script instead of the profile's checks."
)
@rare_option(
    "--skip-validation/--no-skip-validation",
    default=None,
    group="Checks",
    help="Run no checks; only the commands of criteria decide.",
)
@rare_option(
    "--accept-passing/--no-accept-passing",
    default=None,
    group="Checks",
    help="For refactorings: run the agent even if every criterion passes already.",
)
@rare_option(
    "--prove-first",
    is_flag=True,
    group="Checks",
    help="First have an agent write a test for each criterion without one, as `aigon feature-prove` does.",
)
@rare_option(
    "--allow-visible",
    is_flag=True,
    group="Safety",
    help="Run even if hidden tests cannot be hidden from the agent here; the outcome says so.",
)
@option("--resume", is_flag=True, group="Resuming", help="Continue where the last run stopped (implies --loop).")
@rare_option(
    "--half-turn",
    type=click.Choice(["rollback", "keep", "ask"]),
    default="rollback",
    show_default=True,
    group="Resuming",
    help="Keep or undo the files of an interrupted turn; they are saved aside either way.",
)
@rare_option(
    "--resume-from",
    type=click.Choice(["checkpoint", "last-iteration", "best", "rerun", "ask"]),
    default="checkpoint",
    show_default=True,
    group="Resuming",
    help="Continue from the last or best iteration commit, repeat the last iteration, or rerun checks.",
)
@rare_option("--accept-spec", is_flag=True, group="Resuming", help="Accept that the spec has changed since the run.")
@sandbox_option
@rare_option(
    "--on-partial",
    type=click.Choice(["keep", "rollback", "ask"]),
    group="Safety",
    help="If the run ends unproven: keep the branch, or go back to the best iteration commit.  [default: keep]",
)
@yes_option
@rare_option(
    "--quiet",
    "-q",
    "loudness",
    flag_value="quiet",
    default="",
    group="Output",
    help="Print only warnings and the summary.",
)
@rare_option(
    "--verbose",
    "-v",
    "loudness",
    flag_value="verbose",
    group="Output",
    help="Print each action of the agent, without the live view.",
)
@option(
    "--json",
    "as_json",
    is_flag=True,
    group="Output",
    help="Print one JSON event per line; with --dry-run, one document.",
)
def implement_feature(dry_run: bool, as_json: bool, loudness: "Loudness", prove_first: bool, **given: Any) -> int:
    """Have an agent build feature ID until aigon has proven every acceptance criterion.

    ID is an ID, a slug, a title or the path of a spec. A feature in the inbox or the backlog first gets its ID and its
    branch. A new title creates a spec in the inbox for you to fill in. Without --loop the agent takes one turn. With
    two or more agents, each works in its own worktree: see `aigon arena`.

    Exit codes: 0 proven, 2 usage, 3 stopped by a guard, 4 needs a human, 5 time or cost spent, 6 agent or judge
    unavailable, 7 environment, 130 interrupted, 143 terminated.
    """
    loop = given.pop("loop") or given["resume"]
    options = Options(**given, **take_arena_part(), loop=loop, sources=find_env_options())
    require_consent(options)
    if dry_run:
        from aigon.run.dry_run import plan_run

        with here() as checkout:
            answer(*plan_run(checkout, options), as_json=as_json)
        return 0
    if not (options.resume or options.arena) and (prove_first or _needs_proof_first()):
        from aigon.commands.prove import prove_before_work

        if code := prove_before_work(options, as_json=as_json):
            return code

    return _run(options, loudness, as_json)


def _needs_proof_first() -> bool:
    """Return whether the project asks for tests before the work."""
    from aigon.config.loading import load_configuration, open_work_tree
    from aigon.git.repository import find_repository_root

    root = find_repository_root(Path.cwd())
    return root is not None and load_configuration(open_work_tree(root)).ralph.prove_first


def take_arena_part() -> dict[str, Any]:
    """Return what an arena tells this loop: their folder, and the time that is left. Its end is this loop's too."""
    arena, left = os.environ.pop("AIGON_ARENA", ""), os.environ.pop("AIGON_ARENA_LEFT", "")
    if tied := os.environ.pop("AIGON_ARENA_STDIN", ""):
        from aigon.process.watchdog import watch_parent

        watch_parent(silence=None if tied == "1" else float(tied))
    return {"arena": arena, "time_left": float(left) if left else None}


def _run(options: Options, loudness: "Loudness", as_json: bool) -> int:
    """Run the loop; as NDJSON, the last line is the end of the run, of one that was refused too."""
    from aigon.job.job import open_main_checkout
    from aigon.job.world import World
    from aigon.journal.sinks import NdjsonSink
    from aigon.run.implement import implement
    from aigon.run.seating import choose_agents

    gc.freeze()  # what was imported stays: no later look for cycles goes through it
    sink = NdjsonSink(sys.stdout)
    live = sys.stdout.isatty() and not (loudness or as_json)
    try:
        with here() as checkout:
            with open_main_checkout(checkout) as (main, standing):
                names = () if options.arena else choose_agents(main, options, standing)
            if len(names) > 1:
                from aigon.commands.arena import run_side_by_side

                return run_side_by_side(options, names, as_json=as_json, loudness=loudness)
            watching = (lambda _session: [sink]) if as_json else partial(observers, loudness=loudness)
            ended = implement(checkout, options, observers=watching, confirm=confirm, announce=not live)
    except AigonError as error:
        if not as_json:
            raise
        print(f"aigon: {explain_error(error)}", file=sys.stderr)
        sink.refused(error, World.now())
        return int(error.code)
    print(f"\n{ended.summary.rstrip()}", file=sys.stderr if as_json else sys.stdout)
    return ended.exit_code


def observers(session: "Session", loudness: "Loudness" = "") -> "list[Observer]":
    """Return who watches: a live view on a terminal, or one line per event, fewer or more by its `loudness`."""
    done, runs = session.state.last_number, session.world.folder.parent
    if sys.stdout.isatty() and not loudness:
        from aigon.loop.roll_back import RollbackPolicy
        from aigon.views.terminal.events import IterationCount
        from aigon.views.terminal.live import LiveSink
        from aigon.views.terminal.scene import Scene, list_waiting_checks

        scene = Scene(
            session.title,
            session.job.spec.criteria,
            checks=list_waiting_checks(session.job.checks),
            place=IterationCount(finished=done),
            spend=session.state.spend,
        )
        sink = LiveSink(sys.stdout, scene, runs=runs, stopping=lambda: session.world.stop.reason == "SIGINT")
        session.world.get(RollbackPolicy).confirm = sink.screen.step_aside(confirm)
        return [sink]
    from aigon.views.terminal.lines import LineSink

    return [LineSink(sys.stdout, finished=done, runs=runs, loudness=loudness)]
