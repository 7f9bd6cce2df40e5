"""`aigon report`: one page on a feature."""

from pathlib import Path

import click

from aigon.commands.common import answer, here, json_option, open_in_browser
from aigon.commands.completers import complete_features


@click.command("report")
@click.argument("feature", metavar="ID", shell_complete=complete_features)
@click.option("--format", "form", type=click.Choice(["html", "md"]), default="html", show_default=True,
              help="Choose a page for a browser, or Markdown for a pull request.")  # fmt: skip
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Write it there.  [default: .aigon/reports/feature-ID.html; md to standard output]")  # fmt: skip
@click.option("--open", "opened", is_flag=True, help="Show the page in a browser.")
@click.option("--comment", is_flag=True, help="Post it with gh on the issue that the spec was imported from.")
@json_option
def command(feature: str, form: str, output: Path | None, opened: bool, comment: bool, as_json: bool) -> int:
    """Get one page on feature ID: outcome, criteria with their evidence, checks, cost, changes.

    The page is one file that needs no network. It can be written while a loop is running.
    """
    from aigon.views.report.gather import write_report

    if comment:
        from aigon.views.report.comment import post_report

        with here() as checkout:
            address = post_report(checkout, feature)
        answer({"feature": feature, "comment": address}, f"Posted: {address}", as_json)
        return 0
    with here() as checkout:
        made = write_report(checkout, feature, form, output)
    name = str(made.file) if made.file else None
    answer({**made.facts, "file": name, **({} if name else {"text": made.text})}, name or made.text.rstrip(), as_json)
    if opened:
        said = (
            open_in_browser(made.file.as_uri())
            if made.file
            else "Not opened: it is in no file. Name one: --output FILE"
        )
        click.echo(said, err=True)
    return 0
