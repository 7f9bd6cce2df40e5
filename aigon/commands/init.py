"""`aigon init`: set up aigon in this repository."""

import click

from aigon.commands.common import answer, here, json_option


@click.command("init")
@click.option("--profile", envvar="AIGON_PROFILE", help="The profile, where detection is not enough.")
@json_option
def command(profile: str | None, as_json: bool) -> int:
    """Detect how this project is checked, write .aigon/config.json, keep runtime files out of git.

    Running it again changes nothing that is there.
    """
    from aigon.run.initialise import initialise

    with here() as checkout:
        done = initialise(checkout, profile)
    answer(done.document(), done.text(), as_json)
    return 0
