"""Verbs for several agents: `aigon arena`, `aigon feature-eval`, and `aigon fleet` on many machines."""

import sys
from contextlib import closing
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from aigon.commands.common import (
    Dollars,
    answer,
    find_env_options,
    here,
    json_option,
    judge_option,
    open_main,
    require_consent,
)
from aigon.commands.completers import complete_agents, complete_open_features
from aigon.commands.implement import implement_feature
from aigon.commands.root import Command, LazyGroup, Option
from aigon.errors import AigonError, Exit, explain_error, usage
from aigon.job.options import Options

if TYPE_CHECKING:
    from aigon.arena.arena import ArenaObserver
    from aigon.views.terminal.lines import Loudness


_LEFT_OUT = ("loop", "agents", "model", "worktree", "dry_run", "prove_first", "as_json")
"""Options of feature-implement that go without saying here, or that are others."""
_OFTEN = ("parallel", "first_proven")
"""Options of feature-implement that are rare there, and not here."""


def _split_names(_context: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """The agents, however they were put: `--agents cc,cx`, `--agents cc --agents cx`."""
    return tuple(name.strip() for text in given for name in text.split(",") if name.strip())


AGENTS = Option(
    ["--agents", "--agent", "agents"],
    multiple=True,
    callback=_split_names,
    metavar="A,B",
    shell_complete=complete_agents,
    group="Agents",
    help="Name two or more, such as claude:opus,codex.  [default: those that have worktrees]",
)

AS_JSON = Option(["--json", "as_json"], is_flag=True, group="Output",
                 help="Print one JSON event per line, with the agent's label.")  # fmt: skip


def run(
    agents: tuple[str, ...],
    as_json: bool,
    loudness: "Loudness",
    resume: bool,
    **given: Any,
) -> int:
    """Have several agents build feature ID side by side, each in its own worktree and loop.

    Limits on time and cost apply to all agents together. `aigon feature-implement ID --loop` with two or more --agent
    options does the same.

    Exit codes: 0 if an agent's work is proven; else the first of 130, 143, 7, 2, 1, 6, 5, 4, 3 that an agent ended
    with.
    """
    options = Options(agents=agents, loop=True, resume=resume, worktree=True, sources=find_env_options(), **given)
    require_consent(options)
    names = agents if len(agents) > 1 else _list_known_agents(options)
    return run_side_by_side(options, names, as_json=as_json, loudness=loudness)


def _list_known_agents(options: Options) -> tuple[str, ...]:
    """The agents whose worktrees are there, where none is named. Raises AigonError (exit 2) for fewer than two."""
    from aigon.job.job import list_known_candidates

    with open_main() as main:
        names = tuple(each.agent for each in list_known_candidates(main, options.feature))
    if options.agents or len(names) < 2:
        hint = f"aigon arena {options.feature} --agents claude,codex; with one agent: aigon feature-implement"
        raise usage("An arena needs two agents or more", where="--agents", hint=hint)
    return names


def run_side_by_side(options: Options, agents: tuple[str, ...], *, as_json: bool, loudness: "Loudness") -> int:
    """Let several agents do the feature, as a view, as lines or as NDJSON, whose last line is its end in any case."""
    from aigon.arena.entry import enter_arena
    from aigon.run.implement import say
    from aigon.views.terminal.arena import ArenaNdjson

    observer = ArenaNdjson(sys.stdout, sys.stderr) if as_json else _choose_observer(loudness)
    try:
        with here() as checkout:
            return enter_arena(checkout, options, agents, observer=observer, say=say)
    except AigonError as error:
        if not isinstance(observer, ArenaNdjson):
            raise
        print(f"aigon: {explain_error(error)}", file=sys.stderr)
        observer.refused(error)
        return int(error.code)


def _choose_observer(loudness: "Loudness") -> "ArenaObserver":
    """Return who watches: a live view on a terminal, or lines."""
    from aigon.git.repository import find_repository

    runs = find_repository(Path.cwd()).root / ".aigon" / "runs"
    if sys.stdout.isatty() and not loudness:
        from aigon.views.terminal.live import ArenaLive

        return ArenaLive(sys.stdout, runs)
    from aigon.views.terminal.lines import ArenaLines

    return ArenaLines(sys.stdout, runs=runs, loudness=loudness)


def _share(option: click.Parameter) -> click.Parameter:
    """Return an option of feature-implement; here the help lists those about several agents first of all."""
    option = copy(option)
    if option.name in _OFTEN and isinstance(option, Option):
        option.rare = False
    return option


_SHARED = [_share(each) for each in implement_feature.params if each.name not in _LEFT_OUT]
ARENA = Command("arena", callback=run, params=[*_SHARED[:1], AGENTS, *_SHARED[1:], AS_JSON], help=run.__doc__)


ENDS = {"winner": Exit.MET, "tie": Exit.NEEDS_HUMAN, "nobody": Exit.STOPPED}


@click.command("feature-eval")
@click.argument("feature", metavar="ID", shell_complete=complete_open_features)
@click.option("--no-commit", is_flag=True, help="Print the result only; write and commit nothing.")
@click.option("--no-cross-checks", is_flag=True, help="Do not run each agent's new tests on the work of the others.")
@judge_option("Choose who decides if all measures are equal: agent, command, none.")
@json_option
def evaluate(feature: str, no_commit: bool, no_cross_checks: bool, judge: str | None, as_json: bool) -> int:
    """Compare the work of several agents on feature ID by the same evidence, and propose a winner.

    Candidates have to pass the gates. Then aigon compares one measure after the other; there is no score. You can run
    it while agents still work. The result is committed as docs/specs/features/evaluations/feature-ID-eval.md.

    Exit codes: 0 a winner is proposed, 4 a tie that a person has to decide, 3 no candidate passes the gates.
    """
    from aigon.compare.evaluation import EvaluationRequest, evaluate_feature
    from aigon.compare.file import EvaluationFile, remember_proposal, write_evaluation
    from aigon.compare.table import build_evaluation_document, render_evaluation
    from aigon.files.home import ensure_home
    from aigon.git.person import Checkout
    from aigon.git.repository import find_repository

    with here() as checkout, Checkout.open(find_repository(checkout.root).root) as main:
        found = evaluate_feature(main, EvaluationRequest(feature, not no_cross_checks, judge))
        remember_proposal(ensure_home(main.common_dir), found)
        kept = EvaluationFile(why="--no-commit") if no_commit else write_evaluation(main, found)
    answer(
        build_evaluation_document(found, kept.path, kept.commit, kept.why),
        render_evaluation(found, str(kept)),
        as_json,
    )
    return int(ENDS[found.proposal.kind])


FLEET_VERBS: dict[str, tuple[str, str]] = {
    "run": ("arena", "Build features, each with each agent, under one limit."),
    "status": ("arena", "See what each cell came to, from the remote."),
    "stop": ("arena", "Let every cell finish its iteration, then end."),
    "worker": ("arena", "Let this machine work for a scheduler."),
}
"""For each verb its module in `aigon.commands` and its line in the help."""


@click.group("fleet", cls=LazyGroup, verbs=FLEET_VERBS)
def fleet() -> None:
    """Build many features on many machines that share a git remote."""


def run_cells(
    features: tuple[str, ...],
    agents: tuple[str, ...],
    scheduler: str | None,
    local: int | None,
    max_cost: float | None,
    as_json: bool,
) -> int:
    """Build each feature with each agent, on as many workers as there are.

    Branches, records and leases are on the git remote. If a worker is killed, it loses its lease, and another one
    continues from the last push. You can run the command again at any time: proven cells stay proven, and the others
    continue.

    Exit codes: 0 all are proven; else the first of 130, 143, 7, 2, 1, 6, 5, 4, 3 that a cell ended with.
    """
    from aigon.errors import usage
    from aigon.files.home import STOP_FILES, ensure_home
    from aigon.fleet.cluster import open_cluster, require_dask
    from aigon.fleet.fleet import require_workers, run_fleet
    from aigon.fleet.plan import check_request, take_up
    from aigon.process.stop import Stop
    from aigon.run.implement import say
    from aigon.views.terminal.arena import FleetLines, FleetLive

    if scheduler and local:
        raise usage("A fleet has one scheduler", where="--scheduler, --local", hint="Leave one of them out")
    require_dask()
    with open_main() as main:
        request = check_request(main, features, agents, max_cost)
        is_live = sys.stdout.isatty() and not as_json
        view = FleetLive(sys.stdout) if is_live else FleetLines(sys.stdout, sys.stderr, as_json=as_json)
        with open_cluster(scheduler or "", local or 1) as client:
            require_workers(client, request.kinds.values(), view.hear)
            plan = take_up(main, request, say)
            files = [main.root / name for name in STOP_FILES]
            stop = Stop(files, announce=lambda _: say("each cell finishes its iteration, then the fleet ends"))
            view.begin(plan.orders)
            with closing(view), closing(stop), stop.handling():
                ended = run_fleet(client, plan, ensure_home(main.common_dir), stop, view.hear)
        view.finish(ended)
    return ended.exit_code


RUN = Command(
    "run",
    callback=run_cells,
    params=[
        click.Argument(["features"], nargs=-1, required=True, metavar="ID...", shell_complete=complete_open_features),
        AGENTS,
        Option(["--scheduler"], metavar="ADDRESS", help="Use the workers of this scheduler, such as tcp://big:8786."),
        Option(["--local"], type=click.IntRange(1, 64), metavar="N",
               help="Start N workers on this machine.  [default: 1]"),
        Option(["--max-cost"], type=Dollars(), metavar="USD",
               help="Spend at most this on all cells together; required here or as guards.maxCost."),
        Option(["--json", "as_json"], is_flag=True, help="Print one JSON document per line."),
    ],
    help=run_cells.__doc__,
)  # fmt: skip


@click.command("status")
@json_option
def show_cells(as_json: bool) -> None:
    """Show the state of each cell and who works on it, as the git remote has it.

    Exit codes: 0 shown, 2 there is no remote, 7 it does not answer.
    """
    from msgspec import to_builtins

    from aigon.fleet.plan import REMOTE, read_leases
    from aigon.records.exchange import open_remote, read_prefix
    from aigon.views.terminal.arena import render_cells

    with open_main() as main:
        notes = read_leases(open_remote(main, REMOTE), read_prefix(main), ())
    cells = {name: note.summary if note.state == "ended" else None for name, note in sorted(notes.items())}
    text = "\n".join(render_cells({name: (each, notes[name].owner) for name, each in cells.items()}))
    answer({"cells": [to_builtins(note) for _, note in sorted(notes.items())]}, text or "No cell was begun.", as_json)


@click.command("stop")
@json_option
def stop(as_json: bool) -> None:
    """Stop the fleet that was started here: every cell finishes its iteration and pushes it; no other cell starts.

    Exit codes: 0 the fleet was asked to stop, 7 no fleet runs, or its scheduler does not answer.
    """
    from aigon.files.home import ensure_home
    from aigon.fleet.cluster import open_cluster
    from aigon.fleet.fleet import stop_fleet
    from aigon.fleet.plan import require_running

    with here() as checkout:
        note = require_running(ensure_home(checkout.common_dir))
    with open_cluster(note.address, 0) as client:
        stop_fleet(client, note)
    text = "Asked: each cell finishes its iteration, then ends. Go on: aigon fleet run, with the same words"
    answer({"scheduler": note.address}, text, as_json)


@click.command("worker")
@click.argument("address")
@click.option("--slots", type=click.IntRange(1, 1024), metavar="N", help="Work on N cells at a time.  [default: cores]")
def serve(address: str, slots: int | None) -> None:
    """Work for the Dask scheduler at ADDRESS, such as tcp://big:8786, until Ctrl+C.

    The worker offers the agents that `aigon doctor` finds here: a cell runs only where its agent can. Credentials of
    agents and of git are those of this machine.

    Exit codes: 0 ended, 7 the scheduler does not answer, or aigon's extra `fleet` is missing.
    """
    from aigon.fleet.cluster import serve_worker

    serve_worker(address, slots)
