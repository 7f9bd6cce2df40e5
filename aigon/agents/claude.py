"""What Claude Code prints in print mode: one JSON record per line.

Written against version 2.1.330. How a turn ended is read from the result record (`is_error`, `terminal_reason`,
`api_error_status`): a `subtype` of "success" stands on API errors too, and exit 0 on denied permissions.
"""

from dataclasses import replace

from aigon.agents import _claude_result as result
from aigon.agents import _claude_spend as spend
from aigon.agents import _program
from aigon.agents._claude_records import read
from aigon.agents._ending import SAID, last_words
from aigon.core.agent import Agent, Ask, Exited, Launch, Seen
from aigon.core.judging import Answer

_NO_TOOLS = ("--tools", "", "--strict-mcp-config", "--disable-slash-commands", "--permission-mode", "dontAsk")
_ALONE = ("--safe-mode", "--no-session-persistence", "--max-turns", "1")
"""No CLAUDE.md, settings' hooks or plugins: what an agent left in the person's home has no say. Login works."""
_ROLE = "You are asked one question and have no tools. Answer it in the form it asks for, and say nothing else."


def seen(exited: Exited) -> Seen:
    """The turn by its records."""
    records = read(exited.stdout)
    cost = spend.cost(records)
    return replace(
        result.ended(records, exited),
        said=result.said(records)[-SAID:] if records.any else last_words(exited.stdout),
        model=records.model,
        session=records.session,
        usage=spend.usage(records),
        cost=cost,
        cost_status="unknown" if cost is None else "estimated",
        denied=result.denied(records),
        tools=records.tools,
    )


def consult(agent: Agent) -> Launch:
    """The command line that answers one question, with no tool to touch anything with."""
    from aigon.agents import adapter_of

    argv = ["claude", "-p", "--output-format", "stream-json", "--verbose", *_NO_TOOLS, *_ALONE]
    argv += ["--system-prompt", _ROLE, *(("--model", agent.model) if agent.model else ())]
    kind = adapter_of(agent).kind
    return Launch(tuple(argv), env={**agent.env, **_program.defaults(kind, agent, {})}, unset=kind.unset)


def consulted(agent: Agent, exited: Exited) -> Answer:
    """The whole text of the answer; a session that did not end well has none."""
    nowhere = Ask(number=0, feature_id="", run_id="", workspace="", checkout="", spec_file="", prompt_file="")
    turn = _program.turn(agent, nowhere, exited, seen(exited))
    spent = Answer(cost=turn.cost, cost_status=turn.cost_status, usage=turn.usage)
    if turn.end == "finished":
        return replace(spent, text=result.said(read(exited.stdout)))
    outdated = turn.exit_code not in (0, None) and b"unknown option" in exited.stderr
    detail = f"{turn.detail}. Update Claude Code: claude update" if outdated else turn.detail
    lasting = turn.end in ("bad_credentials", "usage_limit", "not_started")
    return replace(spent, failure=detail, available=not outdated and not lasting)
