"""The page that a frame is drawn on: text that fits the terminal."""

from collections.abc import Sequence
from textwrap import wrap

from msgspec import Struct
from rich.console import Group
from rich.text import Text

_ASCII = str.maketrans({"✓": "+", "✗": "x", "▸": ">", "·": "-", "…": "."})
"""Replacements for the view's signs if the terminal's encoding lacks them."""


class Page(Struct, frozen=True):
    """The page to draw on: columns, lines and the terminal's encoding."""

    width: int
    height: int
    encoding: str = "utf-8"

    def wrap(self, text: str, style: str, mark: str = "") -> list[Text]:
        """Break `text` into lines of this width, the first behind `mark`, as a hint that is cut is useless."""
        indent = " " * len(mark)
        lines = wrap(text, max(self.width, 20), initial_indent=mark, subsequent_indent=indent, break_on_hyphens=False)
        return [Text(line, style=style) for line in lines]

    def wrap_notices(self, notices: Sequence[tuple[str, str]], room: int) -> list[Text]:
        """Draw notices, each a text and its level, oldest first. If `room` is too small, the oldest give way."""
        lines: list[Text] = []
        for text, level in reversed(notices):
            style, mark = ("yellow", "! ") if level == "warning" else ("dim", "  ")
            notice = self.wrap(text, style, mark)
            if len(lines) + len(notice) > room:
                return lines or notice[: max(room, 0)]
            lines = [*notice, *lines]
        return lines

    def fit(self, lines: Sequence[Text]) -> Group:
        """Cut each line to this width, in characters that the terminal's encoding has."""
        for line in lines:
            line.no_wrap, line.overflow = True, "ellipsis"
            line.truncate(self.width, overflow="ellipsis")
            if not self.encoding.lower().startswith("utf"):
                line.plain = line.plain.translate(_ASCII).encode(self.encoding, "replace").decode(self.encoding)
        return Group(*lines)
