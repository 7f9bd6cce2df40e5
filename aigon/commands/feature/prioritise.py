"""`aigon feature-prioritise`: give a feature its ID and move it to the backlog."""

import click

from aigon.commands.common import answer, commit_option, committing, here, json_option, verify_option
from aigon.commands.completers import complete_inbox


@click.command("feature-prioritise")
@click.argument("feature", metavar="NAME", shell_complete=complete_inbox)
@commit_option
@verify_option
@json_option
def command(feature: str, commit: bool, verify: bool, as_json: bool) -> int:
    """Give the feature NAME of the inbox the next free ID, move its spec to the backlog, and commit that."""
    from aigon.agents.configured import build_loop_command
    from aigon.job.seat import hold_checkout
    from aigon.run.feature_stages import prioritise_feature

    how = committing(commit=commit, verify=verify, as_json=as_json)
    with here() as checkout, hold_checkout(checkout):
        moved = prioritise_feature(checkout, feature, how)
        text = f"Feature {moved.id} is {moved.path}\nNext: {build_loop_command(checkout.root, moved.id)}"
    answer({"id": moved.id, "slug": moved.slug, "path": moved.path, "stage": moved.stage}, text, as_json)
    return 0
