"""`aigon feature-implement`: let an agent work on a feature until every criterion is proven."""

import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from aigon.commands.common import Dollars, Duration, answer, confirm, from_environment, here, yes_option
from aigon.errors import AigonError, explained
from aigon.job.options import Options

if TYPE_CHECKING:
    from collections.abc import Callable

    from aigon.git.person import Checkout
    from aigon.journal.sinks import Observer
    from aigon.run.session import Session


@click.command("feature-implement")
@click.argument("feature", metavar="ID")
@click.option("--loop", "--ralph", "loop", is_flag=True, help="Iterate until proven or a guard stops it.")
@click.option("--resume", is_flag=True, help="Continue where the last run stopped (implies --loop).")
@click.option(
    "--max-iterations",
    type=int,
    envvar="AIGON_MAX_ITERATIONS",
    help="1 to 20; --resume gives as many again.  [default: 5]",
)
@click.option(
    "--agent",
    "agents",
    multiple=True,
    envvar="AIGON_AGENT",
    help="claude, claude:opus, ... (aigon doctor lists them), or one of your configuration; several: side by side.",
)
@click.option("--model", envvar="AIGON_MODEL", help="The model the agent uses.")
@click.option("--judge", envvar="AIGON_JUDGE", help="Who decides open criteria: agent, anthropic, command, none.")
@click.option("--profile", envvar="AIGON_PROFILE", help="The profile, where detection is not enough.")
@click.option(
    "--validation-script",
    envvar="AIGON_VALIDATION_SCRIPT",
    metavar="PATH",
    help="Run this in place of the profile's checks.",
)
@click.option("--skip-validation/--no-skip-validation", default=None,
              help="Run no checks; only the commands of criteria decide.")  # fmt: skip
@click.option(
    "--max-cost",
    envvar="AIGON_MAX_COST",
    type=Dollars(),
    metavar="USD",
    help="Stop when this is spent, by all agents together.",
)
@click.option(
    "--max-time",
    envvar="AIGON_MAX_TIME",
    type=Duration(),
    help="Stop when the run, of all agents, has taken this long, e.g. 2h.",
)
@click.option(
    "--iteration-timeout",
    envvar="AIGON_ITERATION_TIMEOUT",
    type=Duration(),
    help="End an agent turn after this long.  [default: 30m]",
)
@click.option("--idle-timeout", envvar="AIGON_IDLE_TIMEOUT", type=Duration(),
              help="End a turn after this long without output or CPU activity.  [default: never]")  # fmt: skip
@click.option(
    "--max-consecutive-failures",
    "--max-consec-fails",
    envvar="AIGON_MAX_CONSECUTIVE_FAILURES",
    type=int,
    help="Failed turns in a row.  [default: 3]",
)
@click.option(
    "--max-wait",
    envvar="AIGON_MAX_WAIT",
    type=Duration(zero=True),
    help="Longest wait for a usage limit or an overloaded server; 0: do not wait.  [default: 6h]",
)
@click.option(
    "--promise",
    "promises",
    multiple=True,
    metavar="TEXT",
    help="The phrase with which the agent says it is done; several for stages.  [default: COMPLETE]",
)
@click.option(
    "--worktree/--no-worktree", default=None, help="Work in a worktree of the agent's own, or in this checkout."
)
@click.option("--parallel", type=click.IntRange(min=1), metavar="N", help="Several agents: how many at a time.")
@click.option("--first-proven", is_flag=True, help="Several agents: end the rest once one is proven.")
@click.option(
    "--sandbox",
    type=click.Choice(["auto", "bwrap", "namespaces", "landlock", "none"]),
    envvar="AIGON_SANDBOX",
    help="Isolate agents from the rest of your files; auto: bwrap, namespaces or landlock, else none.  [default: auto]",
)
@click.option(
    "--on-partial",
    type=click.Choice(["keep", "rollback", "ask"]),
    help="After a run that stopped short: keep the branch, or go back to the best iteration commit.  [default: keep]",
)
@click.option("--half-turn", type=click.Choice(["rollback", "keep", "ask"]), default="rollback", show_default=True,
              help="With --resume: the files of an interrupted turn (saved aside either way).")  # fmt: skip
@click.option(
    "--resume-from",
    type=click.Choice(["checkpoint", "last-iteration", "best", "rerun", "ask"]),
    default="checkpoint",
    show_default=True,
    help="With --resume: continue from the last or best iteration commit, repeat the last iteration, or rerun checks.",
)
@click.option("--accept-spec", is_flag=True, help="With --resume: take the spec as it is now.")
@click.option("--accept-passing/--no-accept-passing", default=None,
              help="For refactorings: run the agent although every criterion passes already.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Show the plan and the whole first prompt; change nothing.")
