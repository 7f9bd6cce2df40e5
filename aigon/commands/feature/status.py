"""`aigon feature-status`: where the features stand, and what failed."""

import click

from aigon.commands.common import answer, here, json_option
from aigon.commands.completers import complete_features
from aigon.errors import usage


@click.command("feature-status")
@click.argument("feature", metavar="[ID]", required=False, shell_complete=complete_features)
@click.option("--failures", is_flag=True, help="List every attempt at feature ID that failed, and at what.")
@click.option("--format", "form", type=click.Choice(("table", "toon")), default="table", show_default=True,
              help="Print a table for people, or TOON for programs, which needs aigon[toon].")  # fmt: skip
@json_option
def command(feature: str | None, failures: bool, form: str, as_json: bool) -> int:
    """See where feature ID stands, or all of them; if several agents do it, where each of them stands."""
    if failures:
        return _failures(feature, as_json)
    from aigon.api import open_project
    from aigon.views.status import build_status_document, render_status

    with here() as checkout:
        rows = open_project(checkout.root).status(feature, checkout=checkout.root)
    if form == "toon" and not as_json:
        from aigon.spec.prd import render_prd
        from aigon.views.tasks import build_features_table

        print(render_prd(build_features_table(rows, checkout.root.name)), end="")
        return 0
    answer(build_status_document(rows), render_status(rows, detailed=feature is not None), as_json)
    return 0


def _failures(feature: str | None, as_json: bool) -> int:
    """The failure log, from the journals of every run of the feature and every agent."""
    from aigon.files.home import find_home
    from aigon.journal import records
    from aigon.journal.records import locate_records
    from aigon.journal.replay import read_events
    from aigon.spec import files
    from aigon.views.failures import build_failures_document, read_failures, render_failures

    if not feature:
        raise usage("--failures is about one feature", hint="Name it: aigon feature-status ID --failures")
    with here() as checkout:
        found = files.locate_feature(checkout.root, feature)
        home = find_home(checkout.common_dir)
    journals = []
    if home:
        name = found.name_for_people
        every = [
            locate_records(home, name),
            *(records.candidate_records(home, one) for one in records.find_candidates(home, name)),
        ]
        journals = [journal for records in every for journal in records.journals()]
    log = read_failures(found, journals, read_events)
    answer(build_failures_document(log), render_failures(log), as_json)
    return 0
