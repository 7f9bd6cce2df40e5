# mypy: disable-error-code="no-untyped-def, no-untyped-call, operator, union-attr, type-var"
"""Alter values that code gives away. The text of this function is put into every file of Python that is altered."""

import hashlib
import secrets
from typing import Literal

from msgspec import Struct, field

Way = Literal["empty", "other", "none", "true"]
"""What is given away instead of a value: the empty one of its type, another one, none at all, or itself, which makes a
copy that has the same text and alters nothing."""


class Drawn(Struct, frozen=True):
    """What an alteration is called and made of: drawn for each proof, so that no test can know it, all by one seed."""

    seed: str = field(default_factory=lambda: secrets.token_hex(8))
    way: Way = "other"

    @property
    def name(self) -> str:
        return f"v{self._draw('name')[:8]}"

    @property
    def word(self) -> str:
        return self._draw("word")[:6]

    @property
    def number(self) -> int:
        return 11 + int(self._draw("number"), 16) % 80

    def _draw(self, what: str) -> str:
        return hashlib.sha256(f"{self.seed} {what}".encode()).hexdigest()

    def fill(self, text: str) -> str:
        """Return the text of a helper with what was drawn."""
        filled = text.replace("WAY", repr(self.way)).replace("WORD", self.word)
        return filled.replace("NUMBER", str(self.number)).replace("aigon_alter", self.name)


WAY, NUMBER = "other", 17
"""What stands for something drawn in the text below."""


def aigon_alter(value, inside=False):
    """Return another value of the same type, so that only who looks at it can tell.

    Unless it is meant for the code's own use (`inside`), a caller that is altered itself gets the true value: then the
    code works as before, and only tests see that something is different.
    """
    import copy
    import enum
    import numbers
    import pathlib
    import sys

    sized = str, bytes, bytearray, list, tuple, set, frozenset, dict

    def alter(value, depth):
        if value is None:
            return "WORD"
        if WAY == "none":
            return None
        if isinstance(value, enum.Enum):
            members = list(type(value))
            return members[(members.index(value) + 1) % len(members)]
        if isinstance(value, bool):
            return not value
        if WAY == "empty" and isinstance(value, (numbers.Number, *sized)) and value and not hasattr(value, "_fields"):
            return type(value)()
        if isinstance(value, numbers.Number):
            return value + NUMBER
        if isinstance(value, (str, bytes, bytearray)):
            return value + ("WORD" if isinstance(value, str) else b"WORD")
        if isinstance(value, pathlib.PurePath):
            return value / "WORD"
        if depth == 0:
            return value
        if isinstance(value, list):
            return [*(alter(each, depth - 1) for each in value), alter(value[-1] if value else None, depth - 1)]
        if isinstance(value, tuple):
            parts = [alter(each, depth - 1) for each in value]
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts or ["WORD"])
        if isinstance(value, (set, frozenset)):
            return value | {"WORD"}
        if isinstance(value, dict):
            return {key: alter(each, depth - 1) for key, each in value.items()} or {"WORD": "WORD"}
        if type(value).__name__ == "generator":
            return (alter(each, depth - 1) for each in value)
        if not inside and not isinstance(value, type) and not callable(value) and getattr(value, "__dict__", None):
            other = copy.copy(value)
            vars(other).update({name: alter(each, depth - 1) for name, each in vars(value).items()})
            return other
        return value

    caller = sys._getframe(1).f_back
    if WAY == "true" or (not inside and caller is not None and "aigon_alter" in caller.f_globals):
        return value
    try:
        return alter(value, 3)
    except Exception:  # a type of its own that cannot be altered
        return value
