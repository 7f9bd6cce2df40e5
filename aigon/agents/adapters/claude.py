"""What Claude Code prints in print mode: one JSON record per line.

Written against version 2.1.330. How a turn ended is read from the result record (`is_error`, `terminal_reason`,
`api_error_status`): a `subtype` of "success" stands on API errors too, and exit 0 on denied permissions.
"""

from dataclasses import replace

from aigon.agents.adapters import _claude_result as result
from aigon.agents.adapters import _claude_spend as spend
from aigon.agents.adapters._claude_records import read
from aigon.agents.adapters._ending import last_words
from aigon.model.turns import ProgramExit, TurnReport


def seen(exited: ProgramExit) -> TurnReport:
    """The turn by its records."""
    records = read(exited.stdout)
    cost = spend.cost(records)
    return replace(
        result.ended(records, exited),
        said=result.said(records) if records.any else last_words(exited.stdout),
        model=records.model,
        session=records.session,
        usage=spend.usage(records),
        cost=cost,
        cost_status="unknown" if cost is None else "estimated",
        denied=result.denied(records),
        tools=records.tools,
    )
