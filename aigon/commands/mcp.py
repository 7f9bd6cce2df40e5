"""`aigon mcp`: features as tasks for agents and editors."""

from pathlib import Path

import click

from aigon.errors import usage


@click.command("mcp")
@click.argument("folders", metavar="[FOLDER]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--http", metavar="HOST:PORT", help="Serve clients of this machine by HTTP, with a token.")
@click.option("--print-config", is_flag=True, help="Print what an agent's configuration of servers needs.")
def command(folders: tuple[Path, ...], http: str | None, print_config: bool) -> int:
    """Serve the features of this repository, or of each FOLDER, as tasks over the Model Context Protocol.

    A client creates, starts, watches and stops tasks; only a person approves, rejects and merges. Without --http it
    speaks on standard input and output, for an agent that starts it: `aigon install-commands --mcp AGENT` tells agents
    how. With --http it needs the token in AIGON_MCP_TOKEN, or prints one.

    Exit codes: 0 the client is gone, 2 usage, 7 FOLDER is no repository or the port is taken.
    """
    from aigon.agents.mcp_entry import render_entry
    from aigon.files.pipe import write_line
    from aigon.installation import require_extra

    host, port = _parse_address(http) if http else ("", 0)
    if print_config:
        import sys

        write_line(sys.stdout, render_entry([*map(str, folders)], http or ""))
        return 0
    require_extra("mcp", "mcp", purpose="aigon mcp")
    from aigon.api import AigonError, open_project
    from aigon.git.person import forget_inherited_repository
    from aigon.mcp.transport import serve_http, serve_stdio

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
    return 0


def _parse_address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise usage(f"{text!r:.80} is not a host and a port", where="--http", hint="Write --http 127.0.0.1:8765")
    return host.strip("[]"), int(port)
