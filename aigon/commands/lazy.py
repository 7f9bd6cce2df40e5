"""A group of commands that are imported when they are run: its help needs only their names and lines."""

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class LazyGroup(click.Group):
    """A group made of `verbs`: for each its module in `aigon.commands` and its line in the help."""

    def __init__(self, *arguments: Any, verbs: Mapping[str, tuple[str, str]], **attributes: Any) -> None:
        super().__init__(*arguments, **attributes)
        self.verbs = verbs

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The verbs in the order of the help."""
        return list(self.verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the one verb that is wanted."""
        if cmd_name not in self.verbs:
            return None
        command: click.Command = importlib.import_module(f"aigon.commands.{self.verbs[cmd_name][0]}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the verbs with their lines."""
        with formatter.section("Commands"):
            formatter.write_dl([(verb, line) for verb, (_, line) in self.verbs.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":  # noqa: ARG002
        """The verbs that begin so, with their lines."""
        from click.shell_completion import CompletionItem

        return [
            CompletionItem(verb, help=line) for verb, (_, line) in self.verbs.items() if verb.startswith(incomplete)
        ]
