"""The events that a loop writes for programs, read back."""

import json
from collections.abc import Mapping
from typing import Any

from aigon.journal.codec import decode
from aigon.journal.events import Event

Document = Mapping[str, Any]
_ADDED = ("schema_version", "error", "success")
"""What a line has beside the event's own fields."""


def document_of(line: bytes) -> Document | None:
    """The document on a line; None for anything that is no event."""
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) and isinstance(document.get("event"), str) else None


def event_of(document: Document) -> Event | None:
    """The event that `aigon.journal.codec.to_ndjson` made this of; None for one that is not known here."""
    fields = {key: value for key, value in document.items() if key not in _ADDED}
    detail = fields.pop("outcome_detail", None)
    if isinstance(detail, dict):
        fields["outcome"] = {"kind": fields.get("outcome"), **detail}
    try:
        return decode(fields)
    except (ValueError, RecursionError):
        return None
