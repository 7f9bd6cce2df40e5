"""`aigon fleet status`: what each cell came to, from the leases on the remote."""

import click

from aigon.commands.common import answer, here, json_option


@click.command("status")
@json_option
def command(as_json: bool) -> int:
    """Show what each cell came to, and who works on it, as the git remote has it.

    Exit codes: 0 shown, 2 there is no remote, 7 it does not answer.
    """
    from msgspec import to_builtins

    from aigon.fleet.plan import REMOTE, read_leases
    from aigon.job.seat import open_main_checkout
    from aigon.records.exchange import open_remote, read_prefix
    from aigon.views.terminal.fleet import render_cells

    with here() as checkout, open_main_checkout(checkout) as (main, _):
        notes = read_leases(open_remote(main, REMOTE), read_prefix(main), ())
    cells = {name: note.summary if note.state == "ended" else None for name, note in sorted(notes.items())}
    text = "\n".join(render_cells({name: (each, notes[name].owner) for name, each in cells.items()}))
    answer({"cells": [to_builtins(note) for _, note in sorted(notes.items())]}, text or "No cell was begun.", as_json)
    return 0
