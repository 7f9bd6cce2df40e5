"""`aigon feature-validate`: iteration 0 alone."""

import sys

import click

from aigon.commands.common import answer, here, json_option
from aigon.run.options import Options


@click.command("feature-validate")
@click.argument("feature", metavar="ID")
@click.option("--profile", envvar="AIGON_PROFILE", help="The profile, where detection is not enough.")
@click.option(
    "--validation-script",
    envvar="AIGON_VALIDATION_SCRIPT",
    metavar="PATH",
    help="Run this in place of the profile's checks.",
)
@click.option("--judge", envvar="AIGON_JUDGE", help="Who decides open criteria: agent, anthropic, command, none.")
@click.option("--skip-validation", is_flag=True, help="Run no checks; only verify and metric criteria decide.")
@click.option("--verbose", is_flag=True, help="Show command, duration and source of each check.")
@json_option
def command(
    feature: str,
    profile: str | None,
    validation_script: str | None,
    judge: str | None,
    skip_validation: bool,
    verbose: bool,
    as_json: bool,
) -> int:
    """Run the checks and decide the criteria of feature ID on the files as they are: no agent, no writes."""
    from aigon.run.validate import validate
    from aigon.sinks.lines import LineSink

    options = Options(
        feature, profile=profile, validation_script=validation_script, judge=judge, skip_validation=skip_validation
    )
    with here() as checkout:
        result = validate(checkout, options, [LineSink(sys.stderr if as_json else sys.stdout)])
    answer(result.document(), f"\n{result.text(verbose)}", as_json)
    return result.exit_code
