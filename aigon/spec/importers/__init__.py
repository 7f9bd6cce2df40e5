"""Importers of the formats that other tools write specs in, a file for each family, and those of plug-ins.

All are pure. Paths are grouped into specs, the file that names a spec first: by `FILES`, a pattern of whole paths, and
`BESIDE`, the names of what belongs to such a file in its folder, or by a function `find`. `read` turns the texts of one
group into features.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from aigon.files.resources import Registry
from aigon.model.criteria import ImportedSpec
from aigon.spec.criteria import BOX
from aigon.spec.markdown import one_line, parse_page
from aigon.text.patterns import compile_re

IMPORTERS = Registry(
    "aigon.importers",
    __name__,
    "importer",
    {"pages": "bmad github kiro markdown openspec speckit", "task_lists": "prd_json prd_toon taskmaster"},
)
GENERIC = "markdown"
"""Reads whatever Markdown no other importer knows."""


class Format(Struct, frozen=True):
    """An importer, named as the module of a plug-in names its parts. Without `FILES` it has to `find` its specs.

    `read` raises ValueError for malformed text, with what is wrong, for people.
    """

    TITLE: str
    read: Callable[[Mapping[str, str]], Iterator[ImportedSpec]]
    FILES: re.Pattern[str] | None = None
    BESIDE: tuple[str, ...] = ()
    find: Callable[[Sequence[str]], Iterator[tuple[str, ...]]] = lambda _paths: iter(())


def find_specs(importer: Format, paths: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the paths of each spec among `paths`."""
    if importer.FILES is None:
        yield from importer.find(paths)
        return
    known = set(paths)
    for path in filter(importer.FILES.fullmatch, paths):
        beside = (f"{path[: path.rfind('/') + 1]}{name}" for name in importer.BESIDE)
        yield path, *(each for each in beside if each in known)


def load_importers() -> dict[str, Format]:
    """Return every importer by name, the generic one last."""
    names = sorted(IMPORTERS.names(), key=lambda name: (name == GENERIC, name))
    return {name: _read_parts(IMPORTERS.load(name)) for name in names}


def _read_parts(own: Any) -> Format:
    return Format(**{part: getattr(own, part) for part in Format.__struct_fields__ if hasattr(own, part)})


_BOLD = compile_re(r"\*\*(.+?)\*\*")
ACCEPTANCE = compile_re(r"\W*(?:acceptance(?: criteri(?:a|on))?\b|ACs?\W*$)", re.IGNORECASE)
_LABEL = compile_re(r"[\w/()-]+(?: [\w/()-]+){0,3} ?:?")
"""A few words on a line of their own, or in front of a list: some people write headings so."""


class Block(Struct, frozen=True):
    """A heading, an item or a paragraph. `above` are the headings over it, the nearest last.

    `depth` is the level of a heading, else how many lists it is in; `number` is that of an item in a numbered list.
    """

    kind: Literal["heading", "item", "text"]
    text: str
    above: tuple[str, ...]
    depth: int = 0
    number: str = ""
    is_box: bool = False

    @property
    def section(self) -> str:
        """The nearest heading above it."""
        return self.above[-1] if self.above else ""


def read_outline(text: str) -> list[Block]:
    """Return the blocks of a Markdown text; code and HTML are left out."""
    tokens = parse_page(text.encode("utf-8", "replace")).tokens
    headings: list[tuple[int, str]] = []
    blocks, depth = list[Block](), 0
    for index, token in enumerate(tokens):
        depth += (token.type == "list_item_open") - (token.type == "list_item_close")
        if token.type != "inline":
            continue
        above = tuple(title for _, title in headings)
        content = plain(one_line(token.content))
        opener = tokens[index - 2] if index > 1 else token
        if tokens[index - 1].type == "heading_open":
            level = int(tokens[index - 1].tag[1:])
            headings = [*((at, title) for at, title in headings if at < level), (level, content)]
            blocks.append(Block("heading", content, tuple(title for _, title in headings[:-1]), level))
        elif opener.type == "list_item_open":
            is_box = BOX.match(content) is not None
            item = content[3:].strip() if is_box else content
            blocks.append(Block("item", item, above, depth, opener.info, is_box))
        else:
            blocks.append(Block("text", content, above, depth))
    return blocks


def plain(text: str) -> str:
    """Return `text` without bold print."""
    return _BOLD.sub(r"\1", text)


def join_item(blocks: Sequence[Block], index: int) -> str:
    """Return an item with what is below it in the list, on one line."""
    item, parts = blocks[index], []
    for block in blocks[index + 1 :]:
        is_paragraph = (block.kind, block.depth) == ("text", item.depth)
        if block.kind == "heading" or not (is_paragraph or block.depth > item.depth):
            break
        parts.append(block.text)
    return f"{item.text} {'; '.join(parts)}".strip()


def find_accepted(blocks: Sequence[Block]) -> list[int]:
    """Return the indexes of the items below "Acceptance criteria", a heading or a label of its own."""
    found, is_labelled = [], False
    for index, block in enumerate(blocks):
        if block.kind == "heading":
            is_labelled = False
        elif block.kind == "text" and block.depth == 0 and _LABEL.fullmatch(block.text):
            is_labelled = ACCEPTANCE.match(block.text) is not None
        elif (block.kind, block.depth) == ("item", 1) and (is_labelled or any(map(ACCEPTANCE.match, block.above))):
            found.append(index)
    return found


def find_summary(blocks: Sequence[Block], *sections: str) -> str:
    """Return the text below the first of these headings that is there, else the first paragraph of a sentence."""
    for wanted in sections:
        below = [b.text for b in blocks if b.kind != "heading" and b.section.casefold().strip(":") == wanted]
        if below:
            return " ".join(below)
    return next((b.text for b in blocks if b.kind == "text" and b.depth == 0 and len(b.text.split()) > 4), "")


def count_steps(text: str) -> int:
    """Return how many tasks a file has, at least 1: the file itself."""
    return sum(block.is_box for block in read_outline(text)) or 1


def find_title(blocks: Sequence[Block]) -> str:
    """Return the first heading."""
    return next((block.text for block in blocks if block.kind == "heading"), "")


def count_unused(blocks: Sequence[Block], used: Container[int]) -> Counter[str]:
    """Count the list items at the top of their list that are not in `used`, by the heading above them."""
    left = (b for index, b in enumerate(blocks) if b.kind == "item" and b.depth == 1 and index not in used)
    return Counter(block.section or "the text" for block in left)


def read_json(text: str) -> object:
    """Return the document. Raises ValueError with what is wrong and where."""
    try:
        return json.loads(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON: {error.msg} in line {error.lineno}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_text(item: Mapping[str, object], *keys: str) -> str:
    """Return the first of these values that is a text or a number, and not empty."""
    values = (item.get(key) for key in keys)
    found = (str(value).strip() for value in values if isinstance(value, str | int | float) and value is not True)
    return next(filter(None, found), "")


def count_unused_keys(item: Mapping[str, object], carried: Container[str]) -> Counter[str]:
    """Count the keys with a value that are not in `carried`."""
    return Counter(str(key) for key, value in item.items() if value and key not in carried)
