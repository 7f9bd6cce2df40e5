"""`aigon fleet worker`: let this machine work for a scheduler."""

import click


@click.command("worker")
@click.argument("address")
@click.option("--slots", type=click.IntRange(1, 1024), metavar="N", help="Work on N cells at a time.  [default: cores]")
def command(address: str, slots: int | None) -> int:
    """Work for the Dask scheduler at ADDRESS, such as tcp://big:8786, until Ctrl+C.

    It offers what `aigon doctor` finds here: a cell runs only where its agent can. Credentials of agents and of git are
    this machine's own.

    Exit codes: 0 ended, 7 the scheduler does not answer, or aigon's extra `fleet` is missing.
    """
    from aigon.fleet.cluster import serve_worker

    serve_worker(address, slots)
    return 0
