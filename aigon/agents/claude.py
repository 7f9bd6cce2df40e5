"""Claude Code in print mode: `claude -p`, the prompt on standard input, one JSON record per line on standard output.

Written against version 2.1.328. How a turn ended is read from the result record (`is_error`, `terminal_reason`,
`api_error_status`): a `subtype` of "success" stands on API errors too, and exit 0 on denied permissions.
"""

import os
from collections.abc import Mapping
from dataclasses import replace

from aigon.agents import _claude_result as result
from aigon.agents import _claude_spend as spend
from aigon.agents._claude_records import Records, read
from aigon.agents._ending import SAID, ending, environment, how_it_exited, last_words, unspent, with_stderr
from aigon.core.agent import Agent, Ask, Exited, Find, Launch
from aigon.core.judging import Answer
from aigon.core.model import Turn

_MODES = ("--permission-mode", "--dangerously-skip-permissions", "--allow-dangerously-skip-permissions")
_RETRIES = "3"
"""Claude Code's own default is ten, and it retries a bad key too: 177 s until that is said."""
_NO_TOOLS = ("--tools", "", "--strict-mcp-config", "--disable-slash-commands", "--permission-mode", "dontAsk")
_ALONE = ("--safe-mode", "--no-session-persistence", "--max-turns", "1")
"""No CLAUDE.md, settings' hooks or plugins: what an agent left in the person's home has no say. Login works."""
_ROLE = "You are asked one question and have no tools. Answer it in the form it asks for, and say nothing else."


def ready(agent: Agent, find: Find, _env: Mapping[str, str]) -> str:
    """Empty when `claude` is on PATH. Whether it is logged in shows only in a turn."""
    if find("claude"):
        return ""
    return (
        f"The agent {agent.name} needs Claude Code, and there is no `claude` on PATH. "
        "Install it with: npm install -g @anthropic-ai/claude-code; then run `claude` once to log in"
    )


def launch(agent: Agent, ask: Ask) -> Launch:
    """The command line of one turn; `agent.args` come last, so that they win."""
    argv = ["claude", "-p", "--output-format", "stream-json", "--verbose", *_permissions(agent)]
    argv += ["--model", agent.model] if agent.model else []
    argv += ["--effort", agent.effort] if agent.effort else []
    return Launch(argv=(*argv, *agent.args), env=environment(agent, ask) | _retries(agent))


def consult(agent: Agent) -> Launch:
    """The command line that answers one question, with no tool to touch anything with."""
    argv = ["claude", "-p", "--output-format", "stream-json", "--verbose", *_NO_TOOLS, *_ALONE]
    argv += ["--system-prompt", _ROLE, *(("--model", agent.model) if agent.model else ())]
    return Launch(tuple(argv), env={**agent.env, **_retries(agent)})


def _retries(agent: Agent) -> dict[str, str]:
    chosen = "CLAUDE_CODE_MAX_RETRIES" in {**os.environ, **agent.env}
    return {} if chosen else {"CLAUDE_CODE_MAX_RETRIES": _RETRIES}


def _permissions(agent: Agent) -> tuple[str, ...]:
    """Nobody is there to be asked. As root, Claude Code refuses to skip the questions unless it is in a sandbox."""
    if any(argument.split("=")[0] in _MODES for argument in agent.args):
        return ()
    if os.geteuid() != 0 or agent.env.get("IS_SANDBOX") == "1":
        return ("--dangerously-skip-permissions",)
    return ("--permission-mode", "acceptEdits", "--allowedTools", "Bash")


def turn(agent: Agent, ask: Ask, exited: Exited) -> Turn:
    """The turn by its records; by the process where aigon ended it or no records are left."""
    return _turn(agent, ask.number, exited)


def consulted(agent: Agent, exited: Exited) -> Answer:
    """The whole text of the answer; a session that did not end well has none."""
    seen = _turn(agent, 0, exited)
    spent = Answer(cost=seen.cost, cost_status=seen.cost_status, usage=seen.usage)
    if seen.end == "finished":
        return replace(spent, text=result.said(read(exited.stdout)))
    outdated = seen.exit_code not in (0, None) and b"unknown option" in exited.stderr
    detail = f"{seen.detail}. Update Claude Code: claude update" if outdated else seen.detail
    return replace(spent, failure=detail, available=not outdated and seen.end not in ("unavailable", "not_started"))


def _turn(agent: Agent, number: int, exited: Exited) -> Turn:
    end, detail = ending(exited)
    records = read(exited.stdout)
    cost = 0.0 if unspent(end) else spend.cost(records)
    seen = Turn(
        number=number,
        agent=agent.name,
        model=records.model or agent.model,
        end=end,
        exit_code=exited.exit_code,
        said=result.said(records)[-SAID:] if records.any else last_words(exited.stdout),
        detail=detail,
        cost=cost,
        cost_status="unknown" if cost is None else "estimated",
        usage=spend.usage(records),
        session=records.session,
        denied=result.denied(records),
        duration=exited.duration,
    )
    return _judged(seen, records, exited) if end in ("finished", "failed") else seen


def _judged(seen: Turn, records: Records, exited: Exited) -> Turn:
    """A program that came to its own end: what its records say about it."""
    limit = result.usage_limit(records, _plain_output(records, exited))
    if limit is not None:
        return replace(seen, end="unavailable", detail=f"usage limit: {limit.text}", resets_at=limit.resets_at)
    if refused := result.bad_credentials(records):
        return replace(seen, end="unavailable", detail=f"bad credentials: {refused}")
    if not records.result:
        return replace(seen, end="failed", detail=_without_a_result(seen, exited))
    if error := result.error(records):
        return replace(seen, end="failed", detail=error)
    if seen.exit_code:
        return replace(seen, end="failed", detail=f"{how_it_exited(seen.exit_code)} after a good result record")
    return replace(seen, end="finished", detail=result.remark(records))


def _plain_output(records: Records, exited: Exited) -> str:
    """Records quote files and tools; only what stands outside of them is the program's own word."""
    return last_words(exited.stderr if records.any else exited.stdout + b"\n" + exited.stderr)


def _without_a_result(seen: Turn, exited: Exited) -> str:
    return with_stderr(f"ended without a result record ({how_it_exited(seen.exit_code or 0)})", exited)
