"""How much of everything a page shows, so that it stays a page."""

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass

from aigon.journal.account import FeatureAccount, WorkAccount
from aigon.text.quoting import clean, clip

LARGEST = 480_000
"""Bytes of a page."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Characters of texts, and how many things of a kind. `full` are iterations shown with what they were about."""

    text: int = 600
    excerpt: int = 2_000
    log: int = 40_000
    said: int = 800
    full: int = 12
    columns: int = 60
    criteria: int = 300
    files: int = 120
    problems: int = 6


STAGES = (
    Bounds(),
    Bounds(text=400, excerpt=800, log=15_000, said=400, full=6, columns=40, criteria=150, files=60, problems=3),
    Bounds(text=200, excerpt=200, log=4_000, said=150, full=2, columns=20, criteria=60, files=20, problems=1),
    Bounds(text=100, excerpt=0, log=0, said=0, full=0, columns=8, criteria=30, files=5, problems=0),
)
"""From what a page usually shows to what always fits."""

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


SHORT = 8
"""Digits of a commit that people are shown."""
LONGEST = 400
"""Characters of a path that is linked."""


@dataclass(frozen=True, slots=True)
class Links:
    """How one work's commits and files are shown."""

    account: FeatureAccount
    work: WorkAccount

    def commit(self, commit: str) -> Markup:
        """A commit by its short name; the whole one is its title."""
        short = tag("code", commit[:SHORT], title=f"commit {commit}")
        forge = self.account.forge
        return tag("a", short, href=forge.commit(commit), rel="noreferrer") if forge and commit else short

    def file(self, path: str, line: int = 0, commit: str = "") -> Markup:
        """A file, at a line where one is named, as `commit` has it (else the last one of the work)."""
        shown = tag("code", f"{path}:{line}" if line else path, class_="path")
        forge, at = self.account.forge, commit or self.work.commit
        if not forge or not at or len(path) > LONGEST or path.startswith("/") or ".." in path.split("/"):
            return shown
        return tag("a", shown, href=forge.file(at, path, line), rel="noreferrer")
