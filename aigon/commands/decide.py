"""Verbs by which a person decides: `aigon approve`, `reject` and `approvals`."""

import re
import sys
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING

import click

from aigon.commands.common import answer, confirm, here, json_option, open_main, yes_option
from aigon.commands.completers import complete_agents, complete_open_features
from aigon.errors import AigonError, Exit, as_document, explain_error, usage

if TYPE_CHECKING:
    from aigon.git.person import Checkout
    from aigon.journal.decisions import DecisionKind
    from aigon.run.approvals import ApprovalCase
    from aigon.run.decisions import DecisionCase


TESTS = "tests"
"""What the acceptance tests of a feature are called."""


agent_option = click.option(
    "--agent",
    shell_complete=complete_agents,
    metavar="NAME",
    help="Choose whose work, if several agents built the feature.",
)


@click.command("approve")
@click.argument("feature", metavar="ID", shell_complete=complete_open_features)
@click.argument("what", nargs=-1, metavar="CRITERION|RULE|tests...")
@click.option("--why", default="", metavar="TEXT", help="Add a reason to the log.")
@agent_option
@json_option
@yes_option
def approve(feature: str, what: tuple[str, ...], why: str, agent: str | None, as_json: bool, yes: bool) -> int:
    """Decide as a person that criteria of feature ID pass, or that an integrity finding is acceptable.

    Name a criterion by its number (see `aigon spec-show ID`) and a finding by its rule, as the summary of the run names
    it. The decision is about the last iteration commit.

    `tests` accepts the acceptance tests that `aigon feature-prove` left, `tests:1,3` those of some criteria.

    The command shows what is known and asks; --yes skips the question. The decision holds for the code as it is now:
    when the code changes, the criterion or finding is open again.

    Exit codes: 0 decided, 2 there is no such criterion, 4 you did not agree.
    """
    if what and what[0].partition(":")[0] == TESTS:
        return _accept_tests(feature, what, as_json=as_json, yes=yes)
    return decide("approve", feature, what, why=why, agent=agent, as_json=as_json, yes=yes)


def _accept_tests(feature: str, what: tuple[str, ...], *, as_json: bool, yes: bool) -> int:
    """Show the tests that wait for a person, and accept them."""
    from aigon.commands import prove
    from aigon.prove.acceptance import require_proposal
    from aigon.run.invocations import require_outside_a_run, require_terminal

    numbers = what[0].partition(":")[2]
    if len(what) > 1 or not re.fullmatch(r"(?:\d+(?:,\d+)*)?", numbers):
        raise usage(
            "Tests cannot be approved together with criteria", where=" ".join(what), hint=f"{TESTS}, or {TESTS}:1,3"
        )
    require_outside_a_run("approve")
    with open_main() as main:
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
    from aigon.run.decisions import find_case
    from aigon.run.invocations import require_outside_a_run, require_terminal

    require_outside_a_run(verb)
    done = {"approve": "approved", "reject": "rejected", "waive": "waived", "reset": "reset"}[verb]
    with here() as checkout:
        case = find_case(checkout, feature, what, agent, verb)
        require_terminal(verb, yes)
        what = tuple(dict.fromkeys(item.name for item in case.items))
        if not _record_if_agreed(checkout, case, verb, ", ".join(what), why, yes):
            answer({"feature": feature, done: []}, f"Nothing was {done}.", as_json)
            return Exit.NEEDS_HUMAN
        update_pages(checkout)
    names = [item.number or item.rule for item in case.items]
    lines = [f"{done.capitalize()} {item.name}: {item.text}" for item in case.items]
    answer({"feature": feature, done: names}, "\n".join([*lines, f"Next: {case.again}"]), as_json)
    return Exit.MET


def _record_if_agreed(
    checkout: "Checkout", case: "DecisionCase", kind: "DecisionKind", what: str, why: str, yes: bool
) -> bool:
    """Show the evidence, ask about `what` unless `yes` was given, and record; return whether it was decided."""
    from aigon.run.decisions import record_decisions, render_evidence

    if not yes:
        print(render_evidence(checkout, case), file=sys.stderr)
        if not confirm(f"{kind.capitalize()} {what}?"):
            return False
    record_decisions(checkout, case, kind, why)
    return True


@click.command("reject")
@click.argument("feature", metavar="ID", shell_complete=complete_open_features)
@click.argument("what", nargs=-1, metavar="CRITERION|RULE...")
@click.option("--why", required=True, metavar="TEXT", help="Tell the agent what is missing.")
@agent_option
@json_option
@yes_option
def reject(feature: str, what: tuple[str, ...], why: str, agent: str | None, as_json: bool, yes: bool) -> int:
    """Decide as a person that criteria of feature ID fail, and tell the agent why.

    The decision is about the last iteration commit. The agent reads WHY in the next iteration. The command shows what
    is known and asks; --yes skips the question.

    Exit codes: 0 decided, 2 there is no such criterion, 4 you did not agree.
    """
    return decide("reject", feature, what, why=why, agent=agent, as_json=as_json, yes=yes)


