"""The root of the command line: finds a verb, runs it, turns every error into one message and an exit code."""

import importlib
import sys

import click

from aigon.cli import VERBS
from aigon.core.errors import AigonError, Exit


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

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the verbs without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(verb, line) for verb, (_, line) in VERBS.items()])


@click.group(cls=LazyVerbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=lambda c, _p, v: _version(c, v))
def root() -> None:
    """Run a coding agent in a loop until every acceptance criterion of a feature is proven.

    aigon runs your project's own checks after every turn, ticks exactly the criteria they prove, commits, and tells
    the agent what is still wrong. What the agent says is never evidence.

    Start with `aigon demo`, then `aigon init` in your repository.
    """


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
        return code if isinstance(code, int) else Exit.MET
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        error.show()
        return Exit.USAGE
    except (click.Abort, KeyboardInterrupt):
        print("\naigon: interrupted", file=sys.stderr)
        return Exit.INTERRUPTED
    except AigonError as error:
        return _explain(error, "--json" in arguments)
    except BrokenPipeError:
        sys.stderr.close()
        return Exit.INTERNAL


def _explain(error: AigonError, as_json: bool) -> int:
    """What is wrong, where, and what to do."""
    where = f"\n  where: {error.where}" if error.where else ""
    hint = f"\n  do:    {error.hint}" if error.hint else ""
    print(f"aigon: {error.what}.{where}{hint}", file=sys.stderr)
    if as_json:
        import json

        document = {"what": error.what, "where": error.where, "hint": error.hint, "exit_code": int(error.code)}
        print(json.dumps({"schema_version": 1, "error": document}))
    return int(error.code)
