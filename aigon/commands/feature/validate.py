"""`aigon feature-validate`: iteration 0 alone."""

import shutil
import sys

import click

from aigon.commands.common import answer, here, json_option, judge_option, profile_option
from aigon.commands.completers import complete_open_features
from aigon.commands.help import setting
from aigon.errors import AigonError, as_document, explained
from aigon.job.options import Options


@click.command("feature-validate")
@click.argument("feature", metavar="ID", shell_complete=complete_open_features)
@profile_option
@setting("--validation-script", metavar="PATH", help="Run this in place of the profile's checks.")
@judge_option("Choose who decides open criteria: agent, anthropic, command, none.")
@click.option("--skip-validation", is_flag=True, help="Run no checks; only the commands of criteria decide.")
@click.option(
    "--explain",
    "--verbose",
    is_flag=True,
    help="Show how each check ran, and what the commands of checks and criteria read.",
)
@json_option
def command(
    feature: str,
    profile: str | None,
    validation_script: str | None,
    judge: str | None,
    skip_validation: bool,
    explain: bool,
    as_json: bool,
) -> int:
    """Run the checks and decide the criteria of feature ID on the files as they are: no agent, no writes."""
    options = Options(
        feature, profile=profile, validation_script=validation_script, judge=judge, skip_validation=skip_validation
    )
    return _as_data(options) if as_json else _for_people(options, explain)


def _for_people(options: Options, explain: bool) -> int:
    """Print what happens line by line; with `explain`, also what will run and how it ran."""
    from aigon.model.outcomes import get_exit_code
    from aigon.run.validate import validate
    from aigon.views.terminal.lines import LineSink
    from aigon.views.validation import render_plan, render_report

    width = shutil.get_terminal_size((80, 24)).columns if explain else 0
    with here() as checkout:
        report = validate(
            checkout,
            options,
            [LineSink(sys.stdout)],
            lambda plan: print(f"{render_plan(plan, width)}\n") if explain else None,
        )
    print(f"\n{render_report(report, width)}")
    return int(get_exit_code(report.outcome))


def _as_data(options: Options) -> int:
    """Print one document; if no check can run, one with what is known all the same."""
    from aigon.model.outcomes import get_exit_code
    from aigon.run.validate import validate
    from aigon.views.terminal.lines import LineSink
    from aigon.views.validation import build_plan_document, build_report_document

    planned: dict[str, object] = {}
    try:
        with here() as checkout:
            report = validate(
                checkout, options, [LineSink(sys.stderr)], lambda plan: planned.update(build_plan_document(plan))
            )
    except AigonError as error:
        print(f"aigon: {explained(error)}", file=sys.stderr)
        answer({**planned, "error": as_document(error)}, "", as_json=True)
        return int(error.code)
    answer(build_report_document(report), "", as_json=True)
    return int(get_exit_code(report.outcome))
