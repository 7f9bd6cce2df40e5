"""The export of a run of Mistral Vibe: its outcome, its tokens and its cost, in a file of a folder that it is given."""

import os
import re
from dataclasses import replace
from pathlib import Path

from aigon.agents.adapters._ending import dollars
from aigon.agents.adapters._records import Record, at, count_at, list_at, text_at
from aigon.agents.adapters._trouble import trouble
from aigon.model.turns import ProgramExit, TurnReport, Usage

_EXPORT = 4 * 1024 * 1024
"""Bytes of an export that are read; with no session in it, it is some kilobytes."""
_CODES = {"rate_limit": 429, "invalid_api_key": 401}
_HTTP = re.compile(
    r"\w+ error '(?P<status>[45]\d\d) [^']*' for url '[^']*'\s(?:For more information check: \S+: )?", re.S
)
_KEY = re.compile(r"api[_ -]?key", re.I)
_LIMITS = ("turn_limit", "token_limit", "price_limit", "deadline", "terminated", "length", "usage_error", "aborted")


def exported(folder: Path, exited: ProgramExit) -> bytes:
    """What this very run left there; nothing where it left nothing. A link could lead anywhere."""
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


def of_export(export: Record, exited: ProgramExit) -> TurnReport:
    """How the run ended and what it used, its subagents included."""
    model = text_at(export, "config", "active_model")
    runs = [export, *list_at(export, "subagents")]
    usage = _usage(runs)
    costs = [cost for run in runs if (cost := dollars(at(run, "cost_usd"))) is not None]
    cost = dollars(sum(costs)) if costs else 0.0 if usage is None else None
    if not cost and usage and (usage.input or usage.output or usage.cached):
        cost = None  # what it says of a model without a price
    return replace(
        _outcome(export, exited.ended),
        model=model,
        session=text_at(export, "session_id"),
        usage=usage,
        cost=cost,
        cost_status="unknown" if cost is None else "reported",
    )


def _outcome(export: Record, now: float) -> TurnReport:
    outcome = text_at(export, "outcome")
    code, message = text_at(export, "error", "code"), text_at(export, "error", "message")
    if outcome == "finished":
        return TurnReport(end="finished")
    if "refusal" in (outcome, code):
        return TurnReport(end="refused", detail=f"refused: {message}" if message else "refused")
    if outcome in _LIMITS:
        words = outcome.replace("_", " ")
        return TurnReport(end="failed", detail=f"{words}: {message}" if message else words)
    return of_error(message or outcome, _CODES.get(code, 0), now)


def of_error(message: str, status: int, now: float) -> TurnReport:
    """An error of the model's provider, or a key that is missing or wrong."""
    http = _HTTP.match(message)
    if http:
        return trouble(message[http.end() :] or message, status or int(http["status"]), now=now)
    return trouble(message, status or (401 if _KEY.search(message) else 0), now=now)


def _usage(runs: list[object]) -> Usage | None:
    """Of the run and of its subagents, which it does not count as its own."""
    told = [run for run in runs if isinstance(at(run, "usage"), dict)]
    if not told:
        return None
    cached = sum(count_at(run, "usage", "cached_input_tokens") for run in told)
    whole = sum(count_at(run, "usage", "input_tokens") for run in told)
    return Usage.of_whole(whole, sum(count_at(run, "usage", "output_tokens") for run in told), cached)
