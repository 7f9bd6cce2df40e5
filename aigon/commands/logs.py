"""`aigon logs`: what a run does, or did."""

import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click
from msgspec import to_builtins

from aigon.commands.common import here
from aigon.commands.completers import complete_agents, complete_features
from aigon.commands.help import option

if TYPE_CHECKING:
    from aigon.journal.events import Event
    from aigon.model.turns import Step

    Item = Event | Step | bytes
    Render = Callable[[Item], str | None]


@click.command("logs")
@click.argument("feature", metavar="ID", shell_complete=complete_features)
@option(
    "--follow",
    "-f",
    is_flag=True,
    help="Follow the run until it ends, from its last resume on; Ctrl+C ends only this command.",
)
@option("--agent", metavar="NAME", shell_complete=complete_agents, help="Choose one of several agents.")
@option("--raw", is_flag=True, help="Print only the raw output of the agent's program.")
@option("--json", "as_json", is_flag=True, group="Output", help="Print one JSON object per line.")
def command(feature: str, follow: bool, agent: str | None, raw: bool, as_json: bool) -> int:
    """Print the log of the last run of feature ID, while it runs or afterwards.

    There is a line for each event, and for each thing that the agent says, reads, edits, runs and searches, as far as
    its program reports it. It works from any terminal, in a worktree and in an arena. Known secrets are removed. What
    an agent says is never evidence.

    Exit codes: 0, 2 there is no such feature or run.
    """
    from aigon.api import open_project
    from aigon.errors import Exit, usage
    from aigon.files.pipe import write_line
    from aigon.journal.events import RunStarted
    from aigon.views.terminal.lines import LogText

    if raw and as_json:
        raise usage("--raw and --json exclude each other", where="--raw", hint="Name one")
    render = render_json if as_json else _render_raw if raw else LogText().render
    with here() as checkout:
        project = open_project(checkout.root)
        run = project.choose_run(feature, agent)
        earlier = run.invocations - 1 if follow else 0
        try:
            for item in project.watch(run, raw=raw, is_cancelled=lambda: not follow):
                text = render(item)  # what is not printed counts the iterations
                earlier -= isinstance(item, RunStarted) and item.resumed
                if text is not None and earlier <= 0 and not write_line(sys.stdout, text):
                    return 0
        except KeyboardInterrupt:
            return Exit.INTERRUPTED
    return 0


def _render_raw(item: "Item") -> str | None:
    """Return a line of a program's output; on a terminal without what would steer it."""
    from aigon.text.quoting import strip_escapes

    if not isinstance(item, bytes):
        return None
    text = item.decode("utf-8", "replace")
    return strip_escapes(text) if sys.stdout.isatty() else text


def render_json(item: "Item") -> str:
    """Return an event or a step as a line of JSON."""
    from aigon.journal.codec import encode
    from aigon.model.turns import Step

    assert not isinstance(item, bytes)
    document = {"event": "activity", **to_builtins(item)} if isinstance(item, Step) else encode(item)
    return json.dumps({"schema_version": 1, **document}, ensure_ascii=False)
