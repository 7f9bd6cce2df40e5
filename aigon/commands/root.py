"""The root of the command line: finds a verb, runs it, turns every error into one message and an exit code.

Also, groups of options in the help, and groups of commands that are imported when they are run.
"""

import importlib
import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from aigon import __version__
from aigon.cli import ALIASES, VERBS, discard_output, help_text
from aigon.errors import AigonError, Exit, as_document, explain_error, usage
from aigon.installation import leave_environment

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
        about = f"Show {rare} more options as well."
        names, flags = ["--help-all"], {"is_flag": True, "is_eager": True, "expose_value": False}
        self._help_all = [click.Option(names, **flags, callback=_show_all, help=about)] if rare else []

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


SUGGESTIONS = {
    **dict.fromkeys(("list", "ls"), "aigon board lists every feature; aigon feature-status shows where each stands"),
    **dict.fromkeys(("start", "loop"), "aigon feature-implement ID --loop"),
    **dict.fromkeys(("log", "tail", "follow", "attach"), "aigon logs ID -f"),
    **dict.fromkeys(("delete", "remove", "rm"), "aigon cancel ID"),
    **dict.fromkeys(("new", "add"), "aigon feature-create TITLE"),
    **dict.fromkeys(("resume", "continue"), "aigon feature-implement ID --resume"),
    **dict.fromkeys(("check", "test", "verify"), "aigon feature-validate ID"),
    **dict.fromkeys(("abort", "kill", "pause"), "aigon stop ID"),
    **dict.fromkeys(("agents", "version"), "aigon doctor lists agents and versions"),
    "show": "aigon spec-show ID lists the criteria; aigon feature-status ID shows where it stands",
    "merge": "aigon feature-done ID",
    "next": "aigon board",
}
"""What to run for words that other tools use as commands."""


class Verbs(LazyGroup):
    """All verbs, under their other spellings too."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the one verb that is wanted."""
        return super().get_command(ctx, ALIASES.get(cmd_name, cmd_name))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Raise AigonError (exit 2) for an unknown verb, with the nearest one."""
        if ctx.resilient_parsing and args[0] == "help":  # a shell completes the commands again
            return None, None, []
        if args and args[0] not in {**VERBS, **ALIASES} and not args[0].startswith("-"):
            raise usage(f"There is no command '{args[0]}'", where="aigon COMMAND", hint=_suggest_verb(args[0]))
        return super().resolve_command(ctx, args)

    def get_help(self, ctx: click.Context) -> str:  # noqa: ARG002
        """The help that `aigon.cli` prints without click."""
        return help_text().rstrip("\n")


def _suggest_verb(word: str) -> str:
    """Return what to do instead of a verb that does not exist, such as `done` for `feature-done`."""
    import difflib

    stem = word.removeprefix("feature-")
    near = [verb for verb in (stem, f"feature-{stem}") if verb in VERBS]
    if not near and stem in SUGGESTIONS:
        return SUGGESTIONS[stem]
    near = near or difflib.get_close_matches(word, [*VERBS, *ALIASES], n=1)
    return f"Did you mean '{near[0]}'? See aigon {near[0]} --help" if near else "aigon --help lists all commands"


@click.group(cls=Verbs, verbs=VERBS, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="aigon %(version)s")
def root() -> None:
    """The verbs of aigon."""


def run(arguments: list[str]) -> int:
    """Run a command line; its exit code."""
    if sys.platform == "win32":
        print("aigon: Windows itself is not supported. It runs under WSL2: https://aka.ms/wsl", file=sys.stderr)
        return Exit.USAGE
    try:
        leave_environment(os.environ, Path.cwd())
        code = root.main(arguments, prog_name="aigon", standalone_mode=False)
        sys.stdout.flush()  # who reads may have had enough: known now, it is no error of the interpreter's last moment
        return code if isinstance(code, int) else Exit.MET
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        return _explain(_usage_error(error, arguments), "--json" in arguments)
    except (click.Abort, KeyboardInterrupt):
        print("\naigon: interrupted", file=sys.stderr)
        return Exit.INTERRUPTED
    except AigonError as error:
        return _explain(error, "--json" in arguments)
    except BrokenPipeError:
        discard_output()
        return Exit.INTERNAL
    except OSError as error:  # a full disk, a file system that is read-only
        from aigon.files.system_errors import explain_os_error

        code = _explain(explain_os_error("The system refused", error), "--json" in arguments)
        try:
            sys.stdout.flush()
        except OSError:  # it was what is printed that the system refused
            discard_output()
        return code


def _usage_error(error: click.ClickException, arguments: list[str]) -> AigonError:
    """Return a slip on the command line in the form of every other error; `where` is the command's usage line."""
    near = getattr(error, "possibilities", None)  # of an option or a subcommand that does not exist
    message = error.format_message() if near is None else error.message
    what = " ".join(message.split()).rstrip(".")  # click lists choices on lines of their own
    context = (error.ctx if isinstance(error, click.UsageError) else None) or _make_context(arguments)
    where = " ".join([context.command_path, *context.command.collect_usage_pieces(context)])
    hint = f"{context.command_path} --help"
    if isinstance(context.command, click.Group) and context.parent:
        what = "A command is missing" if isinstance(error, click.exceptions.NoArgsIsHelpError) else what
        hint = f"Commands: {', '.join(context.command.list_commands(context))}. See {hint}"
    if near:
        hint = f"Did you mean '{near[0]}'? See {hint}"
    elif isinstance(error, click.BadParameter) and error.param:
        hint = f"{_suggest_value(error.param, context)}See {hint}"
    elif isinstance(error, click.BadOptionUsage):
        names = {name: option for option in context.command.params for name in option.opts}
        if option := names.get(error.option_name):
            hint = f"Write {error.option_name} {option.make_metavar(context)}. See {hint}"
    return usage(what, where=where, hint=hint)


def _suggest_value(parameter: click.Parameter, context: click.Context) -> str:
    """Return how to give a parameter that is missing or has a bad value."""
    if isinstance(parameter, click.Option):
        about = f" ({parameter.help.partition('  [')[0].rstrip('.')})" if parameter.help else ""
        return f"Write {parameter.opts[0]} {parameter.make_metavar(context)}{about}. "
    return "aigon board lists the features. " if parameter.name == "feature" else ""


def _make_context(arguments: list[str]) -> click.Context:
    """Return the context of the verb in a command line: the parser raises some errors without one."""
    top = click.Context(root, info_name="aigon")
    command = root.get_command(top, arguments[0]) if arguments else None
    return click.Context(command, info_name=arguments[0], parent=top) if command else top


def _explain(error: AigonError, as_json: bool) -> int:
    """Return what is wrong, where, and what to do."""
    print(f"aigon: {explain_error(error)}", file=sys.stderr)
    if as_json:
        import json

        print(json.dumps({"schema_version": 1, "error": as_document(error)}))
    return int(error.code)
