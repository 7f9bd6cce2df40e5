"""`aigon feature-create`: write a new feature spec into the inbox."""

import click

from aigon.commands.common import answer, here, json_option, verify_option


@click.command("feature-create")
@click.argument("title", nargs=-1, required=True)
@click.option("--slug", metavar="NAME", default="", help="The feature's name, if its title does not make a good one.")
@verify_option
@json_option
def command(title: tuple[str, ...], slug: str, verify: bool, as_json: bool) -> int:
    """Write a spec for the feature TITLE (a few words) into the inbox, and commit it."""
    from aigon.run.bookkeeping import create
    from aigon.run.locks import alone

    with here() as checkout, alone(checkout):
        feature = create(checkout, " ".join(title), slug, verify=verify)
    text = f"Wrote {feature.path}\nNext: aigon feature-prioritise {feature.slug}"
    answer({"slug": feature.slug, "path": feature.path, "stage": feature.stage}, text, as_json)
    return 0
