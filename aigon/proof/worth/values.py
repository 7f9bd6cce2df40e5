# mypy: disable-error-code="no-untyped-def, no-untyped-call, operator, union-attr, type-var"
"""Alter values that code gives away. The text of this function is put into every file of Python that is altered."""


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

    def alter(value, depth):
        if value is None:
            return "aigon"
        if isinstance(value, enum.Enum):
            members = list(type(value))
            return members[(members.index(value) + 1) % len(members)]
        if isinstance(value, bool):
            return not value
        if isinstance(value, numbers.Number):
            return value + 17
        if isinstance(value, (str, bytes, bytearray)):
            return value + ("_aigon" if isinstance(value, str) else b"_aigon")
        if isinstance(value, pathlib.PurePath):
            return value / "aigon"
        if depth == 0:
            return value
        if isinstance(value, list):
            return [*(alter(each, depth - 1) for each in value), alter(value[-1] if value else None, depth - 1)]
        if isinstance(value, tuple):
            parts = [alter(each, depth - 1) for each in value]
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts or ["aigon"])
        if isinstance(value, (set, frozenset)):
            return value | {"aigon"}
        if isinstance(value, dict):
            return {key: alter(each, depth - 1) for key, each in value.items()} or {"aigon": "aigon"}
        if type(value).__name__ == "generator":
            return (alter(each, depth - 1) for each in value)
        if not inside and not isinstance(value, type) and not callable(value) and getattr(value, "__dict__", None):
            other = copy.copy(value)
            vars(other).update({name: alter(each, depth - 1) for name, each in vars(value).items()})
            return other
        return value

    caller = sys._getframe(1).f_back
    if not inside and caller is not None and "aigon_alter" in caller.f_globals:
        return value
    try:
        return alter(value, 3)
    except Exception:  # a type of its own that cannot be altered
        return value
