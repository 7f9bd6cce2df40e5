"""What Gemini CLI's errors mean: JSON inside of JSON inside of a message, and exit codes."""

import json
from dataclasses import replace

from aigon.agents._ending import last_words
from aigon.agents._records import count_at, text_at
from aigon.agents._trouble import DETAIL, resets_at, trouble
from aigon.core.agent import Exited, Seen

_NO_LOGIN = 41
"""Exit code of a start without a login: `FatalAuthenticationError` in its sources."""
_KNOWN = (400, 401, 402, 403, 404, 408, 413, 422, 429, 499, 500, 502, 503, 504, 529)
_BY_EXIT = {status % 256: status for status in _KNOWN}
"""HTTP statuses by the exit code that they become."""
_DEEPEST = 4


def complaint(message: str, exited: Exited) -> Seen:
    """What is seen of a turn that ended with this error record; the exit code adds the status that it leaves out."""
    text, status = _unwrapped(message)
    ended = trouble(text, status or _BY_EXIT.get(exited.exit_code or 0, 0), now=exited.ended)
    held = ended.end in ("usage_limit", "overloaded")
    return replace(ended, resets_at=ended.resets_at or resets_at(message, exited.ended)) if held else ended


def no_login(exited: Exited) -> Seen | None:
    """What is seen of a program that found no login; None where it did not end for that."""
    if exited.exit_code != _NO_LOGIN:
        return None
    words = " ".join(last_words(exited.stderr, DETAIL).split()) or "no login"
    return Seen(end="bad_credentials", detail=f"bad credentials: {words}"[:DETAIL])


def _unwrapped(message: str) -> tuple[str, int]:
    """The innermost message and the status: `[API Error: {"error":{"code":401,"message":"..."}}]`."""
    status = 0
    for _ in range(_DEEPEST):
        try:
            found = json.loads(message[message.index("{") : message.rindex("}") + 1])
        except (ValueError, RecursionError):
            break
        status = count_at(found, "error", "code") or status
        inner = text_at(found, "error", "message")
        if not inner:
            break
        message = inner
    return message.removeprefix("[API Error: "), status
