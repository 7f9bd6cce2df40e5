"""`aigon stats`: what the runs of a repository came to."""

import shutil
import sys
from datetime import datetime

import click

from aigon.commands.common import answer, here, json_option


@click.command("stats")
@click.option("--by", type=click.Choice(["kind", "agent", "model", "profile", "step", "judge"]),
              help="Divide the runs into groups.")  # fmt: skip
@click.option("--since", type=click.DateTime(["%Y-%m-%d"]), metavar="DATE",
              help="Count runs that began on that day, such as 2026-11-01, or later.")  # fmt: skip
@click.option("--format", "form", type=click.Choice(["table", "json", "html"]), default="table", show_default=True,
              help="Choose text, one JSON document, or a page for a browser.")  # fmt: skip
@json_option
def command(by: str | None, since: datetime | None, form: str, as_json: bool) -> int:
    """See what the runs came to: how many features are proven, after how many iterations, at what cost, why they ended.

    It reads the journal of every run of the repository, in every worktree, and nothing else. A run counts as proven
    only if its clean-room proof passed.
    """
    from aigon.api import open_project
    from aigon.views.stats import build_stats_document, render_stats_page, render_stats_table

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
            print("\n".join(render_stats_table(stats, shutil.get_terminal_size().columns)))
    return 0
