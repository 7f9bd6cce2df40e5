"""`aigon feature-setup`: start a feature."""

import click

from aigon.commands.common import answer, here, json_option


@click.command("feature-setup")
@click.argument("feature", metavar="ID")
@json_option
def command(feature: str, as_json: bool) -> int:
    """Start feature ID: make its branch at HEAD, check it out, and move its spec to in-progress."""
    from aigon.run.bookkeeping import set_up
    from aigon.run.locks import alone

    with here() as checkout, alone(checkout):
        moved, branch = set_up(checkout, feature)
    text = (
        f"On branch {branch}\nSpec: {moved.path}\n"
        f"Next: write its acceptance criteria, then aigon feature-implement {moved.id} --loop"
    )
    answer({"id": moved.id, "slug": moved.slug, "path": moved.path, "branch": branch}, text, as_json)
    return 0
