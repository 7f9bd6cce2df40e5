"""Verbs that show the status of features and change nothing."""

import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aigon.commands.common import answer, here, json_option, judge_option, offer_around, open_in_browser, profile_option
from aigon.commands.completers import complete_agents, complete_features, complete_open_features
from aigon.commands.root import setting
from aigon.errors import AigonError, as_document, explain_error, usage

if TYPE_CHECKING:
    from aigon.job.options import Options


@click.command("feature-status")
@click.argument("feature", metavar="[ID]", required=False, shell_complete=complete_features)
@click.option("--failures", is_flag=True, help="List every failed attempt at feature ID, with its cause.")
@click.option("--format", "form", type=click.Choice(("table", "toon")), default="table", show_default=True,
              help="Print a table for people, or TOON for programs, which needs aigon[toon].")  # fmt: skip
@json_option
def show_status(feature: str | None, failures: bool, form: str, as_json: bool) -> None:
    """Show the state of feature ID, or of all features; if several agents build it, the state of each."""
    if failures:
        _show_failures(feature, as_json)
        return
    from aigon.api import open_project
    from aigon.views.status import build_status_document, render_status

    with here() as checkout:
        rows = open_project(checkout.root).status(feature, checkout=checkout.root)
    if form == "toon" and not as_json:
        from aigon.spec.prd import render_prd
        from aigon.views.tasks import build_features_table

        print(render_prd(build_features_table(rows, checkout.root.name)), end="")
        return
    answer(build_status_document(rows), render_status(rows, detailed=feature is not None), as_json)


def _show_failures(feature: str | None, as_json: bool) -> None:
    """The failure log, from the journals of every run of the feature and every agent."""
    from aigon.files.home import find_home
    from aigon.journal import records
    from aigon.spec import files
    from aigon.views.tasks import build_failures_document, read_failures, render_failures

    if not feature:
        raise usage("--failures is about one feature", hint="Name it: aigon feature-status ID --failures")
    with here() as checkout:
        found = files.locate_feature(checkout.root, feature)
        home = find_home(checkout.common_dir)
    journals = [each for place in records.list_places(home, found.name_for_people) for each in place.journals()]
    log = read_failures(found, journals)
    answer(build_failures_document(log), render_failures(log), as_json)


@click.command("board")
@click.option("--all", "everything", is_flag=True, help="Show every feature that is done, not only the newest.")
@json_option
def show_board(everything: bool, as_json: bool) -> None:
    """Show the features as cards in columns by stage: criteria passed, running loops, how the last run ended.

    Each feature is shown as its own branch has it, whichever branch is checked out. "Passed" counts what aigon saw in
    its last assessment; "ticked" counts the boxes of a feature that has not been assessed. A linked worktree shows the
    board of the main checkout. Running loops are not disturbed.
    """
    from aigon.api import open_project
    from aigon.views.board_cards import build_board_document

    columns = open_project(Path.cwd()).board(everything=everything or as_json)
    offer_around(Path.cwd())
    if as_json:
        answer(build_board_document(columns), "", as_json=True)
        return
    from aigon.views.board_text import print_board

    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a title may hold what the terminal's encoding does not
    print_board(columns, sys.stdout)


STATES = ("pending", "in_progress", "completed")


@click.command("tasks")
@click.argument("feature", metavar="ID", shell_complete=complete_features)
@click.option("--agent", metavar="NAME", shell_complete=complete_agents, help="Choose one of several agents.")
@click.option(
    "--status", "statuses", multiple=True, type=click.Choice(STATES), help="List only tasks in this state; repeat it."
)
@click.option("--format", "form", type=click.Choice(("table", "json", "toon")), default="table", show_default=True,
              help="Print a table for people, JSON, or TOON, which needs aigon[toon].")  # fmt: skip
@json_option
def show_tasks(feature: str, agent: str | None, statuses: tuple[str, ...], form: str, as_json: bool) -> None:
    """List the criteria of feature ID as tasks: open, in progress or completed, and why one is open again.

    The states follow from the assessments of the last run, not from what an agent says. Before the first run all are
    pending.

    Exit codes: 0, 2 there is no such feature or no run of that agent, 7 its record is damaged or the extra is missing.
    """
    from aigon.api import open_project
    from aigon.journal.tasks import build_tasks_document, build_tasks_table
    from aigon.views.tasks import render_tasks

    with here() as checkout:
        found = open_project(checkout.root).tasks(feature, agent)
    if form == "toon" and not as_json:
        from aigon.spec.prd import render_prd

        print(render_prd(build_tasks_table(found, statuses)), end="")
        return
    answer(build_tasks_document(found, statuses), render_tasks(found, statuses), as_json or form == "json")


@click.command("stats")
@click.option("--by", type=click.Choice(["kind", "agent", "model", "profile", "step", "judge"]),
              help="Group the runs.")  # fmt: skip
@click.option("--since", type=click.DateTime(["%Y-%m-%d"]), metavar="DATE",
              help="Count only runs since that day, such as 2026-11-01.")  # fmt: skip
