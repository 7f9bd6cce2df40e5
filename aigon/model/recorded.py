"""The base of values that journals keep."""

from msgspec import Struct


class Recorded(Struct, frozen=True, forbid_unknown_fields=True):
    """A value in a journal. A field that it does not know is refused: a newer aigon wrote it."""
