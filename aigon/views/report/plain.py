"""Text of others within Markdown: it stays text, links to nothing and calls nobody."""

import re

from aigon.text.quoting import fold

_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~&$!])")
_CALLS = re.compile(r"(?<=@)|(?<=:)(?=//)|(?<=\bwww)(?=\.)|(?<=\bGH)(?=-)", re.I)
_CODE = re.compile(r"`([^`\n]+)`")
NOTHING = "<!-- -->"
"""What a reader does not see, and what keeps a forge from making a link or a mention of the two sides."""


def plain(text: str, limit: int = 300) -> str:
    """`text` on one line, every mark of Markdown escaped; what stands in backticks stays code."""
    parts = _CODE.split(fold(text, limit))
    return "".join(_code(part) if at % 2 else _escaped(part) for at, part in enumerate(parts))


def cell(text: str, limit: int = 300) -> str:
    """The same for a cell of a table, where a bar ends a cell even within code."""
    return _escaped(fold(text, limit))


def _escaped(text: str) -> str:
    return _CALLS.sub(NOTHING, _SPECIAL.sub(r"\\\1", text).replace("\\#", f"\\#{NOTHING}"))


def _code(text: str) -> str:
    return f"`{text}`" if text.strip() else _escaped(f"`{text}`")
