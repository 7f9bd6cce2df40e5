"""`aigon feature-prioritise`: give a feature its ID and move it to the backlog."""

import click

from aigon.commands.common import answer, here, json_option, verify_option


@click.command("feature-prioritise")
@click.argument("feature", metavar="NAME")
@verify_option
@json_option
def command(feature: str, verify: bool, as_json: bool) -> int:
    """Give the feature NAME of the inbox the next free ID, move its spec to the backlog, and commit that."""
    from aigon.run.bookkeeping import prioritise
    from aigon.run.locks import alone

    with here() as checkout, alone(checkout):
        moved = prioritise(checkout, feature, verify=verify)
    text = f"Feature {moved.id} is {moved.path}\nNext: aigon feature-setup {moved.id}"
    answer({"id": moved.id, "slug": moved.slug, "path": moved.path, "stage": moved.stage}, text, as_json)
    return 0
