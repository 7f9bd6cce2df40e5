"""Read the output of `codex exec --json`: one event per line, the last `turn.completed` or `turn.failed`.

Written against version 0.169.0. Its `input_tokens` hold the cached ones; it never says what a turn cost, and the
model is named only in the session file that it keeps under CODEX_HOME. `error` events before the end are attempts
that it makes again: one that nothing follows is what it was waiting for when it was ended.
"""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec.structs import replace

from aigon.agents.adapters import _program
from aigon.agents.adapters._errors import read_error, read_stderr
from aigon.agents.adapters._records import Record, RecordList, describe_use, objects_at, parse_records, sum_usage
from aigon.errors import AigonError
from aigon.files import atomic
from aigon.model.turns import Agent, ProgramExit, Turn, TurnReport, TurnRequest
from aigon.text.patterns import compile_re
from aigon.text.untrusted import text_at, value_at

_RETRIED = compile_re(r"^Reconnecting\.\.\. (?:\d+/\d+ \((.*)\)$)?", re.DOTALL)
_ENV_KEY = compile_re(r"env_key\s*=\s*[\"'](\w+)")
_THREAD = compile_re(r"[0-9a-f-]{36}")
_LARGEST = 64 * 1024 * 1024
"""Bytes of a session file that are read; a long session has some megabytes."""
_TOOLS = ("command_execution", "file_change", "mcp_tool_call", "web_search")


def read_output(exited: ProgramExit) -> TurnReport:
    """Return the turn by its events."""
    events = parse_records(exited.stdout)
    items = RecordList(event["item"] for event in events.of("item.completed") if isinstance(event.get("item"), dict))
    uses = items.of(*_TOOLS)
    counts = [value_at(event, "usage") for event in events.of("turn.completed")]
    whole_session = [count for count in counts if isinstance(count, dict)][-1:]  # each record counts from the beginning
    return replace(
        _read_end(events, exited) if events else read_stderr(exited),
        said=items.of("agent_message").last_text("text"),
        session=events.of("thread.started").first_text("thread_id"),
        usage=sum_usage(whole_session, "input_tokens", "output_tokens", "cached_input_tokens"),
        denied=tuple(_describe_item(item) for item in uses if item.get("status") == "declined"),
        tools=tuple(map(_describe_item, uses)),
    )


def _read_end(events: RecordList, exited: ProgramExit) -> TurnReport:
    last = events.last("turn.completed", "turn.failed")
    if last.get("type") == "turn.completed":
        return TurnReport("finished")
    errors = [text_at(event, "message") for event in events.of("error")]
    final = [message for message in errors if not _RETRIED.match(message)]
    tried = text_at(events[-1], "message") if events[-1].get("type") == "error" else ""
    message = text_at(last, "error", "message") or next(iter(final[::-1]), "") or _RETRIED.sub(r"\1", tried)
    return read_error(message, now=exited.ended) if last or message else TurnReport()


def _describe_item(item: Record) -> str:
    """`command execution: npm test`, `file change: a.py, b.py`, `mcp tool call: SERVER.TOOL`."""
    paths = ", ".join(filter(None, (text_at(change, "path") for change in objects_at(item, "changes"))))
    called = ".".join(filter(None, (text_at(item, "server"), text_at(item, "tool"))))
    used_on = text_at(item, "command") or paths or called or text_at(item, "query")
    return describe_use(text_at(item, "type").replace("_", " "), used_on)


def find_credentials(agent: Agent, env: Mapping[str, str]) -> Iterator[str]:
    """Yield what logs Codex in apart from its own login: the key of a chosen provider, or a provider without a key."""
    try:
        text = _read_file(_home(agent, env) / "config.toml", "The configuration of Codex")
        config: Mapping[str, object] = tomllib.loads(text.decode("utf-8", "replace"))
    except (OSError, AigonError, tomllib.TOMLDecodeError, RecursionError):
        config = {}
    name = str(config.get("model_provider", ""))
    provider = value_at(config, "model_providers", name)
    for key in (text_at(provider, "env_key"), *_ENV_KEY.findall(" ".join(agent.args))):
        if env.get(key, "").strip():
            yield key
    if isinstance(provider, dict) and not provider.get("env_key") and not provider.get("requires_openai_auth"):
        yield f"model_providers.{name}"


def read_turn(agent: Agent, ask: TurnRequest, exited: ProgramExit) -> Turn:
    """Return what the turn was, with the model of the session file if none was asked for."""
    turn = _program.build_turn(agent, ask, exited, read_output(exited))
    if turn.model or not _THREAD.fullmatch(turn.session):
        return turn
    for file in _home(agent, os.environ).glob(f"sessions/*/*/*/rollout-*{turn.session}.jsonl"):
        try:
            records = parse_records(_read_file(file, "A session of Codex"))
        except (OSError, AigonError):
            continue
        return replace(turn, model=records.of("turn_context").first_text("payload", "model"))
    return turn


def _home(agent: Agent, env: Mapping[str, str]) -> Path:
    chosen = {**env, **agent.env}
    return Path(chosen.get("CODEX_HOME") or f"{chosen.get('HOME') or Path.home()}/.codex")


def _read_file(file: Path, what: str) -> bytes:
    return atomic.read_bounded(file, _LARGEST, what, hint="")