@click.option("--json", "as_json", is_flag=True, help="One JSON event per line; with --dry-run one document.")
@yes_option
def command(dry_run: bool, as_json: bool, parallel: int | None, first_proven: bool, **given: Any) -> int:
    """Let an agent work on feature ID (an ID, a slug, a title or the path of a spec).

    A feature of the inbox or the backlog gets its ID and its branch first. The title of a new one becomes a spec in the
    inbox for you to fill in. Without --loop the agent takes one turn.

    Several agents (--agent twice or more) work side by side, each in a worktree of its own: see `aigon arena`.

    Exit codes: 0 proven, 2 usage, 3 stopped by a guard, 4 needs a human, 5 time or cost spent, 6 agent or judge
    unavailable, 7 environment, 130 interrupted, 143 terminated.
    """
    loop = given.pop("loop") or given["resume"]
    options = Options(**given, **own_part(), loop=loop, sources=from_environment())
    if options.accept_spec:
        from aigon.run.authority import require_person

        require_person("--accept-spec", options.yes)
    if dry_run:
        return _plan(options, as_json)
    beside = partial(_side_by_side, options, parallel=parallel, first_proven=first_proven, as_json=as_json)
    return _run_as_lines(options, beside) if as_json else _run(options, beside)


def own_part() -> dict[str, Any]:
    """What an arena tells this loop: the folder they share, and the time that is left. Its end is this loop's too."""
    arena, left = os.environ.pop("AIGON_ARENA", ""), os.environ.pop("AIGON_ARENA_LEFT", "")
    if os.environ.pop("AIGON_ARENA_STDIN", ""):
        from aigon.process.watchdog import watch_parent

        watch_parent()
    return {"arena": arena, "time_left": float(left) if left else None}


def of_an_arena(checkout: "Checkout", options: Options) -> tuple[str, ...]:
    """The agents that are to work side by side; none where it is one alone."""
    from aigon.job.seat import open_main_checkout
    from aigon.run.seating import choose_agents

    if options.arena:
        return ()
    with open_main_checkout(checkout) as (main, standing):
        names = choose_agents(main, options, standing)
    return names if len(names) > 1 else ()


def _plan(options: Options, as_json: bool) -> int:
    from aigon.run.dry_run import plan_run

    with here() as checkout:
        answer(*plan_run(checkout, options), as_json=as_json)
    return 0


def _side_by_side(
    options: Options, agents: tuple[str, ...], *, parallel: int | None, first_proven: bool, as_json: bool
) -> int:
    from aigon.commands.arena import side_by_side

    return side_by_side(options, agents, parallel=parallel, first_proven=first_proven, as_json=as_json)


def _run(options: Options, beside: "Callable[[tuple[str, ...]], int]") -> int:
    from aigon.run.implement import implement

    with here() as checkout:
        if several := of_an_arena(checkout, options):
            return beside(several)
        live = sys.stdout.isatty()
        ended = implement(checkout, options, observers=observers, confirm=confirm, announce=not live)
    print(f"\n{ended.summary.rstrip()}")
    return ended.exit_code


def _run_as_lines(options: Options, beside: "Callable[[tuple[str, ...]], int]") -> int:
    """As NDJSON, whose last line is the end of the run, of one that was refused too."""
    from aigon.job.world import World
    from aigon.journal.sinks import NdjsonSink
    from aigon.run.implement import implement

    sink = NdjsonSink(sys.stdout)
    try:
        with here() as checkout:
            if several := of_an_arena(checkout, options):
                return beside(several)
            ended = implement(checkout, options, observers=lambda _session: [sink], confirm=confirm)
    except AigonError as error:
        print(f"aigon: {explained(error)}", file=sys.stderr)
        sink.refused(error, World.now())
        return int(error.code)
    print(f"\n{ended.summary}", file=sys.stderr)
    return ended.exit_code


def observers(session: "Session") -> "list[Observer]":
    """Who watches: a live view on a terminal, or one line per event."""
    done = session.state.last_number
    if sys.stdout.isatty():
        from aigon.loop.roll_back import RollbackPolicy
        from aigon.views.terminal.live import LiveSink

        job = session.job
        sink = LiveSink(
            sys.stdout,
            title=session.title,
            criteria=job.spec.criteria,
            checks=job.checks,
            spend=session.state.spend,
            finished=done,
            stopping=lambda: session.world.stop.reason == "SIGINT",
        )
        session.world.get(RollbackPolicy).confirm = sink.asking(confirm)
        return [sink]
    from aigon.views.terminal.lines import LineSink

    return [LineSink(sys.stdout, finished=done)]
