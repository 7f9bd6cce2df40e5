"""What `codex exec --json` prints: one event per line, the last `turn.completed` or `turn.failed`.

Written against version 0.169.0. Its `input_tokens` hold the cached ones; it never says what a turn cost, and which
model it was stands only in the session file that it keeps under CODEX_HOME. `error` events before the end are attempts
that it makes again: one that nothing follows is what it was waiting for when it was ended.
"""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
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
from aigon.errors import AigonError
from aigon.files import atomic
from aigon.model.turns import Agent, ProgramExit, Turn, TurnReport, TurnRequest, Usage

_RETRIED = re.compile(r"^Reconnecting\.\.\. (?:\d+/\d+ \((.*)\)$)?", re.DOTALL)
_ENV_KEY = re.compile(r"env_key\s*=\s*[\"'](\w+)")
_THREAD = re.compile(r"[0-9a-f-]{36}")
_LARGEST = 64 * 1024 * 1024
"""Bytes of a session file that is looked into; a long session has some megabytes."""
_TOOLS = ("command_execution", "file_change", "mcp_tool_call", "web_search")


def read_output(exited: ProgramExit) -> TurnReport:
    """Return the turn by its events."""
    events = parse_records(exited.stdout)
    items = [event["item"] for event in filter_type(events, "item.completed") if isinstance(event.get("item"), dict)]
    messages = [text_at(item, "text") for item in filter_type(items, "agent_message")]
    used = filter_type(items, *_TOOLS)
    return replace(
        _read_end(events, exited) if events else read_stderr(exited),
        said=next((text for text in messages[::-1] if text), ""),
        session=next((text_at(event, "thread_id") for event in filter_type(events, "thread.started")), ""),
        usage=_usage(events),
        denied=tuple(_describe_item(item) for item in used if item.get("status") == "declined"),
        tools=tuple(_describe_item(item) for item in used),
    )


def find_credentials(agent: Agent, env: Mapping[str, str]) -> Iterator[str]:
    """Yield what logs Codex in beside its own login: the key of a chosen provider, or a provider that needs none."""
    config = _configuration(_home(agent, env))
    name = str(config.get("model_provider", ""))
    provider = value_at(config, "model_providers", name)
    words = " ".join(agent.args)
    for key in (text_at(provider, "env_key"), *_ENV_KEY.findall(words)):
        if env.get(key, "").strip():
            yield key
    if isinstance(provider, dict) and not provider.get("env_key") and not provider.get("requires_openai_auth"):
        yield f"model_providers.{name}"


def _configuration(home: Path) -> Mapping[str, object]:
    try:
        text = atomic.read_bounded(home / "config.toml", _LARGEST, "The configuration of Codex", hint="")
        return tomllib.loads(text.decode("utf-8", "replace"))
    except (OSError, AigonError, tomllib.TOMLDecodeError, RecursionError):
        return {}


def _home(agent: Agent, env: Mapping[str, str]) -> Path:
    chosen = {**env, **agent.env}
    return Path(chosen.get("CODEX_HOME") or f"{chosen.get('HOME') or Path.home()}/.codex")


def read_turn(agent: Agent, ask: TurnRequest, exited: ProgramExit) -> Turn:
    """Return what the turn was, with the model of the session where none was asked for."""
    made = _program.build_turn(agent, ask, exited, read_output(exited))
    if made.model or not _THREAD.fullmatch(made.session):
        return made
    return replace(made, model=_model_of_session(_home(agent, os.environ), made.session))


def _model_of_session(home: Path, thread: str) -> str:
    """Return the model in the session file of a thread; empty if there is no such file (`--ephemeral`)."""
    for file in home.glob(f"sessions/*/*/*/rollout-*{thread}.jsonl"):
        try:
            content = atomic.read_bounded(file, _LARGEST, "A session of Codex", hint="Choose a model with --model")
        except (OSError, AigonError):
            continue
        contexts = (text_at(one, "payload", "model") for one in filter_type(parse_records(content), "turn_context"))
        return next((model for model in contexts if model), "")
    return ""


def _read_end(events: list[Record], exited: ProgramExit) -> TurnReport:
    last = next(iter(filter_type(events, "turn.completed", "turn.failed")[::-1]), {})
    if last.get("type") == "turn.completed":
        return TurnReport(end="finished")
    errors = [text_at(event, "message") for event in filter_type(events, "error")]
    final = [message for message in errors if not _RETRIED.match(message)]
    tried = text_at(events[-1], "message") if events[-1].get("type") == "error" else ""
    message = text_at(last, "error", "message") or next(iter(final[::-1]), "") or _RETRIED.sub(r"\1", tried)
    return read_error(message, now=exited.ended) if last or message else TurnReport()


def _describe_item(item: Record) -> str:
    """`command execution: npm test`, `file change: a.py, b.py`, `mcp tool call: SERVER.TOOL`."""
    paths = ", ".join(filter(None, (text_at(change, "path") for change in objects_at(item, "changes"))))
    called = ".".join(filter(None, (text_at(item, "server"), text_at(item, "tool"))))
    told = text_at(item, "command") or paths or called or text_at(item, "query")
    return describe_use(text_at(item, "type").replace("_", " "), {"command": told})


def _usage(events: list[Record]) -> Usage | None:
    """Each record tells of the whole session so far."""
    told = [event for event in filter_type(events, "turn.completed") if isinstance(event.get("usage"), dict)]
    if not told:
        return None
    cached = count_at(told[-1], "usage", "cached_input_tokens")
    whole = count_at(told[-1], "usage", "input_tokens")
    return Usage.of_whole(whole, count_at(told[-1], "usage", "output_tokens"), cached)
