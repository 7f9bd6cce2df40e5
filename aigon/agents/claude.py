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
from aigon.core.model import Turn

_MODES = ("--permission-mode", "--dangerously-skip-permissions", "--allow-dangerously-skip-permissions")
_RETRIES = "3"
"""Claude Code's own default is ten, and it retries a bad key too: 177 s until that is said."""


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
    env = environment(agent, ask)
    if "CLAUDE_CODE_MAX_RETRIES" not in {**os.environ, **agent.env}:
        env["CLAUDE_CODE_MAX_RETRIES"] = _RETRIES
    return Launch(argv=(*argv, *agent.args), env=env)


def _permissions(agent: Agent) -> tuple[str, ...]:
    """Nobody is there to be asked. As root, Claude Code refuses to skip the questions unless it is in a sandbox."""
    if any(argument.split("=")[0] in _MODES for argument in agent.args):
        return ()
    if os.geteuid() != 0 or agent.env.get("IS_SANDBOX") == "1":
        return ("--dangerously-skip-permissions",)
    return ("--permission-mode", "acceptEdits", "--allowedTools", "Bash")


def turn(agent: Agent, ask: Ask, exited: Exited) -> Turn:
    """The turn by its records; by the process where aigon ended it or no records are left."""
    end, detail = ending(exited)
    records = read(exited.stdout)
    cost = 0.0 if unspent(end) else spend.cost(records)
    seen = Turn(
        number=ask.number,
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
