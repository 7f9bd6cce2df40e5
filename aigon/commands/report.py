"""`aigon report`: one page on a feature."""

import os
import sys
from pathlib import Path

import click

from aigon.commands.common import answer, here, json_option
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
        click.echo(_opened(made.file), err=True)
    return 0


def _opened(file: Path | None) -> str:
    """Show a file to a person who can see it; what became of that."""
    import webbrowser

    if file is None:
        return "Not opened: it is in no file. Name one: --output FILE"
    screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or sys.platform == "darwin"
    if not (screen and sys.stdout.isatty()):
        return "Not opened: there is no display or terminal here. Open the file yourself"
    return "Opened in a browser" if webbrowser.open(file.as_uri()) else "Not opened: no browser was found"
