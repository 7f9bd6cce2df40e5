"""HTML that cannot be broken out of: whatever is not markup already is escaped where it meets markup."""

import html
import re
from collections.abc import Iterable

from aigon.text.quoting import clean, clip

VOID = ("br", "circle", "col", "hr", "input", "line", "link", "meta", "path", "polygon", "polyline", "rect")
_LONGEST = 4000
"""Characters of an attribute."""
_CODE = re.compile(r"`([^`\n]+)`")
USUAL = 400
"""Characters of a text that nothing else is said of."""
_READ = 20
"""Times the limit that is read of a text before it is cleaned: what a terminal does not show is no reason to stop."""


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def tag(name: str, /, *inside: object, **attributes: object) -> Markup:
    """An element. `class_` and `for_` name attributes that Python keeps, `_` within a name stands for `-`.

    An attribute that is None or False is left out, one that is True has no value.
    """
    opened = f"<{name}{''.join(_attribute(key, value) for key, value in attributes.items())}"
    return Markup(f"{opened}/>" if name in VOID else f"{opened}>{joined(inside)}</{name}>")


def joined(parts: Iterable[object], between: str = "") -> Markup:
    """Parts one after the other; `between` is text."""
    return Markup(str(text(between)).join(str(text(part)) for part in parts if part is not None))


def text(value: object, limit: int = USUAL) -> Markup:
    """Text as HTML, at most `limit` characters of it, without what a reader cannot see; markup as it is."""
    if isinstance(value, Markup):
        return value
    return Markup(html.escape(clip(clean(str(value)[: limit * _READ]), limit)))


def line(value: str, limit: int = 300) -> Markup:
    """Text on one line, in which what stands in backticks is shown as code."""
    short = clip(" ".join(clean(value[: limit * _READ]).split()), limit)
    parts = _CODE.split(short)
    return joined(tag("code", part) if at % 2 else part for at, part in enumerate(parts))


def block(value: str, limit: int) -> Markup:
    """Text with its line breaks, as a block of its own that scrolls; its end, which says most, where it is cut."""
    whole = clean(value[-limit * _READ :]).strip("\n")
    cut = (
        whole
        if len(whole) <= limit
        else f"… {len(whole) - limit:,} characters before this are left out\n{whole[-limit:]}"
    )
    return tag("pre", text(cut, len(cut)), tabindex="0")


def folding(title: object, *inside: object, **attributes: object) -> Markup:
    """What is shown when a person asks for it."""
    return tag("details", tag("summary", title), *inside, **attributes)


def _attribute(key: str, value: object) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{html.escape(clean(str(value)[:_LONGEST]))}"'