@click.option("--format", "form", type=click.Choice(["table", "json", "html"]), default="table", show_default=True,
              help="Choose text, one JSON document, or a page for a browser.")  # fmt: skip
@json_option
def show_stats(by: str | None, since: datetime | None, form: str, as_json: bool) -> None:
    """Count over all runs: how many features are proven, after how many iterations, at what cost, and why runs ended.

    It reads only the journals of the repository's runs, in every worktree. A run counts as proven only if its
    clean-room proof passed.
    """
    from shutil import get_terminal_size

    from aigon.api import open_project
    from aigon.views.figures import build_stats_document, render_stats_page, render_stats_table

    with here() as checkout:
        stats = open_project(checkout.root).stats(by, since.date() if since else None)  # type: ignore[arg-type]
    day = since.date().isoformat() if since else ""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a model's name may hold what the terminal's encoding does not
    match "json" if as_json else form:
        case "json":
            answer(build_stats_document(stats, day), "", as_json=True)
        case "html":
            print(render_stats_page(stats, day))
        case _:
            print("\n".join(render_stats_table(stats, get_terminal_size().columns)))


@click.command("report")
@click.argument("feature", metavar="ID", shell_complete=complete_features)
@click.option("--format", "form", type=click.Choice(["html", "md"]), default="html", show_default=True,
              help="Choose a page for a browser, or Markdown for a pull request.")  # fmt: skip
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Write to FILE.  [default: .aigon/reports/feature-ID.html; md to standard output]")  # fmt: skip
@click.option("--open", "opened", is_flag=True, help="Show the page in a browser.")
@click.option("--comment", is_flag=True, help="Post it with gh on the issue that the spec came from.")
@json_option
def show_report(feature: str, form: str, output: Path | None, opened: bool, comment: bool, as_json: bool) -> None:
    """Write a page about feature ID: outcome, criteria with their evidence, checks, cost, changes.

    The page is one file that needs no network. You can write it while a loop is running.
    """
    from aigon.views.report.gather import write_report

    if comment:
        from aigon.views.report.pages import post_report

        with here() as checkout:
            address = post_report(checkout, feature)
        answer({"feature": feature, "comment": address}, f"Posted: {address}", as_json)
        return
    with here() as checkout:
        made = write_report(checkout, feature, form, output)
    name = str(made.file) if made.file else None
    answer({**made.facts, "file": name, **({} if name else {"text": made.text})}, name or made.text.rstrip(), as_json)
    if opened:
        nowhere = "Not opened: it is in no file. Name one: --output FILE"
        click.echo(open_in_browser(made.file.as_uri()) if made.file else nowhere, err=True)


@click.command("feature-validate")
@click.argument("feature", metavar="ID", shell_complete=complete_open_features)
@profile_option()
@setting("--validation-script", metavar="PATH", help="Run this script instead of the profile's checks.")
@judge_option("Choose who decides open criteria: agent, anthropic, command, none.")
@click.option("--skip-validation", is_flag=True, help="Run no checks; only the commands of criteria decide.")
@click.option(
    "--explain",
    "--verbose",
    is_flag=True,
    help="Show how each check ran, and what the commands of checks and criteria read.",
)
@json_option
def validate_once(
    feature: str,
    profile: str | None,
    validation_script: str | None,
    judge: str | None,
    skip_validation: bool,
    explain: bool,
    as_json: bool,
) -> int:
    """Run the checks and decide the criteria of feature ID on the current files, without an agent.

    Nothing is written to the spec or to git.
    """
    from aigon.job.options import Options

    options = Options(
        feature, profile=profile, validation_script=validation_script, judge=judge, skip_validation=skip_validation
    )
    return _validate(options, explain, as_json)


def _validate(options: "Options", explain: bool, as_json: bool) -> int:
    """Print what happens line by line, then the results; with `explain`, also what will run and how it ran.

    As JSON that is one document; if no check can run, one with what is known all the same.
    """
    from shutil import get_terminal_size

    from aigon.model.outcomes import get_exit_code
    from aigon.run.validate import ValidationPlan, validate
    from aigon.views.terminal.lines import LineSink
    from aigon.views.validation import build_plan_document, build_report_document, render_plan, render_report

    planned: dict[str, object] = {}
    width = get_terminal_size((80, 24)).columns if explain and not as_json else 0

    def announce(plan: ValidationPlan) -> None:
        if as_json:
            planned.update(build_plan_document(plan))
        elif explain:
            print(f"{render_plan(plan, width)}\n")

    try:
        with here() as checkout:
            report = validate(checkout, options, [LineSink(sys.stderr if as_json else sys.stdout)], announce)
    except AigonError as error:
        if not as_json:
            raise
        print(f"aigon: {explain_error(error)}", file=sys.stderr)
        answer({**planned, "error": as_document(error)}, "", as_json=True)
        return int(error.code)
    answer(build_report_document(report) if as_json else {}, f"\n{render_report(report, width)}", as_json)
    return int(get_exit_code(report.outcome))
