"""What Gemini CLI prints with `-o json`: one document; one of an error goes to standard error."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from aigon.agents.adapters._gemini_error import complaint
from aigon.agents.adapters._records import Record, at, count_at, last_document, list_at, text_at
from aigon.agents.adapters._tools import tool
from aigon.model.turns import ModelUsage, ProgramExit, TurnReport, Usage


def found(events: list[Record], exited: ProgramExit) -> Record:
    """The document, empty where there is none: what stands on standard error counts only with nothing on the other."""
    whole = next((one for one in events[::-1] if "session_id" in one and "type" not in one), {})
    if whole or events:
        return whole
    told = last_document(exited.stderr)
    return told if "session_id" in told and "error" in told else {}


def seen(document: Record, exited: ProgramExit) -> TurnReport:
    """The turn by its document."""
    used = at(document, "stats", "tools", "byName")
    names = used if isinstance(used, dict) else {}
    shares = by_model(document, _usage)
    return replace(
        _ended(document, exited),
        said=text_at(document, "response").strip(),
        model=most_used(shares),
        session=text_at(document, "session_id"),
        usage=Usage.of_all(share.usage for share in shares) if isinstance(at(document, "stats"), dict) else None,
        usage_by_model=shares,
        denied=tuple(tool(name) for name, one in names.items() if count_at(one, "decisions", "reject")),
        tools=tuple(tool(name) for name in names),
    )


def _ended(document: Record, exited: ProgramExit) -> TurnReport:
    if isinstance(document.get("error"), dict):
        code = count_at(document, "error", "code")
        message = text_at(document, "error", "message")
        return complaint(message, replace(exited, exit_code=code % 256) if code else exited)
    if "response" not in document:
        return TurnReport()
    return TurnReport(
        "finished", "; ".join(text for text in list_at(document, "warnings") if isinstance(text, str))[:500]
    )


def by_model(record: Record, usage: Callable[[object], Usage | None]) -> tuple[ModelUsage, ...]:
    """Return what each model used, by the statistics of a record: the chosen one, and a small one that chose it."""
    models = at(record, "stats", "models")
    told = models.items() if isinstance(models, dict) else ()
    return tuple(ModelUsage(str(name), found) for name, one in told if (found := usage(one)) and found != Usage())


def most_used(shares: Sequence[ModelUsage]) -> str:
    """Return the model that used the most tokens; empty without any."""
    return max(shares, key=_tokens).model if shares else ""


def _tokens(share: ModelUsage) -> int:
    return share.usage.input + share.usage.cached + share.usage.output


def _usage(told: object) -> Usage | None:
    tokens = at(told, "tokens")
    if not isinstance(tokens, dict):
        return None
    cached = count_at(tokens, "cached")
    fresh = max(0, count_at(tokens, "prompt") - cached) + count_at(tokens, "tool")
    return Usage(fresh, count_at(tokens, "candidates") + count_at(tokens, "thoughts"), cached)
