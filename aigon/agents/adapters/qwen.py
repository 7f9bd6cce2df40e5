"""What Qwen Code prints with `-o stream-json`: one record per line, the last a `result`.

Written against version 0.24.4. `input_tokens` hold the cached ones; no dollars are told. An error of the API stands as
the agent's words in an `assistant` record and as `error` in the result: only the latter is believed.
"""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from aigon.agents.adapters import _program
from aigon.agents.adapters._errors import read_error, read_stderr
from aigon.agents.adapters._records import (
    Record,
    count_at,
    describe_use,
    filter_type,
    objects_at,
    parse_records,
    text_at,
    value_at,
)
from aigon.model.agent_types import AgentType
from aigon.model.turns import Agent, Launch, ProgramExit, TurnReport, TurnRequest, Usage


def read_output(exited: ProgramExit) -> TurnReport:
    """Return the turn by its records."""
    found = parse_records(exited.stdout)
    result = next(iter(filter_type(found, "result")[::-1]), {})
    replies = [one for one in filter_type(found, "assistant") if not one.get("parent_tool_use_id")]
    denials = objects_at(result, "permission_denials")
    return replace(
        _read_end(result, replies, exited),
        said=_last_text(result, replies),
        model=next(
            (text_at(one, "model") for one in filter_type(found, "system") if text_at(one, "subtype") == "init"), ""
        ),
        session=next((text for one in found[::-1] if (text := text_at(one, "session_id"))), ""),
        usage=_usage(result, replies),
        denied=tuple(describe_use(one.get("tool_name"), one.get("tool_input")) for one in denials),
        tools=tuple(_tools(filter_type(found, "assistant"))),
    )


def _read_end(result: Record, replies: list[Record], exited: ProgramExit) -> TurnReport:
    if not result:
        return TurnReport() if replies else read_stderr(exited)
    if result.get("is_error") is False and text_at(result, "subtype") == "success":
        return TurnReport(end="finished")
    message = text_at(result, "error", "message") or text_at(result, "subtype").replace("_", " ")
    return read_error(message, now=exited.ended)


def _last_text(result: Record, replies: list[Record]) -> str:
    """Return the last text; what the program put there in place of the agent's words is none."""
    error = text_at(result, "error", "message")
    texts = ["".join(_texts(one)).strip() for one in replies]
    texts = [text.removesuffix(error).strip() for text in texts]
    return text_at(result, "result").strip() or next((text for text in texts[::-1] if text), "")


def _texts(reply: Record) -> Iterator[str]:
    return (text_at(block, "text") for block in filter_type(objects_at(reply, "message", "content"), "text"))


def _tools(replies: list[Record]) -> Iterator[str]:
    for reply in replies:
        blocks = filter_type(objects_at(reply, "message", "content"), "tool_use")
        yield from (describe_use(block.get("name"), block.get("input")) for block in blocks)


def _usage(result: Record, replies: list[Record]) -> Usage | None:
    """Of the whole session; what the replies so far add up to where it did not come to its end."""
    told = [value_at(result, "usage")] if result else [value_at(reply, "message", "usage") for reply in replies]
    if not any(isinstance(one, dict) for one in told):
        return None
    cached = sum(count_at(one, "cache_read_input_tokens") for one in told)
    whole = sum(count_at(one, "input_tokens") for one in told)
    return Usage.of_whole(whole, sum(count_at(one, "output_tokens") for one in told), cached)


def build_launch(agent: Agent, ask: TurnRequest) -> Launch:
    """The command line of one turn. Without settings of the person it does not take a key for a login (measured)."""
    from aigon.agents.adapters import adapter_for

    return _with_login(agent, _program.build_launch(adapter_for(agent).kind, agent, ask))


def build_consultation(kind: AgentType, agent: Agent) -> Launch:
    """Return the command line of one question, with the same login."""
    return _with_login(agent, _program.build_consultation(kind, agent))


def _with_login(agent: Agent, made: Launch) -> Launch:
    env = {**os.environ, **agent.env}
    chosen = any(word.split("=")[0] == "--auth-type" for word in made.argv)
    settings = Path(env.get("QWEN_HOME") or Path.home() / ".qwen", "settings.json")
    if chosen or settings.exists() or not env.get("OPENAI_API_KEY"):
        return made
    return replace(made, argv=(*made.argv, "--auth-type", "openai"))
