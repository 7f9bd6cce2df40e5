"""Regular expressions that are compiled when they are first used: a start compiles none that it does not need."""

import re
from typing import Any, AnyStr, cast


class _LazyPattern:
    """A compiled pattern, as `re.compile` returns it, that is compiled at its first use."""

    def __init__(self, source: Any, flags: int) -> None:
        self._given = source, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # no pattern has such attributes: copies and debuggers ask
            raise AttributeError(name)
        made = re.compile(*self._given)
        vars(self).update({each: getattr(made, each) for each in dir(made) if not each.startswith("_")})
        return getattr(made, name)


def compile_re(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return the pattern, to be used like one of `re.compile`; it raises re.error only when it is used."""
    return cast("re.Pattern[AnyStr]", _LazyPattern(pattern, flags))
