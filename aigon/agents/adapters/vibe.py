"""Read `export.json` of Mistral Vibe, else its screen, which shows one record per entry of the session.

Written against version 3.0.2. The export has the outcome, tokens and cost of the run. Without it, as after a kill, the
exit code and standard error tell how it ended. Cached tokens are among its input.
"""

import os
import re
from pathlib import Path

from msgspec.structs import replace

from aigon.agents.adapters import _program
from aigon.agents.adapters._errors import find_stated_error, read_error
from aigon.agents.adapters._records import (
    Record,
    RecordList,
    describe_use,
    drop_free_cost,
    join_texts,
    parse_dollars,
    parse_last_document,
    parse_records,
    sum_usage,
)
from aigon.model.turns import Agent, ProgramExit, Turn, TurnReport, TurnRequest
from aigon.text.patterns import compile_re
from aigon.text.untrusted import list_at, text_at, value_at

_EXPORT = 4 * 1024 * 1024
"""Bytes of an export that are read; with no session in it, it is some kilobytes."""
_CODES = {"rate_limit": 429, "invalid_api_key": 401}
_HTTP = compile_re(
    r"\w+ error '(?P<status>[45]\d\d) [^']*' for url '[^']*'\s(?:For more information check: \S+: )?", re.S
)
_KEY = compile_re(r"api[_ -]?key", re.I)
_LIMITS = ("turn_limit", "token_limit", "price_limit", "deadline", "terminated", "length", "usage_error", "aborted")


def read_turn(agent: Agent, ask: TurnRequest, exited: ProgramExit) -> Turn:
    """Return the turn, with the export read from its folder: Vibe takes no name of a file."""
    report = exited.report or _read_export(Path(f"{ask.output_file}.d"), exited)
    return _program.build_turn(agent, ask, exited, read_output(replace(exited, report=report)))


def _read_export(folder: Path, exited: ProgramExit) -> bytes:
    """Return the export that this run left, or an empty one. Links are not followed: one could lead anywhere."""
    file = folder / "export.json"
    try:
        if folder.is_symlink() or file.is_symlink():
            return b""
        with file.open("rb") as opened:
            if exited.ended and os.fstat(opened.fileno()).st_mtime < exited.ended - exited.duration - 1:
                return b""  # of an earlier try
            return opened.read(_EXPORT)
    except OSError:
        return b""


def read_output(exited: ProgramExit) -> TurnReport:
    """Return the turn by its export, and by its records."""
    entries = RecordList({text_at(one, "id") or repr(one): one for one in parse_records(exited.stdout)}.values())
    messages = [one for one in entries.of("message") if one.get("role") == "assistant"]
    texts = [text for one in messages[::-1] if (text := join_texts(list_at(one, "content")))]
    effects = entries.of("effect")
    export = parse_last_document(exited.report)
    report = _read_usage(export, exited.ended) if export.get("outcome") else _read_exit(exited, bool(messages))
    return replace(
        report,
        said=next(iter(texts), ""),
        session=report.session or entries.first_text("sessionId"),
        denied=tuple(
            _describe_effect(one) for one in effects if text_at(one, "state", "error", "code") == "tool_denied"
        ),
        tools=tuple(map(_describe_effect, effects)),
    )


def _read_usage(export: Record, now: float) -> TurnReport:
    """Return how the run ended and what it used, with its subagents, which it does not count as its own."""
    runs = [export, *list_at(export, "subagents")]
    usage = sum_usage((value_at(run, "usage") for run in runs), "input_tokens", "output_tokens", "cached_input_tokens")
    costs = [cost for run in runs if (cost := parse_dollars(value_at(run, "cost_usd"))) is not None]
    cost = drop_free_cost(parse_dollars(sum(costs)) if costs else 0.0 if usage is None else None, usage)
    return replace(
        _read_outcome(export, now),
        model=text_at(export, "config", "active_model"),
        session=text_at(export, "session_id"),
        usage=usage,
        cost=cost,
    )


def _read_outcome(export: Record, now: float) -> TurnReport:
    outcome = text_at(export, "outcome")
    code, message = text_at(export, "error", "code"), text_at(export, "error", "message")
    if outcome == "finished":
        return TurnReport("finished")
    if "refusal" in (outcome, code):
        return TurnReport("refused", f"refused: {message}" if message else "refused")
    if outcome in _LIMITS:
        words = outcome.replace("_", " ")
        return TurnReport("failed", f"{words}: {message}" if message else words)
    return _read_provider_error(message or outcome, _CODES.get(code, 0), now)


def _read_exit(exited: ProgramExit, answered: bool) -> TurnReport:
    """Return how a run without an export ended. What is on standard error is Vibe's own."""
    if exited.exit_code == 0 and answered:
        return TurnReport("finished")
    if error := find_stated_error(exited):
        return _read_provider_error(error, 0, exited.ended)
    return TurnReport()


def _read_provider_error(message: str, status: int, now: float) -> TurnReport:
    """Return an error of the model's provider, or a key that is missing or wrong."""
    if http := _HTTP.match(message):
        return read_error(message[http.end() :] or message, status or int(http["status"]), now=now)
    return read_error(message, status or (401 if _KEY.search(message) else 0), now=now)


def _describe_effect(effect: Record) -> str:
    """`bash: npm test`; the names of its own tools begin with `file_system.`."""
    name = text_at(effect, "detail", "toolName").removeprefix("file_system.")
    return describe_use(name, value_at(effect, "detail", "input"))
