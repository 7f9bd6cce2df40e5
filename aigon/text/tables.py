"""Tables and paragraphs of plain text, for a terminal."""

import textwrap
from collections.abc import Sequence


def align_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a line for each row, with every cell in a column as wide as its longest one."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def wrap_lines(text: str, width: int, first: str = "", others: str = "    ") -> list[str]:
    """Return lines of at most `width` columns; what has no blank in it (a path, an address) stays whole."""
    return textwrap.wrap(
        text,
        max(width, 40),
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )
