"""`aigon board`: every feature in its stage, what is proven of it, and who works on it."""

import sys
from pathlib import Path

import click

from aigon.commands.common import answer, json_option


@click.command("board")
@click.option("--all", "everything", is_flag=True, help="Show every feature that is done, not just the newest.")
@json_option
def command(everything: bool, as_json: bool) -> int:
    """See the features as cards in columns by stage: criteria passed, running loops, how the last run ended.

    Each feature is shown by the branch that it is worked on, whichever branch is checked out. Passed is what aigon
    saw at its last look; ticked, if no run has looked, is what boxes claim. A loop that is running is not disturbed.
    A linked worktree shows the main checkout's board.
    """
    from aigon.api import open_project
    from aigon.commands.leftovers import offer_around
    from aigon.views.board_cards import build_board_document

    columns = open_project(Path.cwd()).board(everything=everything or as_json)
    offer_around(Path.cwd())
    if as_json:
        answer(build_board_document(columns), "", as_json=True)
        return 0
    from aigon.views.board_text import print_board

    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a title may hold what the terminal's encoding does not
    print_board(columns, sys.stdout)
    return 0
