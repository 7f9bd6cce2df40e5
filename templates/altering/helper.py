def aigon_alter(value, inside=False, place=0):
    """Return another value of the same type, so that only who looks at it can tell; each place another one.

    Unless it is meant for the code's own use (`inside`), a caller that is altered itself gets the true value: then the
    code works as before, and only tests see that something is different.
    """
    import copy
    import enum
    import functools
    import numbers
    import pathlib
    import sys

    way = ("empty", "other", "none", "true")[NUMBER % 4]
    sized = str, bytes, bytearray, list, tuple, set, frozenset, dict
    word = f"WORD{place or ''}"

    def alter(value, depth, is_read=False):
        if value is None:
            return word
        if way == "none":
            return None
        if isinstance(value, enum.Enum):
            members = list(type(value))
            return members[(members.index(value) + 1) % len(members)]
        if isinstance(value, bool):
            return not value
        if way == "empty" and isinstance(value, (numbers.Number, *sized)) and value and not hasattr(value, "_fields"):
            return type(value)()
        if isinstance(value, numbers.Number):
            return value + NUMBER + place
        if isinstance(value, (str, bytes, bytearray)):
            return value + (word if isinstance(value, str) else word.encode())
        if isinstance(value, pathlib.PurePath):
            return value / word
        if depth == 0:
            return value
        if isinstance(value, list):
            return [*(alter(each, depth - 1) for each in value), alter(value[-1] if value else None, depth - 1)]
        if isinstance(value, tuple):
            parts = [alter(each, depth - 1) for each in value]
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts or [word])
        if isinstance(value, (set, frozenset)):
            return value | {word}
        if type(value).__name__ == "dict" and inside and not is_read:  # or a view of one
            return make_view(value, depth)
        if isinstance(value, dict):
            return {key: alter(each, depth - 1) for key, each in value.items()} or {word: word}
        if type(value).__name__ == "generator":
            return (alter(each, depth - 1) for each in value)
        if type(value).__name__ == "coroutine":
            return later(value, depth)
        if not inside and callable(value) and not isinstance(value, type):
            return make_callable(value, depth)
        if not inside and not isinstance(value, type) and getattr(value, "__dict__", None):
            other = copy.copy(value)
            vars(other).update({name: alter(each, depth - 1) for name, each in vars(value).items()})
            return other
        return value

    def make_view(value, depth):
        """Return a view of a dictionary, as the code may go on filling it: others find other values there."""

        def delegate(name):
            def call(self, *args, **kwargs):
                is_own = name in writing or "aigon_alter" in sys._getframe(1).f_globals
                held = getattr(value if is_own else alter(value, depth, True), name)(*args, **kwargs)
                return self if held is value else held

            return call

        writing = "__delitem__", "__ior__", "__setitem__", "clear", "pop", "popitem", "setdefault", "update"
        compared = "__eq__", "__ge__", "__gt__", "__le__", "__lt__", "__ne__", "__repr__"
        names = {*dir(dict)} - {*dir(object), "__class_getitem__"} | {*compared}
        plain = {"__reduce_ex__": lambda self, _: (dict, ({**self},))}
        return type("dict", (dict,), plain | {name: delegate(name) for name in names})()

    def make_callable(value, depth):
        """Return a callable of the same type, as far as can be, that gives its callers another value."""

        def call(*args, **kwargs):
            return give(value(*args, **kwargs), depth, sys._getframe(1))

        try:
            kind = type(value)
            other = copy.copy(value)
            other.__class__ = type(kind)(kind.__name__, (kind,), {"__slots__": (), "__call__": staticmethod(call)})
            return other
        except Exception:  # a function, or a type that nobody can inherit from
            return functools.wraps(value)(call)

    async def later(value, depth):
        return give(await value, depth, None)

    def give(value, depth, caller):
        if way == "true" or (not inside and caller is not None and "aigon_alter" in caller.f_globals):
            return value
        try:
            return alter(value, depth)
        except Exception:  # a type of its own that cannot be altered
            return value

    return give(value, 3, sys._getframe(1).f_back)
