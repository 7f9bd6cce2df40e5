"""The root of the command line: finds a verb, runs it, turns every error into one message and an exit code."""

import importlib
import os
import sys

import click

from aigon.cli import VERBS, help_text
from aigon.core.errors import AigonError, Exit, as_document, explained, usage


class LazyVerbs(click.Group):
    """A group whose commands are imported when they are run; the help needs only their names and lines."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The verbs in the order of a feature's way."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the one verb that is wanted."""
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"aigon.commands.{VERBS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Say what is near where a verb is not known."""
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], VERBS, n=1)
            hint = f" Did you mean '{near[0]}'?" if near else " See `aigon --help`."
            ctx.fail(f"There is no command '{args[0]}'.{hint}")
        return super().resolve_command(ctx, args)

    def get_help(self, ctx: click.Context) -> str:  # noqa: ARG002
        """The help that `aigon.cli` prints without click."""
        return help_text().rstrip("\n")


@click.group(cls=LazyVerbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
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
        code = root.main(arguments, prog_name="aigon", standalone_mode=False)
        sys.stdout.flush()  # who reads may have had enough: known now, it is no error of the interpreter's last moment
        return code if isinstance(code, int) else Exit.MET
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        return _explain(_as_usage(error), "--json" in arguments)
    except (click.Abort, KeyboardInterrupt):
        print("\naigon: interrupted", file=sys.stderr)
        return Exit.INTERRUPTED
    except AigonError as error:
        return _explain(error, "--json" in arguments)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.INTERNAL
    except OSError as error:  # a full disk, a file system that is read-only
        from aigon.ports.lacking import refusal

        return _explain(refusal("The system refused", error), "--json" in arguments)


def _as_usage(error: click.ClickException) -> AigonError:
    """A slip on the command line, in the shape of every other error; where is the command as it is to be written."""
    what, near, word = error.format_message().rstrip(".").partition(" Did you mean ")
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None:
        return usage(what.rstrip("."))
    where = " ".join([context.command_path, *context.command.collect_usage_pieces(context)])
    help_ = f"{context.command_path} --help"
    return usage(what.rstrip("."), where=where, hint=f"{near.strip()} {word} See {help_}" if near else help_)


def _explain(error: AigonError, as_json: bool) -> int:
    """What is wrong, where, and what to do."""
    print(f"aigon: {explained(error)}", file=sys.stderr)
    if as_json:
        import json

        print(json.dumps({"schema_version": 1, "error": as_document(error)}))
    return int(error.code)
