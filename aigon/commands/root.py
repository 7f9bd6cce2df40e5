"""The root of the command line: finds a verb, runs it, turns every error into one message and an exit code."""

import os
import sys
from pathlib import Path

import click

from aigon.cli import ALIASES, VERBS, help_text
from aigon.commands.help import LazyGroup
from aigon.errors import AigonError, Exit, as_document, explain_error, usage
from aigon.installation import leave_environment

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
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=lambda c, _p, v: _version(c, v))
def root() -> None:
    """The verbs of aigon."""


def _version(ctx: click.Context, wanted: bool) -> None:
    if wanted:
        from aigon import __version__

        click.echo(f"aigon {__version__}")
        ctx.exit()


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
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.INTERNAL
    except OSError as error:  # a full disk, a file system that is read-only
        from aigon.files.system_errors import explain_os_error

        return _explain(explain_os_error("The system refused", error), "--json" in arguments)


def _usage_error(error: click.ClickException, arguments: list[str]) -> AigonError:
    """Return a slip on the command line in the form of every other error; `where` is the command's usage line."""
    near = getattr(error, "possibilities", None)  # of an option or a subcommand that does not exist
    message = error.format_message() if near is None else error.message
    what = " ".join(message.split()).rstrip(".")  # click lists choices on lines of their own
    context = (error.ctx if isinstance(error, click.UsageError) else None) or _context_of(arguments)
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


def _context_of(arguments: list[str]) -> click.Context:
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
