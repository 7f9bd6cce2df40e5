"""Read the output of Qwen Code with `-o stream-json`: one record per line, the last a `result`.

Written against version 0.24.4. `input_tokens` hold the cached ones; no dollars are told. An error of the API appears as
the agent's words in an `assistant` record and as `error` in the result: only the latter is believed.
"""

import os
from pathlib import Path

from msgspec.structs import replace

from aigon.agents.adapters import _program
from aigon.agents.adapters._activities import BLOCK_MARKS, read_blocks
from aigon.agents.adapters._errors import read_error, read_stderr
from aigon.agents.adapters._records import Record, RecordList, list_uses, objects_at, parse_records, sum_usage
from aigon.model.agents import AgentType
from aigon.model.turns import Agent, Launch, ProgramExit, TurnReport, TurnRequest
from aigon.text.untrusted import text_at, value_at

read_activity = read_blocks
ACTIVITY_MARKS = BLOCK_MARKS


def read_output(exited: ProgramExit) -> TurnReport:
    """Return the turn by its records."""
    records = parse_records(exited.stdout)
    result = records.last("result")
    replies = RecordList(one for one in records.of("assistant") if not one.get("parent_tool_use_id"))
    # The replies so far add up to what a session used that did not come to its end.
    counts = [value_at(result, "usage")] if result else [value_at(reply, "message", "usage") for reply in replies]
    return replace(
        _read_end(result, replies, exited),
        said=_last_reply(result, replies),
        model=RecordList(one for one in records.of("system") if one.get("subtype") == "init").first_text("model"),
        session=records.last_text("session_id"),
        usage=sum_usage(counts, "input_tokens", "output_tokens", "cache_read_input_tokens"),
        denied=objects_at(result, "permission_denials").describe_uses("tool_name", "tool_input"),
        tools=list_uses(records).describe_uses("name", "input"),
    )


def _read_end(result: Record, replies: RecordList, exited: ProgramExit) -> TurnReport:
    if not result:
        return TurnReport() if replies else read_stderr(exited)
    if result.get("is_error") is False and text_at(result, "subtype") == "success":
        return TurnReport("finished")
    message = text_at(result, "error", "message") or text_at(result, "subtype").replace("_", " ")
    return read_error(message, now=exited.ended)


def _last_reply(result: Record, replies: RecordList) -> str:
    """Return the last text without the error that the program put there in place of the agent's words."""
    if text := text_at(result, "result").strip():
        return text
    error = text_at(result, "error", "message")
    parts = [objects_at(reply, "message", "content").of("text") for reply in replies[::-1]]
    texts = ("".join(text_at(part, "text") for part in some).strip().removesuffix(error).strip() for some in parts)
    return next(filter(None, texts), "")


def build_launch(agent: Agent, ask: TurnRequest) -> Launch:
    """Return the command line of one turn."""
    from aigon.agents.adapters import adapter_for

    return _add_login(agent, _program.build_launch(adapter_for(agent).kind, agent, ask))


def build_consultation(kind: AgentType, agent: Agent) -> Launch:
    """Return the command line of one question."""
    return _add_login(agent, _program.build_consultation(kind, agent))


def _add_login(agent: Agent, launch: Launch) -> Launch:
    """Name the login: without settings of the person, Qwen does not take a key for one (measured)."""
    env = {**os.environ, **agent.env}
    chosen = any(word.split("=")[0] == "--auth-type" for word in launch.argv)
    settings = Path(env.get("QWEN_HOME") or Path.home() / ".qwen", "settings.json")
    if chosen or settings.exists() or not env.get("OPENAI_API_KEY"):
        return launch
    return replace(launch, argv=(*launch.argv, "--auth-type", "openai"))
