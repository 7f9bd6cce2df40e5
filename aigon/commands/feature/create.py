"""`aigon feature-create`: write a new feature spec into the inbox."""

import click

from aigon.commands.common import answer, commit_option, committing, here, json_option, verify_option


@click.command("feature-create")
@click.argument("title", nargs=-1, required=True)
@click.option("--slug", metavar="NAME", default="", help="Name the feature, if its title does not make a good name.")
@click.option(
    "--priority", type=click.Choice(["high", "medium", "low"]), help="Say how soon `aigon run start` takes it up."
)
@commit_option
@verify_option
@json_option
def command(title: tuple[str, ...], slug: str, priority: str | None, commit: bool, verify: bool, as_json: bool) -> int:
    """Write a spec for the feature TITLE (a few words) into the inbox, and commit it."""
    from aigon.agents.configured import build_loop_command
    from aigon.job.seat import hold_checkout
    from aigon.run.feature_stages import create_feature

    how = committing(commit=commit, verify=verify, as_json=as_json)
    with here() as checkout, hold_checkout(checkout):
        feature = create_feature(checkout, " ".join(title), slug, how, priority or "")
        go_on = f"Next: write its acceptance criteria, then {build_loop_command(checkout.root, feature.slug)}"
    text = f"Wrote {feature.path}\n{go_on}"
    answer({"slug": feature.slug, "path": feature.path, "stage": feature.stage}, text, as_json)
    return 0
