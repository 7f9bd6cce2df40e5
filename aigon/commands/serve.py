"""Verbs that serve this machine: `aigon ui` and `aigon mcp`."""

import sys
from contextlib import suppress
from pathlib import Path

import click

from aigon.commands.common import answer, here, json_option, open_in_browser
from aigon.commands.root import option
from aigon.errors import usage


@click.command("ui")
@option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Listen on this port.  [default: a free one]"
)
@option("--host", default="127.0.0.1", metavar="ADDRESS", group="Safety", rare=True,
        help="Listen on this address.  [default: 127.0.0.1; other machines can reach any other]")  # fmt: skip
@option("--read-only", is_flag=True, group="Safety", help="Show everything, but start and decide nothing.")
@option("--open", "opened", is_flag=True, help="Show the page in a browser.")
@json_option
def serve_page(port: int, host: str, read_only: bool, opened: bool, as_json: bool) -> None:
    """Show this repository in a browser: the board, live runs, what waits for you, statistics.

    It prints an address with a token, which you should keep to yourself, and serves it until Ctrl+C. Runs that you
    start there continue without it. If it is started without a terminal, it cannot approve, reject or merge; inside a
    loop it only shows.

    Exit codes: 0 ended with Ctrl+C, 7 the port is in use, or aigon's extra `ui` is missing.
    """
    from aigon.api import open_project
    from aigon.installation import require_extra
    from aigon.run.invocations import find_run_above

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
            lines.append("It approves, rejects and merges nothing: no person started it from a terminal.")
        document = {"url": address, "port": access.port, "read_only": access.read_only, "decides": decides}
        answer(document, "\n".join(lines), as_json)
        sys.stdout.flush()
        if opened:
            click.echo(open_in_browser(f"{access.address}/?token={access.add_ticket()}"), err=True)
        with suppress(KeyboardInterrupt):  # the server raises it again once it has ended
            build_server(project, access).run(sockets=[listener])


@click.command("mcp")
@click.argument("folders", metavar="[FOLDER]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--http", metavar="HOST:PORT", help="Serve clients of this machine by HTTP, with a token.")
@click.option("--print-config", is_flag=True, help="Print what an agent's configuration of servers needs.")
def serve_tasks(folders: tuple[Path, ...], http: str | None, print_config: bool) -> None:
    """Serve the features of this repository, or of each FOLDER, as tasks over the Model Context Protocol.

    A client creates, starts, watches and stops tasks; only a person approves, rejects and merges. Without --http it
    speaks on standard input and output, for an agent that starts it; `aigon install-commands --mcp AGENT` configures
    that. With --http it needs the token in AIGON_MCP_TOKEN, or prints one.

    Exit codes: 0 the client disconnected, 2 usage, 7 FOLDER is no repository or the port is taken.
    """
    from aigon.agents.mcp_entry import render_entry
    from aigon.files.system_errors import write_line
    from aigon.installation import require_extra

    host, port = _parse_address(http) if http else ("", 0)
    if print_config:
        write_line(sys.stdout, render_entry([*map(str, folders)], http or ""))
        return
    require_extra("mcp", "mcp", purpose="aigon mcp")
    from aigon.api import AigonError, open_project
    from aigon.git.person import forget_inherited_repository
    from aigon.mcp.server import serve_http, serve_stdio

    forget_inherited_repository()
    served = [open_project(folder.absolute()).root for folder in folders]
    if not folders:
        try:
            served = [open_project(Path.cwd()).root]
        except AigonError:  # an agent starts its servers anywhere: the tools say what is missing
            served = []
    if http:
        serve_http(served, host, port)
    else:
        serve_stdio(served)


def _parse_address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise usage(f"{text!r:.80} is not a host and a port", where="--http", hint="Write --http 127.0.0.1:8765")
    return host.strip("[]"), int(port)
