"""`aigon approve`: a person decides that criteria are met."""

import re
import sys
from typing import TYPE_CHECKING

import click

from aigon.commands.common import answer, confirm, here, json_option, yes_option
from aigon.commands.completers import complete_agents, complete_open_features
from aigon.errors import Exit, usage

if TYPE_CHECKING:
    from aigon.journal.decisions import DecisionKind

TESTS = "tests"
"""What the acceptance tests of a feature are called."""


agent_option = click.option(
    "--agent",
    shell_complete=complete_agents,
    metavar="NAME",
    help="Name whose work, if several agents did the feature.",
)


@click.command("approve")
@click.argument("feature", metavar="ID", shell_complete=complete_open_features)
@click.argument("what", nargs=-1, metavar="CRITERION|RULE|tests...")
@click.option("--why", default="", metavar="TEXT", help="Add a reason to the log.")
@agent_option
@json_option
@yes_option
def command(feature: str, what: tuple[str, ...], why: str, agent: str | None, as_json: bool, yes: bool) -> int:
    """Decide as a person that criteria of feature ID are met, or that an integrity finding is all right.

    Name a criterion by its number (see `aigon spec-show ID`) and a finding by its rule, as the summary of the run names
    it. Both are decided for the last iteration commit.

    `tests` accepts the acceptance tests that `aigon feature-prove` left, `tests:1,3` those of some criteria.

    It shows what is known and asks; with --yes it does not ask. The decision holds for the code as it is now: when that
    changes, the criterion or finding is open again.

    Exit codes: 0 decided, 2 there is no such criterion, 4 nobody said yes.
    """
    if what and what[0].partition(":")[0] == TESTS:
        return _accept_tests(feature, what, as_json=as_json, yes=yes)
    return decide("approve", feature, what, why=why, agent=agent, as_json=as_json, yes=yes)


def _accept_tests(feature: str, what: tuple[str, ...], *, as_json: bool, yes: bool) -> int:
    """Show the tests that wait for a person, and accept them."""
    from aigon.commands.feature import prove
    from aigon.job.seat import open_main_checkout
    from aigon.prove.acceptance import require_proposal
    from aigon.run.authority import require_outside_a_run, require_terminal

    numbers = what[0].partition(":")[2]
    if len(what) > 1 or not re.fullmatch(r"(?:\d+(?:,\d+)*)?", numbers):
        raise usage("Tests are accepted by themselves", where=" ".join(what), hint=f"{TESTS}, or {TESTS}:1,3")
    require_outside_a_run("approve")
    with here() as checkout, open_main_checkout(checkout) as (main, _):
        acceptance = require_proposal(main, feature)
        require_terminal("approve", yes)
        chosen = tuple(int(number) for number in numbers.split(",") if number)
        return prove.decide(main, acceptance, chosen, yes=yes, as_json=as_json, is_person=True)


def decide(
    verb: "DecisionKind",
    feature: str,
    what: tuple[str, ...],
    *,
    why: str,
    agent: str | None,
    as_json: bool,
    yes: bool,
) -> int:
    """Show the evidence, ask, and record the decision; the exit code."""
    from aigon.run.approvals import update_pages
    from aigon.run.authority import require_outside_a_run, require_terminal
    from aigon.run.decisions import find_case, record_decisions, render_evidence

    require_outside_a_run(verb)
    done = {"approve": "approved", "reject": "rejected", "waive": "waived", "reset": "reset"}[verb]
    with here() as checkout:
        case = find_case(checkout, feature, what, agent, verb)
        require_terminal(verb, yes)
        if not yes:
            print(render_evidence(checkout, case), file=sys.stderr)
            if not confirm(f"{verb.capitalize()} {', '.join(dict.fromkeys(item.name for item in case.items))}?"):
                answer({"feature": feature, done: []}, f"Nothing was {done}.", as_json)
                return Exit.NEEDS_HUMAN
        record_decisions(checkout, case, verb, why)
        update_pages(checkout)
    names = [item.number or item.rule for item in case.items]
    lines = [f"{done.capitalize()} {item.name}: {item.text}" for item in case.items]
    answer({"feature": feature, done: names}, "\n".join([*lines, f"Next: {case.again}"]), as_json)
    return Exit.MET
