"""`aigon approvals`: what waits for people, and their decisions."""

import sys
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING

import click

from aigon.commands.common import answer, here, json_option, yes_option
from aigon.errors import AigonError, Exit, as_document, explained, usage

if TYPE_CHECKING:
    from aigon.git.person import Checkout
    from aigon.journal.decisions import DecisionKind
    from aigon.run.approvals import ApprovalCase


@click.command("approvals")
@click.option("--decide", is_flag=True, help="Walk through them in the terminal.")
@click.option("--apply", is_flag=True, help="Take the pages that you moved to approved/ or rejected/ as decisions.")
@json_option
@yes_option
def command(decide: bool, apply: bool, as_json: bool, yes: bool) -> int:
    """List what waits for a person, over all features and worktrees.

    Each case has a page in .aigon/approvals/ (approvals.folder). A page that is moved to approved/ or rejected/ decides
    nothing until you run --apply, which refuses what is older than the work it is about.

    Exit codes: 0 listed or decided, 2 a page decides nothing, 4 nobody said yes.
    """
    from aigon.job.seat import open_main_checkout
    from aigon.run.approvals import build_case_document, describe_case, write_pages
    from aigon.run.authority import require_outside_a_run, require_terminal

    if decide and (apply or as_json or yes):
        raise usage("--decide asks you about each case", where="--decide", hint="Give it alone")
    if decide or apply:
        require_outside_a_run("approvals")
        require_terminal("approvals", yes and apply)
    with here() as checkout, open_main_checkout(checkout) as (main, _):
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
        if _decide(main, page.case, kind, page.why, yes):
            page.file.unlink()
            done.append({"feature": page.case.feature, "label": page.case.label, "decision": kind,
                         "items": list(page.case.decidable)})  # fmt: skip
    write_pages(main)
    for error in errors:
        print(f"aigon: {explained(error)}", file=sys.stderr)
    lines = [f"{each['decision']}: feature {each['feature']}" for each in done] or ["Nothing was decided."]
    answer({"decided": done, "errors": [as_document(each) for each in errors]}, "\n".join(lines), as_json)
    if errors:
        return Exit.USAGE
    return Exit.MET if len(done) == len(pages) else Exit.NEEDS_HUMAN


def _decide(main: "Checkout", case: "ApprovalCase", kind: "DecisionKind", why: str, yes: bool) -> bool:
    """Show the evidence, ask, and record; return whether it was decided."""
    from aigon.commands.common import confirm
    from aigon.run.decisions import find_case, record_decisions, render_evidence

    found = find_case(main, case.feature, case.decidable, case.label or None, kind)
    if found.state.checkpoint != case.commit:
        raise AigonError(f"Feature {case.feature} has moved on", hint="aigon approvals", code=Exit.USAGE)
    if not yes:
        print(render_evidence(main, found), file=sys.stderr)
        if not confirm(f"{kind.capitalize()} {', '.join(case.decidable)} of feature {case.feature}?"):
            return False
    record_decisions(main, found, kind, why)
    return True


def _walk(main: "Checkout") -> int:
    """Ask about each case in turn."""
    from aigon.run.approvals import describe_case, list_cases, list_changes, write_pages
    from aigon.run.decisions import find_case, record_decisions

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
            record_decisions(main, find_case(main, case.feature, case.decidable, case.label or None, kind), kind, why)
            print(f"{kind}: {', '.join(case.decidable)}. Next: {case.commands[-1]}", file=sys.stderr)
    write_pages(main)
    return Exit.MET
