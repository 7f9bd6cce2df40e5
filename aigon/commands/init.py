"""`aigon init`: set up aigon in this repository."""

import click

from aigon.commands.common import answer, here, json_option


@click.command("init")
@click.option("--profile", envvar="AIGON_PROFILE", help="The profile, where detection is not enough.")
@click.option("--no-commands", is_flag=True, help="Write no commands such as /feature-implement for agents.")
@json_option
def command(profile: str | None, no_commands: bool, as_json: bool) -> int:
    """Detect how this project is checked, write .aigon/config.json, keep runtime files out of git.

    Agents that are installed here or configured get commands such as /feature-implement, where they read them in the
    repository. Running it again changes nothing that is there, but for such commands that nobody edited.
    """
    from aigon.run.initialise import initialise

    with here() as checkout:
        done = initialise(checkout, profile, commands=not no_commands)
    answer(done.document(), done.text(), as_json)
    return 0
