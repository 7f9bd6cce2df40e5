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
    lines += [_describe(each) for each in found.entries]
    lines += ["", *(f"{each.at[:19]} {_describe(each)}" for each in found.steps)] if found.steps else []
    document = {
        "running": [{"what": each.feature, "pid": each.loop.pid, "since": each.since} for each in found.running],
        "tasks": [to_builtins(each) for each in found.entries],
        "steps": [to_builtins(each) for each in found.steps],
    }
    answer(document, "\n".join(lines), as_json)
    return 0


def _describe(entry: "QueueEntry") -> str:
    from aigon.text.quoting import fold

    words = {"taken": "under way", "waiting": "waits for you", "ended": entry.outcome.replace("_", " ") or "ended"}
    about = f" (feature {entry.feature})" if entry.feature and entry.feature != entry.path else ""
    outcome = {"met": "proven", "needs human": "needs a human"}.get(words[entry.state], words[entry.state])
    return f"{entry.path}{about}: {outcome}{f': {fold(entry.reason, 200)}' if entry.reason else ''}"
