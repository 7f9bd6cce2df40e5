"""`aigon init`: set up aigon in this repository."""

import shlex

import click

from aigon.commands.common import answer, ask, committing, here, json_option, profile_option, verify_option


class OwnAgent(click.ParamType[tuple[str, list[str]]]):
    """An agent of one's own, written as NAME=COMMAND."""

    name = "agent"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, list[str]]:
        """Return the name, and the command as arguments."""
        name, _, command = str(value).partition("=")
        try:
            argv = shlex.split(command)
        except ValueError as error:
            self.fail(f"{command}: {error}", param, ctx)
        if not (name and argv):
            self.fail(f"{value} is not NAME=COMMAND, such as mine=./agent.sh", param, ctx)
        return name, argv


@click.command("init")
@profile_option
@click.option(
    "--agent",
    "agents",
    type=OwnAgent(),
    multiple=True,
    metavar="NAME=COMMAND",
    help="Configure a program of your own as an agent.",
)
@click.option("--no-commands", is_flag=True, help="Give agents no commands such as /feature-implement.")
@click.option("--commit/--no-commit", default=None, help="Commit the files, or leave that to you.  [default: ask]")
@verify_option
@json_option
def command(
    profile: str | None,
    agents: tuple[tuple[str, list[str]], ...],
    no_commands: bool,
    commit: bool | None,
    verify: bool,
    as_json: bool,
) -> int:
    """Set up aigon in this repository: detect how it is checked, write .aigon/config.json, keep runtime files out of
    git.

    Agents that are installed here or configured get commands such as /feature-implement, where they read them in the
    repository. Running it again changes nothing that is there, except such commands that nobody edited.

    What it writes belongs into a commit of the branch that features start from. In a terminal it asks whether to make
    that commit; without one, --commit makes it. Nothing else is committed, whatever is staged.
    """
    from aigon.job.seat import hold_checkout
    from aigon.run.initialise import UNCOMMITTED_HINT, commit_setup, find_uncommitted_setup, initialise
    from aigon.views.setup import build_init_document, render_init

    with here() as checkout:
        done = initialise(checkout, profile, commands=not no_commands, agents=dict(agents))
        if not as_json:
            print(render_init(done))
        left = find_uncommitted_setup(checkout)
        if left.paths and commit is None and not as_json:
            commit = ask(f"Commit {', '.join(left.paths)} to {left.branch}?") if not left.why_not else None
        made = ""
        if left.paths and commit:
            with hold_checkout(checkout):
                made = commit_setup(checkout, left, committing(commit=True, verify=verify, as_json=as_json))
        document = {
            **build_init_document(done),
            "committed": made or None,
            "uncommitted": [] if made else list(left.paths),
        }
        text = "" if made or not left.paths else f"{left.why_not or UNCOMMITTED_HINT}\n"
        text += "Criteria may be plain sentences: aigon feature-prove ID has an agent write a test for each.\n"
        answer(document, f"{text}Next: aigon feature-create NAME", as_json)
    return 0
