"""`aigon fleet stop`: let every cell finish its iteration and push it."""

import click

from aigon.commands.common import answer, here, json_option


@click.command("stop")
@json_option
def command(as_json: bool) -> int:
    """Let every cell of the fleet that was started here finish its iteration and push it; no other begins.

    Exit codes: 0 asked, 7 no fleet runs, or its scheduler does not answer.
    """
    from aigon.files.home import ensure_home
    from aigon.fleet.cluster import open_cluster
    from aigon.fleet.fleet import read_note, stop_fleet

    with here() as checkout:
        note = read_note(ensure_home(checkout.common_dir))
    with open_cluster(note.address, 0) as client:
        stop_fleet(client, note)
    text = "Asked: each cell finishes its iteration, then ends. Go on: aigon fleet run, with the same words"
    answer({"scheduler": note.address}, text, as_json)
    return 0
