"""Every command that opens a repository looks for what an aigon that was killed left running there."""

import os
import sys
from functools import partial
from pathlib import Path

import click

from aigon.commands.common import confirm
from aigon.files.home import find_home
from aigon.process.running import list_notes


def offer_to_end(root: Path, common_dir: Path) -> None:
    """Ask whether to end what is left, on a terminal; without one, or for --json, say how it is ended.

    It costs a listing of one folder where no aigon was killed. Below a loop nothing is said: what runs there belongs to
    it.
    """
    home = None if os.environ.get("AIGON_RUN") else find_home(common_dir)
    if home is None or not list_notes(home):
        return
    from aigon.run.invocations import offer_to_end

    context = click.get_current_context(silent=True)
    given = context.params if context else {}
    asks = not given.get("as_json") and sys.stdin.isatty() and sys.stderr.isatty()
    offer_to_end(home, confirm if asks else None, partial(print, "aigon:", file=sys.stderr), beside=_own(context, root))


def offer_around(start: Path) -> None:
    """The same for a command that needs no repository, or opens none: it looks for one around a folder."""
    from aigon.errors import AigonError
    from aigon.git.repository import find_repository

    try:
        repository = find_repository(start)
    except AigonError:
        return
    offer_to_end(repository.root, repository.common_dir)


def _own(context: click.Context | None, root: Path) -> str:
    """The feature whose own leftovers a run ends by itself; "" where none is about to begin."""
    if context is None or context.info_name not in ("feature-implement", "arena"):
        return ""
    from aigon.errors import AigonError
    from aigon.spec.files import locate_feature

    try:
        return locate_feature(root, str(context.params.get("feature"))).name_for_people
    except AigonError:
        return ""
