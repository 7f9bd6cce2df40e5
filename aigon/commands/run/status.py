"""`aigon run status`: where watchers and starts stand."""

from typing import TYPE_CHECKING

import click
from msgspec import to_builtins

from aigon.commands.common import answer, here, json_option

if TYPE_CHECKING:
    from aigon.journal.queue import QueueEntry


@click.command("status")
@click.option("--tail", type=click.IntRange(min=0), default=0, metavar="N", help="Show the last N steps, too.")
@json_option
def command(tail: int, as_json: bool) -> int:
    """See whether `aigon watch` or `aigon run start` works here, and what came of each task that they took up.

    Exit codes: 0, 7 the record is damaged.
    """
    from aigon.job.seat import open_main_checkout
    from aigon.queue.listing import read_queue_status

    with here() as checkout, open_main_checkout(checkout) as (main, _):
        found = read_queue_status(main, tail)
    lines = [f"{each.feature}: pid {each.loop.pid}, since {each.since}" for each in found.running]
    lines = lines or ["Nobody works through tasks here now."]
    lines += [describe_entry(each) for each in found.entries]
    lines += ["", *(f"{each.at[:19]} {describe_entry(each)}" for each in found.steps)] if found.steps else []
    document = {
        "running": [{"what": each.feature, "pid": each.loop.pid, "since": each.since} for each in found.running],
        "tasks": [to_builtins(each) for each in found.entries],
        "steps": [to_builtins(each) for each in found.steps],
    }
    answer(document, "\n".join(lines), as_json)
    return 0


def describe_entry(entry: "QueueEntry") -> str:
    from aigon.model.outcomes import describe_status
    from aigon.text.quoting import fold

    about = f" (feature {entry.feature})" if entry.feature and entry.feature != entry.path else ""
    reason = fold(entry.reason, 200)  # of one that has ended it is a sentence that begins with how
    if entry.state == "ended":
        return f"{entry.path}{about}: {reason or describe_status(entry.outcome)}"
    state = "under way" if entry.state == "taken" else "waits for you"
    return f"{entry.path}{about}: {state}{f': {reason}' if reason else ''}"
