"""`aigon ui`: see and steer everything in a browser."""

import sys
from contextlib import suppress

import click

from aigon.commands.common import answer, here, json_option, open_in_browser
from aigon.commands.help import option


@click.command("ui")
@option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Listen on this port.  [default: a free one]"
)
@option("--host", default="127.0.0.1", metavar="ADDRESS", group="Safety", rare=True,
        help="Listen on another address than 127.0.0.1: which other machines can reach.")  # fmt: skip
@option("--read-only", is_flag=True, group="Safety", help="Show everything, start and decide nothing.")
@option("--open", "opened", is_flag=True, help="Show the page in a browser.")
@json_option
def command(port: int, host: str, read_only: bool, opened: bool, as_json: bool) -> int:
    """See this repository in a browser: the board, each run as it happens, what waits for you, statistics.

    It prints an address with a token, which only you should have, and serves it until Ctrl+C. Runs that it started go
    on. Started without a terminal it approves, rejects and merges nothing; below a loop it only shows.

    Exit codes: 0 ended with Ctrl+C, 7 the port is in use, or aigon's extra `ui` is missing.
    """
    from aigon.api import open_project
    from aigon.installation import require_extra
    from aigon.run.authority import find_run_above

    require_extra("ui", "starlette", "uvicorn", "sse_starlette", purpose="The page")
    from aigon.ui.guard import Access
    from aigon.ui.server import bind_socket, build_server

    below = find_run_above()
    with here() as checkout:
        project = open_project(checkout.root)
    with bind_socket(host, port) as listener:
        decides = sys.stdin.isatty() and sys.stderr.isatty() and not below
        access = Access(host, listener.getsockname()[1], read_only or bool(below), decides)
        address = f"{access.address}/?token={access.token}"
        lines = [f"{project.root.name} is at {address}", "Ctrl+C ends it; runs go on."]
        if not access.is_local:
            lines.append(f"Everybody who can reach {host} and has this address can steer aigon here, unencrypted.")
        if below:
            lines.append(f"It only shows, since {below}.")
        elif not decides and not read_only:
            lines.append("It approves, rejects and merges nothing: nobody started it from a terminal.")
        document = {"url": address, "port": access.port, "read_only": access.read_only, "decides": decides}
        answer(document, "\n".join(lines), as_json)
        sys.stdout.flush()
        if opened:
            click.echo(open_in_browser(f"{access.address}/?token={access.add_ticket()}"), err=True)
        with suppress(KeyboardInterrupt):  # the server raises it again once it has ended
            build_server(project, access).run(sockets=[listener])
    return 0
