"""`aigon doctor`: which agents can work here, and what the machine lacks."""

import os
from pathlib import Path

import click

from aigon.commands.common import answer, json_option


@click.command("doctor")
@json_option
def command(as_json: bool) -> int:
    """Say which agents can work here, and what is missing: programs, versions, logins, git, isolation.

    Every agent's program is asked for its version; no model is asked, nothing is changed. Of credentials it looks
    only whether they are there. Works outside of a repository too.

    Exit codes: 0 at least one agent is ready and the machine is fine, 6 no agent is ready, 7 git or the machine is
    not fine, 2 the configuration is wrong.
    """
    from aigon.ports.git import forget_inherited_repository
    from aigon.run.doctor import diagnose
    from aigon.views.doctor import document, text

    forget_inherited_repository()
    found = diagnose(Path.cwd(), dict(os.environ))
    answer(document(found), text(found), as_json)
    return int(found.exit_code)
