"""Groups of options in the help, and of commands that are imported when they are run."""

import importlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


GROUPS = ("Basics", "Agents", "Limits", "Checks", "Resuming", "Safety", "Output")
"""In the order of the help. An option without a group is a basic one."""
FEWEST_FOR_GROUPS = 9
"""Fewer options are one list."""
WIDEST_COLUMN = 22
"""Columns of an option's names; longer ones have a line of their own."""
_ALL = "aigon.help_all"
F = TypeVar("F", bound=Callable[..., Any])


class Option(click.Option):
    """An option of a group of the help; `rare` ones are left to `--help-all`."""

    def __init__(self, *arguments: Any, group: str = GROUPS[0], rare: bool = False, **attributes: Any) -> None:
        super().__init__(*arguments, **attributes)
        self.group, self.rare = group, rare


def option(*names: str, **attributes: Any) -> Callable[[F], F]:
    """Return `click.option` with `group` and `rare` in addition."""
    return click.option(*names, cls=Option, **attributes)


def setting(*names: str, **attributes: Any) -> Callable[[F], F]:
    """Return an option that a variable can replace: AIGON_MAX_COST for `--max-cost`."""
    return option(*names, envvar=f"AIGON_{names[0].removeprefix('--').replace('-', '_').upper()}", **attributes)


rare_option, rare_setting = partial(option, rare=True), partial(setting, rare=True)


class Command(click.Command):
    """A command whose help lists its options in groups, without the rare ones unless `--help-all` asks for them."""

    def __init__(self, *arguments: Any, **attributes: Any) -> None:
        super().__init__(*arguments, **attributes)
        rare = sum(isinstance(each, Option) and each.rare for each in self.params)
        self._help_all = [_make_help_all(rare)] if rare else []

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The parameters with those for help."""
        return [*super().get_params(ctx), *self._help_all]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by group, all in the same two columns."""
        groups: dict[str, list[tuple[str, str]]] = {name: [] for name in GROUPS}
        for parameter in self.get_params(ctx):
            if record := _describe(parameter, ctx):
                groups[parameter.group if isinstance(parameter, Option) else GROUPS[-1]].append(record)
        records = [record for group in groups.values() for record in group]
        column = min(max(len(names) for names, _ in records), WIDEST_COLUMN)
        for name, group in (groups if len(records) >= FEWEST_FOR_GROUPS else {"Options": records}).items():
            if group:
                with formatter.section(name):
                    formatter.write_dl([(names.ljust(column), about) for names, about in group], col_max=column)


def _describe(parameter: click.Parameter, ctx: click.Context) -> tuple[str, str] | None:
    is_hidden = isinstance(parameter, Option) and parameter.rare and not ctx.meta.get(_ALL)
    return None if is_hidden or isinstance(parameter, click.Argument) else parameter.get_help_record(ctx)


def _make_help_all(rare: int) -> click.Option:
    about = f"Show {rare} more options as well."
    return click.Option(["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_show_all, help=about)


def _show_all(ctx: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


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
        module = importlib.import_module(f"aigon.commands.{self.verbs[cmd_name][0]}")
        commands = (each for each in vars(module).values() if isinstance(each, click.Command))
        return next(each for each in commands if each.name == cmd_name)

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
