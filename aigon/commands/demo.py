"""`aigon demo`: see it work in a minute."""

import click

from aigon.run.options import Options


@click.command("demo")
@click.option(
    "--dir", "folder", type=click.Path(file_okay=False), help="Where to make it.  [default: temporary]"
)
@click.option("--agent", help="A real agent in place of the recorded one, e.g. claude.")
def command(folder: str | None, agent: str | None) -> int:
    """Make a small repository with a feature to build, and run the real loop on it.

    Git, pytest, ruff, the commits, the verdicts are real; only the agent is a recording, unless you name one.
    """
    from aigon.commands.common import confirm
    from aigon.commands.feature_implement import observers
    from aigon.ports.git import Checkout, forget_inherited_repository
    from aigon.run.demo import RECORDED, after, before, make
    from aigon.run.implement import implement

    forget_inherited_repository()
    root = make(folder)
    click.echo(before(root, agent))
    options = Options("1", loop=True, agents=(agent or RECORDED,))
    with Checkout.open(root) as checkout:
        ended = implement(checkout, options, observers=lambda s: observers(s, as_json=False), confirm=confirm)
        click.echo(f"\n{ended.summary}\n")
        click.echo(after(checkout, agent))
    return ended.exit_code
