"""`aigon feature-prove`: have an agent write tests for criteria before the work."""

import sys
from contextlib import nullcontext, redirect_stdout
from typing import TYPE_CHECKING, Any

import click

from aigon.commands.common import (
    Dollars,
    Duration,
    answer,
    build_committing,
    confirm,
    find_env_options,
    here,
    sandbox_option,
    yes_option,
)
from aigon.commands.completers import complete_agents, complete_open_features
from aigon.commands.root import Command, option, setting
from aigon.errors import AigonError
from aigon.job.options import Options

if TYPE_CHECKING:
    from aigon.git.person import Checkout
    from aigon.journal.decisions import Acceptance
    from aigon.run.implement import Observers


@click.command("feature-prove", cls=Command)
@click.argument("feature", metavar="ID", shell_complete=complete_open_features)
@option(
    "--with",
    "agents",
    multiple=True,
    metavar="AGENT",
    group="Agents",
    shell_complete=complete_agents,
    help="Choose who writes the tests.  [default: the project's agent]",
)
@option(
    "--witness",
    is_flag=True,
    group="Checks",
    help="Have the agent build a throwaway version, then break it to see which tests notice.",
)
@setting(
    "--max-iterations",
    type=int,
    metavar="N",
    group="Limits",
    help="Stop after N turns of the author, 1 to 20.  [default: 5]",
)
@setting("--max-cost", type=Dollars(), group="Limits", help="Stop when this much is spent.")
@setting("--max-time", type=Duration(), group="Limits", help="Stop when it has taken this long, such as 2h.")
@option("--resume", is_flag=True, group="Resuming", help="Continue where the last run stopped.")
@sandbox_option
@yes_option
@option("--json", "as_json", is_flag=True, group="Output", help="Print one JSON document at the end.")
def prove_feature(feature: str, witness: bool, yes: bool, as_json: bool, **given: Any) -> int:
    """Have an agent write a test for each criterion of feature ID that nothing decides yet, before the work.

    The author works in a copy of the project, in a run of its own. aigon runs every test in a clean room without a
    network. A test has to fail three times out of three, by an assertion or because what the spec names is missing.
    Other tests go back to the author. You see the rest on one page and accept all or some of them; `aigon approve ID
    tests` does so later. aigon commits accepted tests on the feature's branch before the work, or hides them from the
    agent if `ralph.hiddenTests` is set.

    Exit codes: 0 tests were accepted, 2 usage, 3 stopped by a guard, 4 they wait for a person, 5 time or cost spent, 6
    agent unavailable, 7 environment, 130 interrupted, 143 terminated.
    """
    options = Options(feature, **given, sources=find_env_options())
    try:
        with here() as checkout:
            return prove(checkout, options, witness=witness, yes=yes, as_json=as_json)
    except AigonError as error:
        # This command's name for what a run calls --agent.
        error.where, error.hint = (text.replace("--agent", "--with") for text in (error.where, error.hint))
        raise


def prove_before_work(options: Options, *, as_json: bool) -> int:
    """Have tests written if there are none yet; 0 to go on.

    Tests that already wait for a person are shown again, and no agent is paid for others.
    """
    from aigon.config.loading import load_configuration, open_work_tree
    from aigon.job.job import open_main_checkout
    from aigon.prove.prove import find_waiting_tests, needs_tests
    from aigon.run.seating import require_startable

    with here() as checkout, open_main_checkout(checkout) as (main, standing):
        if not needs_tests(main, options.feature):
            return 0
        require_startable(main, options, standing)  # before anybody is paid
        asked = Options(
            options.feature,
            agents=() if load_configuration(open_work_tree(checkout.root)).default_agent else options.agents[:1],
            max_iterations=options.max_iterations,
            max_cost=options.max_cost,
            max_time=options.max_time,
            sandbox=options.sandbox,
        )
        with redirect_stdout(sys.stderr) if as_json else nullcontext():  # only events of the run go there
            if waiting := find_waiting_tests(main, options.feature):
                return decide(main, waiting, (), yes=options.yes, as_json=False)
            return prove(main, asked, witness=False, yes=options.yes, as_json=False)


def prove(checkout: "Checkout", options: Options, *, witness: bool, yes: bool, as_json: bool) -> int:
    """Have the tests written, show them, and accept them if a person says yes."""
    from aigon.commands.implement import observers
    from aigon.job.job import open_main_checkout
    from aigon.prove.prove import prove_feature
    from aigon.run.invocations import require_outside_a_run

    require_outside_a_run("feature-prove")
    how = build_committing(commit=True, verify=True, as_json=as_json)
    live = sys.stdout.isatty() and not as_json
    with open_main_checkout(checkout) as (main, _):
        watching: Observers = (lambda _session: []) if as_json else observers
        proving = prove_feature(main, options, how, watching, confirm, has_witness=witness, announce=not live)
        name, acceptance = proving.feature.name_for_people, proving.acceptance
        if acceptance is None:
            text = f"No test shows anything yet.\nNext: aigon feature-prove {name} --resume"
            answer({"feature": name, "tests": [], "outcome": proving.ended.status}, text, as_json)
            return proving.ended.exit_code
        return decide(main, acceptance, (), yes=yes, as_json=as_json)


def decide(
    main: "Checkout",
    acceptance: "Acceptance",
    numbers: tuple[int, ...],
    *,
    yes: bool,
    as_json: bool,
    is_person: bool = False,
) -> int:
    """Show tests, and accept those of these criteria, or all that are worth something, on yes.

    `is_person`: a person named them, so that it is one who accepts them with `yes` as well.
    """
    from aigon.agents.configured import build_loop_command
    from aigon.errors import Exit
    from aigon.journal.decisions import NOBODY
    from aigon.prove.acceptance import accept_tests, choose_tests
    from aigon.text.amounts import list_criteria
    from aigon.views.report.words import encode_acceptance, render_acceptance

    tests, name = choose_tests(acceptance, numbers), acceptance.feature
    which = list_criteria([test.number for test in tests])
    if not as_json:
        print(render_acceptance(acceptance))
    if not yes:
        yes = is_person = confirm(f"Let these tests decide {which}?")
    if not yes:
        text = f"Nothing is accepted yet.\nNext: aigon approve {name} tests, or of some criteria: tests:1,3"
        answer(encode_acceptance(acceptance), text, as_json)
        return Exit.NEEDS_HUMAN
    who = main.identity().author[0] if is_person else NOBODY
    accepted = accept_tests(main, acceptance, tests, who, build_committing(commit=True, verify=True, as_json=as_json))
    where = "held out of the worker's sight" if accepted.hidden else "committed before the work"
    start = build_loop_command(main.root, name)
    answer(encode_acceptance(accepted), f"Accepted the tests of {which}, {where}.\nNext: {start}", as_json)
    return Exit.MET
