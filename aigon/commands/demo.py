"""`aigon demo`: see it work in a minute."""

import sys
from typing import TYPE_CHECKING

import click

from aigon.commands.common import json_option
from aigon.commands.completers import complete_agents
from aigon.job.options import Options

if TYPE_CHECKING:
    from aigon.journal.events import RunFinished
    from aigon.journal.sinks import Observer
    from aigon.run.session import Session


@click.command("demo")
@click.option(
    "--dir",
    "folder",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    help="Make it in this folder.  [default: a temporary one]",
)
@click.option(
    "--agent",
    metavar="NAME",
    shell_complete=complete_agents,
    help="Use a real agent in place of the recorded one, such as claude.",
)
@json_option
def command(folder: str | None, agent: str | None, as_json: bool) -> int:
    """Make a small repository with a feature to build, and run the real loop on it.

    Git, pytest, ruff, the commits and the assessments are real; only the agent is a recording, unless you name one.
    """
    from aigon.commands.common import answer, confirm
    from aigon.git.person import Checkout, forget_inherited_repository
    from aigon.run.demo import RECORDED, create_demo, describe_demo, suggest_next
    from aigon.run.implement import implement

    forget_inherited_repository()
    root = create_demo(folder)
    click.echo(describe_demo(root, agent), err=as_json)
    options = Options("1", loop=True, agents=(agent or RECORDED,))
    with Checkout.open(root) as checkout:
        live = sys.stdout.isatty() and not as_json
        ended = implement(
            checkout, options, observers=lambda s: _observers(s, as_json), confirm=confirm, announce=not live
        )
        answer(_document(str(root), ended), f"\n{ended.summary}\n{suggest_next(checkout, agent)}", as_json)
    return ended.exit_code


def _observers(session: "Session", as_json: bool) -> "list[Observer]":
    """As in `feature-implement`; with `--json` the one document is for the end, and people read along elsewhere."""
    from aigon.commands.feature.implement import observers
    from aigon.views.terminal.lines import LineSink

    return [LineSink(sys.stderr)] if as_json else observers(session)


def _document(root: str, ended: "RunFinished") -> dict[str, object]:
    return {
        "dir": root,
        "outcome": ended.status,
        "exit_code": ended.exit_code,
        "commit": ended.commit,
        "summary": ended.summary,
    }
