"""`aigon feature-done`: merge a proven feature."""

import click

from aigon.commands.common import answer, here, json_option


@click.command("feature-done")
@click.argument("feature", metavar="ID")
@click.option("--into", metavar="BRANCH", help="The branch to merge into.  [default: where the feature began]")
@click.option("--force", is_flag=True, help="Merge although it is not proven.")
@json_option
def command(feature: str, into: str | None, force: bool, as_json: bool) -> int:
    """Merge the proven feature ID with `git merge --no-ff` (your hooks and signing apply), its spec to done."""
    from aigon.run.done import finish
    from aigon.run.locks import alone

    with here() as checkout, alone(checkout):
        moved, target, commit = finish(checkout, feature, into, force)
    text = (
        f"Merged {moved.name} into {target} ({commit[:12]}); the spec is {moved.path}\n"
        f"Its branch is still there: git branch -d {moved.name}"
    )
    answer({"id": moved.id, "into": target, "commit": commit, "path": moved.path}, text, as_json)
    return 0
