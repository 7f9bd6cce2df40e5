"""The last words of a session: one JSON object, wherever it stands in them."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, cast, get_args

Action = Literal["DONE", "CONTINUE", "FAILED", "NEEDS_HUMAN"]
ACTIONS = get_args(Action)
SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {
        "thought": {"type": "string"},
        "next_action": {"type": "string", "enum": list(ACTIONS)},
        "reason": {"type": "string"},
    },
    "required": ["thought", "next_action", "reason"],
    "additionalProperties": False,
}
_FENCED = re.compile(r"```[a-zA-Z]*[ \t]*\n(.*?)```", re.DOTALL)
_BEGUN = 200
"""Places in a text where an object may begin that are tried."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model claims. `parsed` is False where it said something else: that counts as CONTINUE."""

    thought: str
    action: Action
    reason: str = ""
    parsed: bool = True


def read(text: str) -> Reply:
    """The reply in a text: all of it, else the last fenced block that is one, else the last object that is one."""
    found = next((reply for value in _objects(text) if (reply := _reply(value))), None)
    return found or Reply(text.strip(), "CONTINUE", parsed=False)


def _objects(text: str) -> Iterator[object]:
    for candidate in (text, *_FENCED.findall(text)[::-1]):
        yield from _parsed(candidate)
    decoder = json.JSONDecoder(strict=False)
    for place in [found.start() for found in re.finditer(r"\{", text)][: -_BEGUN - 1 : -1]:
        try:
            yield decoder.raw_decode(text, place)[0]
        except (ValueError, RecursionError):
            continue


def _parsed(text: str) -> Iterator[object]:
    try:
        yield json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return


def _reply(value: object) -> Reply | None:
    if not isinstance(value, dict):
        return None
    action = value.get("next_action")
    named = re.sub(r"[\s-]+", "_", action.strip()).upper() if isinstance(action, str) else ""
    if named not in ACTIONS:
        return None
    thought, reason = (str(value.get(key) or "").strip() for key in ("thought", "reason"))
    return Reply(thought, cast(Action, named), reason)
