"""`aigon feature-status`: where the features stand."""

import click

from aigon.commands.common import answer, here, json_option


@click.command("feature-status")
@click.argument("feature", metavar="[ID]", required=False)
@json_option
def command(feature: str | None, as_json: bool) -> int:
    """Say where feature ID stands, or all of them."""
    from aigon.core.features import feature_at
    from aigon.run import specs
    from aigon.run.bookkeeping import title_of
    from aigon.views.status import document, read, text

    with here() as checkout:
        root = checkout.root
        if feature:
            wanted = [specs.locate(root, feature)]
        else:
            paths = specs.spec_paths(root)
            wanted = [found for path in paths if (found := feature_at(path))]
        rows = [read(root, each, title_of(root, each)) for each in wanted]
    answer(document(rows), text(rows, detailed=feature is not None), as_json)
    return 0
