"""What Mistral Vibe leaves: `export.json` in its output folder, and on its screen one record per entry of the session.

Written against version 3.0.2. The export has the outcome, tokens and cost of the run. Without it, as after a kill, the
exit code and standard error tell how it ended. Cached tokens are among its input.
"""

import os
import re
from dataclasses import replace
from pathlib import Path

from aigon.agents.adapters import _program
from aigon.agents.adapters._errors import read_error
from aigon.agents.adapters._program import LAST_WORDS, parse_dollars
from aigon.agents.adapters._records import (
    Record,
    count_at,
    describe_use,
    filter_type,
    list_at,
    parse_last_document,
    parse_records,
    text_at,
    value_at,
)
from aigon.model.turns import Agent, ProgramExit, Turn, TurnReport, TurnRequest, Usage
from aigon.text.fingerprints import strip_escapes

_EXPORT = 4 * 1024 * 1024
"""Bytes of an export that are read; with no session in it, it is some kilobytes."""
_CODES = {"rate_limit": 429, "invalid_api_key": 401}
_HTTP = re.compile(
    r"\w+ error '(?P<status>[45]\d\d) [^']*' for url '[^']*'\s(?:For more information check: \S+: )?", re.S
)
_KEY = re.compile(r"api[_ -]?key", re.I)
_LIMITS = ("turn_limit", "token_limit", "price_limit", "deadline", "terminated", "length", "usage_error", "aborted")
_ERROR = re.compile(r"^Error: (?P<message>.*)", re.M | re.S)


def _read_export(folder: Path, exited: ProgramExit) -> bytes:
    """Return the export that this run left; empty if there is none. A link could lead anywhere."""
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


def _read_outcome_and_usage(export: Record, exited: ProgramExit) -> TurnReport:
    """Return how the run ended and what it used, its subagents included."""
    model = text_at(export, "config", "active_model")
    runs = [export, *list_at(export, "subagents")]
    usage = _usage(runs)
    costs = [cost for run in runs if (cost := parse_dollars(value_at(run, "cost_usd"))) is not None]
    cost = parse_dollars(sum(costs)) if costs else 0.0 if usage is None else None
    if not cost and usage and (usage.input or usage.output or usage.cached):
        cost = None  # what it says of a model without a price
    return replace(
        _read_outcome(export, exited.ended),
        model=model,
        session=text_at(export, "session_id"),
        usage=usage,
        cost=cost,
        cost_status="unknown" if cost is None else "reported",
    )


def _read_outcome(export: Record, now: float) -> TurnReport:
    outcome = text_at(export, "outcome")
    code, message = text_at(export, "error", "code"), text_at(export, "error", "message")
    if outcome == "finished":
        return TurnReport(end="finished")
    if "refusal" in (outcome, code):
        return TurnReport(end="refused", detail=f"refused: {message}" if message else "refused")
    if outcome in _LIMITS:
        words = outcome.replace("_", " ")
        return TurnReport(end="failed", detail=f"{words}: {message}" if message else words)
    return _read_provider_error(message or outcome, _CODES.get(code, 0), now)


def _read_provider_error(message: str, status: int, now: float) -> TurnReport:
    """Return an error of the model's provider, or a key that is missing or wrong."""
    http = _HTTP.match(message)
    if http:
        return read_error(message[http.end() :] or message, status or int(http["status"]), now=now)
    return read_error(message, status or (401 if _KEY.search(message) else 0), now=now)


def _usage(runs: list[object]) -> Usage | None:
    """Of the run and of its subagents, which it does not count as its own."""
    told = [run for run in runs if isinstance(value_at(run, "usage"), dict)]
    if not told:
        return None
    cached = sum(count_at(run, "usage", "cached_input_tokens") for run in told)
    whole = sum(count_at(run, "usage", "input_tokens") for run in told)
    return Usage.of_whole(whole, sum(count_at(run, "usage", "output_tokens") for run in told), cached)


def read_turn(agent: Agent, ask: TurnRequest, exited: ProgramExit) -> Turn:
    """Return the turn, with the export read from its folder: Vibe takes no name of a file."""
    report = exited.report or _read_export(Path(f"{ask.output_file}.d"), exited)
    return _program.build_turn(agent, ask, exited, read_output(replace(exited, report=report)))


def read_output(exited: ProgramExit) -> TurnReport:
    """Return the turn by its export, and by its records."""
    entries = list({text_at(one, "id") or repr(one): one for one in parse_records(exited.stdout)}.values())
    said = [_text(one) for one in filter_type(entries, "message") if one.get("role") == "assistant"]
    effects = filter_type(entries, "effect")
    export = parse_last_document(exited.report)
    told = _read_outcome_and_usage(export, exited) if export.get("outcome") else _read_exit(exited, bool(said))
    return replace(
        told,
        said=next((text for text in said[::-1] if text), "")[-LAST_WORDS:],
        session=told.session or next((text_at(one, "sessionId") for one in entries), ""),
        denied=tuple(_describe_effect(one) for one in effects if _is_denied(one)),
        tools=tuple(_describe_effect(one) for one in effects),
    )


def _read_exit(exited: ProgramExit, answered: bool) -> TurnReport:
    """Without an export. What is on standard error is Vibe's own."""
    error = _ERROR.search(strip_escapes(exited.stderr.decode("utf-8", "replace")))
    if exited.exit_code == 0 and answered:
        return TurnReport(end="finished")
    if error and (exited.exit_code or 0) > 0:
        return _read_provider_error(error["message"].strip(), 0, exited.ended)
    return TurnReport()


def _text(entry: Record) -> str:
    return "\n".join(filter(None, (text_at(part, "text") for part in list_at(entry, "content")))).strip()


def _describe_effect(effect: Record) -> str:
    """`bash: npm test`; the names of its own tools begin with `file_system.`."""
    return describe_use(
        text_at(effect, "detail", "toolName").removeprefix("file_system."), value_at(effect, "detail", "input")
    )


def _is_denied(effect: Record) -> bool:
    return text_at(effect, "state", "error", "code") == "tool_denied"
