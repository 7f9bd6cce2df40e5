"""What Gemini CLI prints with `-o json`: one document; one of an error goes to standard error."""

from dataclasses import replace

from aigon.agents._gemini_error import complaint
from aigon.agents._records import Record, at, count_at, last_document, list_at, text_at
from aigon.agents._tools import tool
from aigon.core.agent import Exited, Seen
from aigon.core.model import Usage


def found(events: list[Record], exited: Exited) -> Record:
    """The document, empty where there is none: what stands on standard error counts only with nothing on the other."""
    whole = next((one for one in events[::-1] if "session_id" in one and "type" not in one), {})
    if whole or events:
        return whole
    told = last_document(exited.stderr)
    return told if "session_id" in told and "error" in told else {}


def seen(document: Record, exited: Exited) -> Seen:
    """The turn by its document."""
    used = at(document, "stats", "tools", "byName")
    names = used if isinstance(used, dict) else {}
    return replace(
        _ended(document, exited),
        said=text_at(document, "response").strip(),
        model=_model(document),
        session=text_at(document, "session_id"),
        usage=_usage(document),
        denied=tuple(tool(name) for name, one in names.items() if count_at(one, "decisions", "reject")),
        tools=tuple(tool(name) for name in names),
    )


def _ended(document: Record, exited: Exited) -> Seen:
    if isinstance(document.get("error"), dict):
        code = count_at(document, "error", "code")
        message = text_at(document, "error", "message")
        return complaint(message, replace(exited, exit_code=code % 256) if code else exited)
    if "response" not in document:
        return Seen()
    return Seen("finished", "; ".join(text for text in list_at(document, "warnings") if isinstance(text, str))[:500])


def _models(document: Record) -> Record:
    models = at(document, "stats", "models")
    return models if isinstance(models, dict) else {}


def _model(document: Record) -> str:
    """The one that was used most: small ones choose the way."""
    models = _models(document)
    return max(models, key=lambda name: count_at(models[name], "tokens", "total"), default="")


def _usage(document: Record) -> Usage | None:
    if not isinstance(at(document, "stats"), dict):
        return None
    parts = [at(one, "tokens") for one in _models(document).values()]

    def total(name: str) -> int:
        return sum(count_at(part, name) for part in parts)

    fresh = max(0, total("prompt") - total("cached")) + total("tool")
    return Usage(fresh, total("candidates") + total("thoughts"), total("cached"))
