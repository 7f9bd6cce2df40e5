"""A Markdown file as CommonMark sees it: block tokens, sections, and where a box is in the file's bytes."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from aigon.errors import usage
from aigon.model.criteria import SpecWarning

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# markdown-it silently drops the rest of the file below its own limit of 20 (ten nested lists), so the limit is higher
# and reaching it is an error.
DEEPEST = 100
_BOM = b"\xef\xbb\xbf"
_NEWLINE = re.compile(rb"\r\n|\r|\n")  # never str.splitlines(), which knows eight more


@dataclass(frozen=True, slots=True)
class Page:
    """The tokens of a file, and the offsets in its bytes at which its lines begin."""

    raw: bytes
    tokens: Sequence[Token]
    starts: Sequence[int]

    def box(self, paragraph: Token) -> int:
        """The offset of the character in the box that `paragraph` begins with: only markers stand before it."""
        return self.raw.index(b"[", self.starts[line_of(paragraph) - 1]) + 1

    def line_at(self, offset: int) -> int:
        """The 1-based line of a byte."""
        return bisect_right(self.starts, offset)

    def under(self, opens: Callable[[str], bool]) -> Iterator[int]:
        """Indexes of the tokens below each top-level heading that `opens`, up to the next of its level or higher.

        `opens` is asked about the heading's text in lower case, without emphasis around it.
        """
        section = 0
        for index, token in enumerate(self.tokens):
            if token.type == "heading_open" and token.level == 0:
                level = int(token.tag[1:])
                if not section or level <= section:
                    section = level if opens(_heading(self.tokens[index + 1].content)) else 0
            elif section:
                yield index


def read(raw: bytes) -> Page:
    """The page in `raw`. Bytes that are not UTF-8 show as U+FFFD. Raises a usage error for absurd nesting."""
    tokens = _markdown().parse(raw.removeprefix(_BOM).decode("utf-8", "replace"))
    _refuse_deep(tokens)
    return Page(raw, tokens, [0, *(newline.end() for newline in _NEWLINE.finditer(raw))])


def line_of(token: Token) -> int:
    """The 1-based line on which `token` begins."""
    return token.map[0] + 1 if token.map else 1


def one_line(content: str) -> str:
    """Raw inline text with its continuation lines joined by one space."""
    return " ".join(line.strip() for line in content.split("\n")).strip()


def unclosed(page: Page) -> Iterator[SpecWarning]:
    """Comments and fences without an end: they swallow what follows, criteria too."""
    for token in page.tokens:
        if token.type == "html_block" and token.content.lstrip().startswith("<!--") and "-->" not in token.content:
            yield SpecWarning(line_of(token), "This comment is never closed: what follows is part of it")
        if token.type == "fence" and not _is_closed(page, token):
            yield SpecWarning(line_of(token), "This code block is never closed: what follows is part of it")


@cache
def _markdown() -> MarkdownIt:
    """Blocks only: paragraphs are read raw, and parsing what is in them would take longer than all the rest."""
    from markdown_it import MarkdownIt
    from mdit_py_plugins.front_matter import front_matter_plugin

    parser = MarkdownIt("commonmark", {"maxNesting": DEEPEST}).use(front_matter_plugin)
    return parser.disable(["inline", "text_join"])


def _heading(content: str) -> str:
    return " ".join(content.split()).strip("*_ ").casefold()


def _refuse_deep(tokens: Sequence[Token]) -> None:
    for token in tokens:
        if token.level + 1 >= DEEPEST and token.type in ("list_item_open", "blockquote_open"):
            what = f"Lists and quotes are nested {DEEPEST} levels deep"
            raise usage(what, where=f"line {line_of(token)}", hint="Flatten them")


def _is_closed(page: Page, fence: Token) -> bool:
    first, end = fence.map or (0, 0)
    last = page.raw[page.starts[end - 1] : (*page.starts[end : end + 1], len(page.raw))[0]].strip(b" \t>\r\n")
    return end - first > 1 and last.startswith(fence.markup.encode()) and not last.strip(fence.markup[:1].encode())
