"""A Markdown file as CommonMark sees it: block tokens, sections, frontmatter, and where a box is in the bytes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from aigon.errors import AigonError, usage
from aigon.model.criteria import SpecWarning
from aigon.text.amounts import join_words
from aigon.text.patterns import compile_re
from aigon.text.untrusted import AbsurdDocument, load_yaml

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


# markdown-it silently drops the rest of the file below its own limit of 20 (ten nested lists), so the limit is higher
# and reaching it is an error.
DEEPEST = 100
_BOM = b"\xef\xbb\xbf"
_NEWLINE = compile_re(rb"\r\n|\r|\n")  # never str.splitlines(), which knows eight more


class MarkdownPage(Struct, frozen=True):
    """The tokens of a file, and the byte offsets of its lines."""

    raw: bytes
    tokens: Sequence[Token]
    starts: Sequence[int]

    def box(self, paragraph: Token) -> int:
        """Return the offset of the character in the box that `paragraph` begins with."""
        return self.raw.index(b"[", self.starts[line_of(paragraph) - 1]) + 1

    def line_at(self, offset: int) -> int:
        """Return the 1-based line of a byte."""
        return bisect_right(self.starts, offset)

    def under(self, opens: Callable[[str], bool]) -> Iterator[int]:
        """Yield the indexes of the tokens below each top-level heading that `opens`, up to the next of its level or
        higher.

        `opens` gets the heading's text in lower case, without emphasis around it.
        """
        section = 0
        for index, token in enumerate(self.tokens):
            if token.type == "heading_open" and token.level == 0:
                level = int(token.tag[1:])
                if not section or level <= section:
                    heading = " ".join(self.tokens[index + 1].content.split()).strip("*_ ").casefold()
                    section = level if opens(heading) else 0
            elif section:
                yield index


@lru_cache(maxsize=1)
def parse_page(raw: bytes) -> MarkdownPage:
    """Return the page in `raw`. Bytes that are not UTF-8 become U+FFFD. Raises a usage error for absurd nesting."""
    tokens = _make_parser().parse(raw.removeprefix(_BOM).decode("utf-8", "replace"))
    for token in tokens:
        if token.level + 1 >= DEEPEST and token.type in ("list_item_open", "blockquote_open"):
            what = f"Lists and quotes are nested {DEEPEST} levels deep"
            raise usage(what, where=f"line {line_of(token)}", hint="Flatten them")
    return MarkdownPage(raw, tokens, [0, *(newline.end() for newline in _NEWLINE.finditer(raw))])


def line_of(token: Token) -> int:
    """Return the 1-based line on which `token` begins."""
    return token.map[0] + 1 if token.map else 1


def line_inside(token: Token, offset: int) -> int:
    """Return the 1-based line of a character of the token's text."""
    return line_of(token) + token.content.count("\n", 0, offset)


def one_line(content: str) -> str:
    """Return inline text with its continuation lines joined by one space."""
    return " ".join(line.strip() for line in content.split("\n")).strip()


def find_undecodable(page: MarkdownPage) -> Iterator[SpecWarning]:
    """Yield a warning for the first line that is not UTF-8: a command there is not the one that was written."""
    try:
        page.raw.decode()
    except UnicodeDecodeError as error:
        yield SpecWarning(page.line_at(error.start), "This line is not UTF-8. Save the file as UTF-8.")


def find_unclosed(page: MarkdownPage) -> Iterator[SpecWarning]:
    """Yield warnings about comments and fences without an end: they swallow what follows, criteria too."""
    for token in page.tokens:
        if token.type == "html_block" and token.content.lstrip().startswith("<!--") and "-->" not in token.content:
            yield SpecWarning(line_of(token), "This comment is never closed: what follows is part of it")
        if token.type == "fence":
            (first, end), mark = token.map or (0, 0), token.markup.encode()
            last = page.raw[page.starts[end - 1] : (*page.starts[end : end + 1], len(page.raw))[0]].strip(b" \t>\r\n")
            if end - first <= 1 or not last.startswith(mark) or last.strip(mark[:1]):
                yield SpecWarning(line_of(token), "This code block is never closed: what follows is part of it")


@cache
def _make_parser() -> MarkdownIt:
    """Parse blocks only: parsing inline text would take longer than all the rest."""
    from markdown_it import MarkdownIt
    from mdit_py_plugins.front_matter import front_matter_plugin

    parser = MarkdownIt("commonmark", {"maxNesting": DEEPEST}).use(front_matter_plugin)
    return parser.disable(["inline", "text_join"])


def raise_together(errors: Sequence[AigonError], what: str) -> None:
    """Raise one usage error about `what`, such as "settings", that names all errors with their lines, if any."""
    if len(errors) == 1:
        raise errors[0]
    if errors:  # all at once: otherwise a person learns of each only after fixing the one before
        lines = [f"{error.where}: {error.what}. {error.hint}" for error in errors]
        numbers = join_words(list(dict.fromkeys(error.where.removeprefix("line ") for error in errors)))
        where = f"line{'s' if ' ' in numbers else ''} {numbers}"
        raise usage(f"{len(errors)} {what} are malformed", where=where, hint="\n         ".join(lines))


_HINT = "Write `key: value` lines between two `---` lines, or remove both; a file must not begin with a `---` rule"


def parse_frontmatter(content: str) -> Mapping[str, object]:
    """Return the mapping in `content`, the text below the first `---`; plain scalars stay strings (`1.10`, `no`).

    Raises a usage error if it is not YAML or not a mapping.
    """
    import yaml

    problem, line = "not valid YAML", 2  # the frontmatter's text begins on line 2
    try:
        document = load_yaml(content, yaml.BaseLoader)
        if document is None or isinstance(document, dict):
            return document or {}
        problem = "not a mapping"
    except yaml.YAMLError as error:
        reason = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be read"
        problem = f"not valid YAML: {' '.join(str(reason).split())}"
        mark = getattr(error, "problem_mark", None)  # YAML's own count of lines knows other line breaks
        line += content.count("\n", 0, mark.index if mark else getattr(error, "position", 0))
    except AbsurdDocument as error:
        problem, line = f"not valid YAML: {error}", (error.line or 1) + 1
    except (ValueError, OverflowError, RecursionError):  # escapes beyond Unicode
        pass
    raise usage(f"The frontmatter is {problem}", where=f"line {line}", hint=_HINT)


def read_strings(frontmatter: Mapping[str, object], key: str) -> tuple[str, ...]:
    """Return the list of strings under `key`; one string is a list of one, nothing an empty list.

    Raises a usage error for anything else.
    """
    value = frontmatter.get(key) or []
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(item, str) and item for item in listed):
        raise usage(f"`{key}` is not a list of strings", where="frontmatter", hint=f"Write `{key}: [one, two]`")
    return tuple(listed)