@click.command("approvals")
@click.option("--decide", is_flag=True, help="Decide one after the other in the terminal.")
@click.option("--apply", is_flag=True, help="Apply the decisions of pages that you moved to approved/ or rejected/.")
@json_option
@yes_option
def list_approvals(decide: bool, apply: bool, as_json: bool, yes: bool) -> int:
    """List what waits for a person, over all features and worktrees.

    Each case has a page in .aigon/approvals/ (approvals.folder). You can decide by moving a page to approved/ or
    rejected/ and running --apply, which refuses a page that is older than the work it is about.

    Exit codes: 0 listed or decided, 2 a page decides nothing, 4 you did not agree.
    """
    from aigon.run.approvals import build_case_document, describe_case, write_pages
    from aigon.run.invocations import require_outside_a_run, require_terminal

    if decide and (apply or as_json or yes):
        raise usage("--decide asks you about each case", where="--decide", hint="Give it alone")
    if decide or apply:
        require_outside_a_run("approvals")
        require_terminal("approvals --decide" if decide else "approvals", None if decide else yes)
    with open_main() as main:
        if decide:
            return _walk(main)
        if apply:
            return _apply(main, as_json, yes)
        cases = write_pages(main)
    lines = [describe_case(case) for case in cases] or ["Nothing waits for a person."]
    answer({"approvals": [build_case_document(case) for case in cases]}, _wrap("\n".join(lines)), as_json)
    return Exit.MET


def _wrap(text: str) -> str:
    """Return the text with lines that fit the terminal; commands, which are copied, stay whole."""
    if not sys.stdout.isatty():
        return text
    width, deeper = get_terminal_size().columns, "    "
    lines = text.splitlines()
    return "\n".join(x if x.startswith(deeper) else fill(x, width, subsequent_indent=deeper) for x in lines)


def _apply(main: "Checkout", as_json: bool, yes: bool) -> int:
    from aigon.run.approvals import list_moved_pages, write_pages

    pages, errors = list_moved_pages(main)
    done: list[dict[str, object]] = []
    for page in pages:
        kind: DecisionKind = "approve" if page.decision == "approve" else "reject"
        if _decide_page(main, page.case, kind, page.why, yes):
            page.file.unlink()
            done.append({"feature": page.case.feature, "label": page.case.label, "decision": kind,
                         "items": list(page.case.decidable)})  # fmt: skip
    write_pages(main)
    for error in errors:
        print(f"aigon: {explain_error(error)}", file=sys.stderr)
    lines = [f"{each['decision']}: feature {each['feature']}" for each in done] or ["Nothing was decided."]
    answer({"decided": done, "errors": [as_document(each) for each in errors]}, "\n".join(lines), as_json)
    if errors:
        return Exit.USAGE
    return Exit.MET if len(done) == len(pages) else Exit.NEEDS_HUMAN


def _decide_page(main: "Checkout", case: "ApprovalCase", kind: "DecisionKind", why: str, yes: bool) -> bool:
    """Decide on a case as it is now; return whether that was done."""
    from aigon.run.decisions import find_case

    found = find_case(main, case.feature, case.decidable, case.label or None, kind)
    if found.state.checkpoint != case.commit:
        raise AigonError(f"Feature {case.feature} has moved on", hint="aigon approvals", code=Exit.USAGE)
    return _record_if_agreed(main, found, kind, f"{', '.join(case.decidable)} of feature {case.feature}", why, yes)


def _walk(main: "Checkout") -> int:
    """Ask about each case in turn."""
    from aigon.run.approvals import describe_case, list_cases, list_changes, write_pages

    for case in list_cases(main):
        print(f"\n{_wrap(describe_case(case))}", file=sys.stderr)
        if not case.decidable:
            continue
        while True:
            choices = click.Choice(["a", "r", "s", "d", "q"])
            key = click.prompt("approve, reject, skip, diff, quit", type=choices, default="s", err=True)
            if key != "d":
                break
            print("\n".join(list_changes(main, case)), f"git diff {case.base[:12]} {case.commit[:12]}", sep="\n",
                  file=sys.stderr)  # fmt: skip
        if key == "q":
            break
        if key in "ar":
            kind: DecisionKind = "approve" if key == "a" else "reject"
            why = click.prompt("Why", err=True) if kind == "reject" else ""
            _decide_page(main, case, kind, why, yes=True)
            print(f"{kind}: {', '.join(case.decidable)}. Next: {case.commands[-1]}", file=sys.stderr)
    write_pages(main)
    return Exit.MET
